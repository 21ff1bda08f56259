"""The Laplacians of a graph, and the weighted adjacency that they are computed from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor
from typing_extensions import override

from tammes.spectral.batches import check_batch, check_edges


@dataclass(frozen=True, kw_only=True, eq=False)
class Adjacency:
    """Weighted edges without self-loops, and the sizes of the graphs; built by `Adjacency.of`.

    Args:
        edges: node numbers within the batch.
        weights: weight of each edge, in float64.
        batch: graph of each node, ascending.
        sizes: number of nodes of each graph.
    """

    edges: Int[Tensor, "2 m"]
    weights: Float[Tensor, " m"]
    batch: Int[Tensor, " nodes"]
    sizes: Int[Tensor, " graphs"]

    @classmethod
    def of(
        cls, edge_index: Int[Tensor, "2 m"], batch: Int[Tensor, " nodes"], edge_weight: Tensor | None = None
    ) -> Adjacency:
        """Return the adjacency of a torch_geometric batch.

        Raises:
            ValueError: for edges of another shape, that leave the nodes or join graphs, for a batch that
                does not ascend, and for weights that are not finite or not one for each edge.
        """
        check_batch(batch)
        check_edges(edge_index, batch)
        edges = edge_index.shape[1]
        if edge_weight is None:
            edge_weight = torch.ones(edges, device=edge_index.device)
        if edge_weight.shape != (edges,) or edge_weight.is_complex():
            raise ValueError(
                f"expected edge_weight as {edges} real numbers, one for each edge, got {edge_weight.dtype} "
                f"{tuple(edge_weight.shape)}"
            )
        weights = edge_weight.double()
        if not bool((2 * weights.abs().sum()).isfinite()):  # an upper bound of all eigenvalues
            raise ValueError("expected finite edge weights, got infinities, NaN, or a sum that overflows")
        between = edge_index[0] != edge_index[1]
        sizes = torch.bincount(batch) if len(batch) else batch
        return cls(edges=edge_index[:, between], weights=weights[between], batch=batch, sizes=sizes)

    @cached_property
    def starts(self) -> Int[Tensor, " graphs"]:
        """First node of each graph."""
        return self.sizes.cumsum(0) - self.sizes

    @cached_property
    def owner(self) -> Int[Tensor, " m"]:
        """Graph of each edge."""
        return self.batch[self.edges[0]]

    @cached_property
    def degrees(self) -> Float[Tensor, " nodes"]:
        """Sum of the weights of the edges that leave each node."""
        return self.weights.new_zeros(len(self.batch)).index_add_(0, self.edges[0], self.weights)


def check_symmetric(difference: Float[Tensor, "*graphs"], largest: Float[Tensor, "*graphs"]) -> None:
    """Raise ValueError unless each matrix A is symmetric up to the rounding of its weights.

    Args:
        difference: largest entry of |A - A^T|, of each graph.
        largest: largest entry of |A|, of each graph.
    """
    if bool((wrong := difference > 1e-6 * largest).any()):
        raise ValueError(
            "expected edges in both directions, with equal weights: the matrix of a graph is not symmetric "
            f"(entries differ by up to {float(difference[wrong].max()):.3g}); make it symmetric "
            "(torch_geometric.transforms.ToUndirected), or use Projectors.of its laplacian_matrix"
        )


class Laplacian(ABC):
    """A matrix L of a graph with adjacency A and degrees d, and its symmetric form.

    A diagonal matrix D makes D^{1/2} L D^{-1/2} symmetric; D is the identity where L is symmetric itself. If
    u is an eigenvector of the symmetric form, then D^{-1/2} u is one of L.

    Self-loops are left out, as torch_geometric's `get_laplacian` does. Differs: a node without neighbors has
    the diagonal entry 0, not 1, so that the eigenvalue 0 counts the components of every graph.
    """

    @abstractmethod
    def symmetric(self, graph: Adjacency) -> tuple[Float[Tensor, " m"], Float[Tensor, " nodes"]]:
        """Return the entries of D^{1/2} L D^{-1/2} at the edges, and its diagonal.

        Args:
            graph: weighted edges in both directions, and degrees.

        Raises:
            ValueError: for weights that this Laplacian is not defined for.
        """

    def scale(self, degrees: Float[Tensor, " nodes"]) -> Float[Tensor, " nodes"] | None:
        """Return the diagonal of D^{-1/2}; None, where a subclass does not override it: D is the identity."""
        return None


@dataclass(frozen=True, kw_only=True)
class Combinatorial(Laplacian):
    """L = diag(d) - A.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> triangle = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
        >>> pairs = eigenpairs(triangle, torch.zeros(3, dtype=torch.long), laplacian=Combinatorial())
        >>> pairs.values.round(decimals=6).abs().tolist()
        [[0.0, 3.0, 3.0]]
    """

    @override
    def symmetric(self, graph: Adjacency) -> tuple[Float[Tensor, " m"], Float[Tensor, " nodes"]]:
        return -graph.weights, graph.degrees


@dataclass(frozen=True, kw_only=True)
class Symmetric(Laplacian):
    """L = 1 - diag(d)^{-1/2} A diag(d)^{-1/2}, with eigenvalues in [0, 2].

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> edge = torch.tensor([[0, 1], [1, 0]])
        >>> eigenpairs(edge, torch.zeros(3, dtype=torch.long), laplacian=Symmetric()).values.abs().tolist()
        [[0.0, 0.0, 2.0]]
    """

    @override
    def symmetric(self, graph: Adjacency) -> tuple[Float[Tensor, " m"], Float[Tensor, " nodes"]]:
        weights, (first, second) = graph.weights, graph.edges
        if bool((weights < 0).any()):
            raise ValueError(
                "expected edge weights of at least 0 for a normalized Laplacian, got "
                f"{float(weights.min())}; use Combinatorial() for signed graphs"
            )
        root = _inverse_root(graph.degrees)
        # Multiply by one root after the other: the product of two overflows where weights are tiny.
        return -weights * root[first] * root[second], (graph.degrees > 0).to(weights)


@dataclass(frozen=True, kw_only=True)
class RandomWalk(Laplacian):
    """L = 1 - diag(d)^{-1} A, with the eigenvalues of `Symmetric`.

    Eigenvectors of 0 are constant on components. L is not symmetric: its eigenvectors have unit length and
    are orthonormal within an eigenspace, but not across eigenspaces.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> pairs = eigenpairs(path, torch.zeros(3, dtype=torch.long), laplacian=RandomWalk(), count=1)
        >>> (pairs.vectors[:, 0] / pairs.vectors[0, 0]).round(decimals=6).tolist()
        [1.0, 1.0, 1.0]
    """

    @override
    def symmetric(self, graph: Adjacency) -> tuple[Float[Tensor, " m"], Float[Tensor, " nodes"]]:
        return Symmetric().symmetric(graph)

    @override
    def scale(self, degrees: Float[Tensor, " nodes"]) -> Float[Tensor, " nodes"]:
        return _inverse_root(degrees)


def laplacian_matrix(
    edge_index: Int[Tensor, "2 m"], nodes: int, *, laplacian: Laplacian, edge_weight: Tensor | None = None
) -> Float[Tensor, "nodes nodes"]:
    """Return L of one graph as a dense matrix, in float64; the graph may be directed.

    Args:
        edge_index: edges; one from i to j counts in row i, and in the degree of i.
        nodes: number of nodes.
        laplacian: kind of Laplacian.
        edge_weight: weight of each edge; left out, 1.

    Raises:
        ValueError: for edges and weights as in `eigenpairs`.

    Example:
        >>> matrix = laplacian_matrix(torch.tensor([[0, 0], [1, 2]]), 3, laplacian=RandomWalk())
        >>> matrix.round(decimals=6).tolist()
        [[1.0, -0.5, -0.5], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    batch = torch.zeros(nodes, dtype=torch.long, device=edge_index.device)
    graph = Adjacency.of(edge_index, batch, edge_weight)
    off, diagonal = laplacian.symmetric(graph)
    matrix = diagonal.diag().index_put(tuple(graph.edges), off, accumulate=True)
    scale = laplacian.scale(graph.degrees)
    return matrix if scale is None else scale[:, None] * matrix / scale


def _inverse_root(degrees: Float[Tensor, " nodes"]) -> Float[Tensor, " nodes"]:
    """Return d^{-1/2}; 1 at a node without neighbors."""
    return degrees.where(degrees > 0, 1.0).rsqrt()
