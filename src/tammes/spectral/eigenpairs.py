"""The eigenpairs of many graphs at once, and how a batch of them is laid out."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tammes.checks import check_integer
from tammes.spectral.adjacency import Adjacency
from tammes.spectral.dense import dense_eigenpairs
from tammes.spectral.eigenspaces import RelativeGap
from tammes.spectral.laplacian import Laplacian, Symmetric
from tammes.spectral.sparse import sparse_eigenpairs

DENSE = 1024
"""Nodes up to which a graph's matrix is decomposed as a whole."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Eigenpairs:
    """Eigenvalues in ascending order, and eigenvectors as columns, of a batch of graphs.

    A graph has as many pairs as asked for, or as it has nodes, if these are fewer. In columns beyond, its
    eigenvectors and eigenvalues are 0: since an eigenvector never is, `exists` is read off the vectors, and
    no mask is handed around.

    Args:
        vectors: `(nodes, k)`, one row for each node of the batch; columns of unit length for each graph.
        values: `(graphs, k)`.
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
    edge_weight: Float[Tensor, " m"] | None = None,
) -> Eigenpairs:
    """The smallest eigenvalues of each graph of a batch, with their eigenvectors, in float64.

    Graphs of equal size are decomposed together; those of more than 1,024 nodes by themselves, as sparse
    matrices, unless all of their pairs, or a large part of them, are asked for.

    Args:
        edge_index: edges in both directions, as torch_geometric's; one that is listed twice counts twice.
        batch: the graph of each node, ascending, as torch_geometric's.
        laplacian: of which matrix; left out, the symmetrically normalized one.
        count: how many pairs, k; left out, all of them, as many as the largest graph has nodes.
        whole_eigenspaces: whether the last eigenspace is left out where `count` cuts it: which of its vectors
            are given then depends on the solver, and no network can be invariant to it.
        edge_weight: of each edge, the same in both directions; left out, 1.

    Raises:
        ValueError: for a count below 1, a batch that does not ascend, edges that leave the nodes or join
            graphs, weights that are not finite, edges that do not go both ways, or no Laplacian.

    Example:
        >>> edges = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])  # two graphs: an edge; an edge and a node
        >>> pairs = eigenpairs(edges, torch.tensor([0, 0, 1, 1, 1]))
        >>> pairs.values.abs().tolist()
        [[0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]
        >>> exists(pairs.vectors, torch.tensor([0, 0, 1, 1, 1])).tolist()
        [[True, True, False], [True, True, True]]
    """
    if count is not None:
        check_integer("count", count)
    if whole_eigenspaces and count is not None:
        more = eigenpairs(edge_index, batch, laplacian=laplacian, count=count + 1, edge_weight=edge_weight)
        return _without_cut(more, batch)
    graphs = Adjacency.of(edge_index, batch, edge_weight)
    laplacian = Symmetric() if laplacian is None else laplacian
    if not isinstance(laplacian, Laplacian):
        raise ValueError(f"expected a Laplacian, such as Symmetric(), got {laplacian!r}")
    widest = int(graphs.sizes.max()) if len(graphs.sizes) else 0
    width = widest if count is None else count
    vectors = torch.zeros(len(batch), width, dtype=torch.float64, device=batch.device)
    values = torch.zeros(len(graphs.sizes), width, dtype=torch.float64, device=batch.device)
    alone = (graphs.sizes > DENSE) & (graphs.sizes > 4 * width)  # Lanczos needs more vectors than it finds
    dense_eigenpairs(graphs, (~alone).nonzero().flatten(), laplacian, values, vectors)
    sparse_eigenpairs(graphs, alone.nonzero().flatten(), laplacian, values, vectors)
    return Eigenpairs(vectors=vectors, values=values)


def _without_cut(pairs: Eigenpairs, batch: Int[Tensor, " nodes"]) -> Eigenpairs:
    """All columns but the last, without those that are in one eigenspace with it."""
    there = exists(pairs.vectors, batch, len(pairs.values))
    number = RelativeGap(warn=False)(pairs.values, there).number
    kept = ((number != number[:, -1:]) | ~there[:, -1:])[:, :-1]
    return Eigenpairs(
        vectors=pairs.vectors[:, :-1].where(kept[batch], 0.0), values=pairs.values[:, :-1].where(kept, 0.0)
    )


def exists(
    eigenvectors: Float[Tensor, "nodes k"], batch: Int[Tensor, " nodes"], graphs: int | None = None
) -> Bool[Tensor, "graphs k"]:
    """Which columns hold an eigenvector of each graph: those that are not zero throughout.

    Args:
        eigenvectors: of a batch.
        batch: the graph of each node.
        graphs: how many there are; left out, one more than the last number in `batch`.

    Raises:
        ValueError: where vectors and batch have different numbers of nodes.

    Example:
        >>> exists(torch.tensor([[0.6, 0.0], [0.8, 0.0]]), torch.zeros(2, dtype=torch.long)).tolist()
        [[True, False]]
    """
    if eigenvectors.dim() != 2 or len(eigenvectors) != len(batch):
        raise ValueError(
            f"expected eigenvectors of shape ({len(batch)}, k), a row for each node of the batch, got "
            f"{tuple(eigenvectors.shape)}"
        )
    if graphs is None:
        graphs = int(batch[-1]) + 1 if len(batch) else 0
    found = torch.zeros(graphs, eigenvectors.shape[1], dtype=torch.int32, device=batch.device)
    return found.index_add_(0, batch, (eigenvectors != 0).int()) > 0
