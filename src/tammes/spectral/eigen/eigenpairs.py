"""Eigenpairs of a batch of graphs, and their layout in tensors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tammes.checks import check_integer
from tammes.spectral.batches import check_rows
from tammes.spectral.eigen.adjacency import Adjacency
from tammes.spectral.eigen.decomposition import dense_eigenpairs, sparse_eigenpairs
from tammes.spectral.eigen.eigenspaces import RelativeGap
from tammes.spectral.eigen.laplacian import Laplacian, Symmetric

DENSE = 1024
"""Largest number of nodes for which the whole matrix of a graph is decomposed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Eigenpairs:
    """Ascending eigenvalues, and eigenvectors as columns, of a batch of graphs.

    A graph with fewer nodes than columns has zeros in the columns beyond its own eigenvectors and
    eigenvalues. An eigenvector is never zero, so `eigenvector_mask` reads the mask off the vectors.

    Args:
        vectors: eigenvectors, one row for each node of the batch; columns of unit length for each graph.
        values: eigenvalues.
    """

    vectors: Float[Tensor, "nodes k"]
    values: Float[Tensor, "graphs k"]


def eigenpairs(
    edge_index: Int[Tensor, "2 m"],
    batch: Int[Tensor, " nodes"],
    *,
    laplacian: Laplacian | None = None,
    count: int | None = None,
    whole_eigenspaces: bool = False,
    edge_weight: Tensor | None = None,
) -> Eigenpairs:
    """Return the smallest eigenvalues of each graph of a batch, and their eigenvectors, in float64.

    Graphs of equal size are decomposed together. A graph of more than 1,024 nodes of which less than a
    quarter of the pairs is wanted is decomposed as a sparse matrix, by Lanczos iterations.

    Args:
        edge_index: edges in both directions, as in torch_geometric; a repeated edge counts twice.
        batch: graph of each node, ascending, as in torch_geometric.
        laplacian: matrix to decompose; left out, `Symmetric()`.
        count: number of pairs, k; left out, the number of nodes of the largest graph, which gives all pairs.
        whole_eigenspaces: whether to leave out the last eigenspace where `count` cuts it. The solver picks
            the basis of a cut eigenspace, and no network can be invariant to that choice.
        edge_weight: weight of each edge, the same in both directions; left out, 1.

    Raises:
        ValueError: for a count below 1, a batch that does not ascend, edges that leave the nodes or join
            graphs, weights that are not finite, edges in one direction only, or no Laplacian.

    Example:
        >>> edges = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])  # two graphs: an edge; an edge and a node
        >>> pairs = eigenpairs(edges, torch.tensor([0, 0, 1, 1, 1]))
        >>> pairs.values.abs().tolist()
        [[0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]
        >>> eigenvector_mask(pairs.vectors, torch.tensor([0, 0, 1, 1, 1])).tolist()
        [[True, True, False], [True, True, True]]
    """
    if count is not None:
        check_integer("count", count)
    if whole_eigenspaces and count is not None:
        # One more pair shows whether the last eigenspace is complete.
        more = eigenpairs(edge_index, batch, laplacian=laplacian, count=count + 1, edge_weight=edge_weight)
        return _without_cut(more, batch)
    graphs = Adjacency.of(edge_index, batch, edge_weight)
    laplacian = Symmetric() if laplacian is None else laplacian
    if not isinstance(laplacian, Laplacian):
        raise ValueError(f"laplacian must be a Laplacian, such as Symmetric(), got {laplacian!r}")
    widest = int(graphs.sizes.max()) if len(graphs.sizes) else 0
    width = widest if count is None else count
    vectors = torch.zeros(len(batch), width, dtype=torch.float64, device=batch.device)
    values = torch.zeros(len(graphs.sizes), width, dtype=torch.float64, device=batch.device)
    large = (graphs.sizes > DENSE) & (graphs.sizes > 4 * width)  # Lanczos needs more vectors than it finds
    dense_eigenpairs(graphs, (~large).nonzero().flatten(), laplacian, values, vectors)
    sparse_eigenpairs(graphs, large.nonzero().flatten(), laplacian, values, vectors)
    return Eigenpairs(vectors=vectors, values=values)


def _without_cut(pairs: Eigenpairs, batch: Int[Tensor, " nodes"]) -> Eigenpairs:
    """Return all columns but the last, without those that are in one eigenspace with it."""
    mask = eigenvector_mask(pairs.vectors, batch, len(pairs.values))
    number = RelativeGap(warn=False)(pairs.values, mask).number
    kept = ((number != number[:, -1:]) | ~mask[:, -1:])[:, :-1]
    return Eigenpairs(
        vectors=pairs.vectors[:, :-1].where(kept[batch], 0.0), values=pairs.values[:, :-1].where(kept, 0.0)
    )


def eigenvector_mask(
    eigenvectors: Tensor, batch: Int[Tensor, " nodes"], graphs: int | None = None
) -> Bool[Tensor, "graphs k"]:
    """Return which columns hold an eigenvector of each graph: those that are not zero throughout.

    Args:
        eigenvectors: matrix of shape (nodes, k).
        batch: graph of each node.
        graphs: number of graphs; left out, one more than the last number in `batch`.

    Raises:
        ValueError: where vectors and batch have different numbers of nodes.

    Example:
        >>> vectors = torch.tensor([[0.6, 0.0], [0.8, 0.0]])
        >>> eigenvector_mask(vectors, torch.zeros(2, dtype=torch.long)).tolist()
        [[True, False]]
    """
    check_rows(eigenvectors, batch)
    if graphs is None:
        graphs = int(batch[-1]) + 1 if len(batch) else 0
    nonzero = torch.zeros(graphs, eigenvectors.shape[1], dtype=torch.int32, device=batch.device)
    return nonzero.index_add_(0, batch, (eigenvectors != 0).int()) > 0
