"""The Laplacians of a graph: unnormalized, symmetrically normalized, and of the random walk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from typing_extensions import override

from tammes.spectral.eigen.adjacency import Adjacency


class Laplacian(ABC):
    """A matrix L of a graph with adjacency A and degrees d, and its symmetric form.

    A diagonal matrix D makes D^{1/2} L D^{-1/2} symmetric; D is the identity where L is symmetric itself. If
    u is an eigenvector of the symmetric form, then D^{-1/2} u is one of L.

    Self-loops are left out, as torch_geometric's `get_laplacian` does. Differs: a node without neighbors has
    the diagonal entry 0, not 1, so that the eigenvalue 0 counts the components of every graph.
    """

    @abstractmethod
    def symmetric(
        self, edges: Int[Tensor, "2 m"], weights: Float[Tensor, " m"], degrees: Float[Tensor, " nodes"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " nodes"]]:
        """Return the entries of D^{1/2} L D^{-1/2} at the edges, and its diagonal.

        Args:
            edges: both directions of each edge, without self-loops.
            weights: finite weight of each edge.
            degrees: sum of the weights at each node.

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
    def symmetric(
        self, edges: Int[Tensor, "2 m"], weights: Float[Tensor, " m"], degrees: Float[Tensor, " nodes"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " nodes"]]:
        return -weights, degrees


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
    def symmetric(
        self, edges: Int[Tensor, "2 m"], weights: Float[Tensor, " m"], degrees: Float[Tensor, " nodes"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " nodes"]]:
        if bool((weights < 0).any()):
            raise ValueError(
                "expected edge weights of at least 0 for a normalized Laplacian, got "
                f"{float(weights.min())}; use Combinatorial() for signed graphs"
            )
        root = _inverse_root(degrees)
        # Multiply by one root after the other: the product of two overflows where weights are tiny.
        return -weights * root[edges[0]] * root[edges[1]], (degrees > 0).to(degrees)


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
    def symmetric(
        self, edges: Int[Tensor, "2 m"], weights: Float[Tensor, " m"], degrees: Float[Tensor, " nodes"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " nodes"]]:
        return Symmetric().symmetric(edges, weights, degrees)

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
    off, diagonal = laplacian.symmetric(graph.edges, graph.weights, graph.degrees)
    matrix = diagonal.diag().index_put(tuple(graph.edges), off, accumulate=True)
    scale = laplacian.scale(graph.degrees)
    return matrix if scale is None else scale[:, None] * matrix / scale


def _inverse_root(degrees: Float[Tensor, " nodes"]) -> Float[Tensor, " nodes"]:
    """Return d^{-1/2}; 1 at a node without neighbors."""
    return degrees.where(degrees > 0, 1.0).rsqrt()
