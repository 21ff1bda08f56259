"""The Laplacians of a graph: unnormalized, symmetrically normalized, and of the random walk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor


class Laplacian(ABC):
    """A matrix L of a graph with adjacency A and degrees d, by its entries and what makes it symmetric.

    D^{1/2} L D^{-1/2} is symmetric for each of them, with D the identity for those that are symmetric as
    they are. Its eigenvectors u, scaled to D^{-1/2} u, are those of L.

    Self-loops are left out, as torch_geometric's `get_laplacian` does. Differs: a node without neighbors has
    the diagonal entry 0, not 1, so that the eigenvalue 0 counts the components of every graph.
    """

    @abstractmethod
    def symmetric(
        self, edges: Int[Tensor, "2 m"], weights: Float[Tensor, " m"], degrees: Float[Tensor, " nodes"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " nodes"]]:
        """The entries of D^{1/2} L D^{-1/2} at the edges, and its diagonal.

        Args:
            edges: both directions of each edge, without self-loops.
            weights: of these edges, finite.
            degrees: the sum of the weights at each node.

        Raises:
            ValueError: for weights that this Laplacian is not defined for.
        """

    @abstractmethod
    def scale(self, degrees: Float[Tensor, " nodes"]) -> Float[Tensor, " nodes"] | None:
        """The diagonal of D^{-1/2}, which takes eigenvectors to those of L; None where D is the identity."""


@dataclass(frozen=True, kw_only=True)
class Combinatorial(Laplacian):
    """L = diag(d) - A.

    Example:
        >>> import torch
        >>> from tammes.spectral import eigenpairs
        >>> triangle = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
        >>> pairs = eigenpairs(triangle, torch.zeros(3, dtype=torch.long), laplacian=Combinatorial())
        >>> pairs.values.round(decimals=6).abs().tolist()
        [[0.0, 3.0, 3.0]]
    """

    def symmetric(
        self, edges: Int[Tensor, "2 m"], weights: Float[Tensor, " m"], degrees: Float[Tensor, " nodes"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " nodes"]]:
        """See `Laplacian.symmetric`."""
        return -weights, degrees

    def scale(self, degrees: Float[Tensor, " nodes"]) -> None:
        """See `Laplacian.scale`."""


@dataclass(frozen=True, kw_only=True)
class Symmetric(Laplacian):
    """L = 1 - diag(d)^{-1/2} A diag(d)^{-1/2}, with eigenvalues in [0, 2].

    Example:
        >>> import torch
        >>> from tammes.spectral import eigenpairs
        >>> edge = torch.tensor([[0, 1], [1, 0]])
        >>> eigenpairs(edge, torch.zeros(3, dtype=torch.long), laplacian=Symmetric()).values.abs().tolist()
        [[0.0, 0.0, 2.0]]
    """

    def symmetric(
        self, edges: Int[Tensor, "2 m"], weights: Float[Tensor, " m"], degrees: Float[Tensor, " nodes"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " nodes"]]:
        """See `Laplacian.symmetric`."""
        _expect_no_negative(weights)
        root = _inverse_root(degrees)
        # One root after the other: the product of two is infinite where weights are tiny.
        return -weights * root[edges[0]] * root[edges[1]], (degrees > 0).to(degrees)

    def scale(self, degrees: Float[Tensor, " nodes"]) -> None:
        """See `Laplacian.scale`."""


@dataclass(frozen=True, kw_only=True)
class RandomWalk(Laplacian):
    """L = 1 - diag(d)^{-1} A, with the eigenvalues of `Symmetric`; constant on components at 0.

    It is not symmetric. Eigenvectors have unit length, and are orthonormal within an eigenspace, but not
    across eigenspaces.

    Example:
        >>> import torch
        >>> from tammes.spectral import eigenpairs
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> pairs = eigenpairs(path, torch.zeros(3, dtype=torch.long), laplacian=RandomWalk(), count=1)
        >>> (pairs.vectors[:, 0] / pairs.vectors[0, 0]).round(decimals=6).tolist()
        [1.0, 1.0, 1.0]
    """

    def symmetric(
        self, edges: Int[Tensor, "2 m"], weights: Float[Tensor, " m"], degrees: Float[Tensor, " nodes"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " nodes"]]:
        """See `Laplacian.symmetric`."""
        return Symmetric().symmetric(edges, weights, degrees)

    def scale(self, degrees: Float[Tensor, " nodes"]) -> Float[Tensor, " nodes"]:
        """diag(d)^{-1/2}; 1 at a node without neighbors."""
        return _inverse_root(degrees)


def _inverse_root(degrees: Float[Tensor, " nodes"]) -> Float[Tensor, " nodes"]:
    return degrees.where(degrees > 0, 1.0).rsqrt()


def _expect_no_negative(weights: Float[Tensor, " m"]) -> None:
    if bool((weights < 0).any()):
        raise ValueError(
            f"expected edge weights of at least 0 for a normalized Laplacian, got {float(weights.min())}; "
            "take Combinatorial() for signed graphs"
        )
