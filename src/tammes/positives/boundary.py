"""The boundary of a linear classifier on the sphere of embeddings, and how far from it an embedding is."""

from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class Boundary:
    """Where a linear classifier changes its mind: q_c(z) = w_c . z + b_c, the class is that of largest q_c.

    The cell of a class is cut out by planes, so the Euclidean distance of z from the nearest other class is

        min over b other than a of  (q_a(z) - q_b(z)) / |w_a - w_b| ,        a the class of z.

    For two classes and b = 0 that is |w . z| with a unit vector w, what Algorithm 1 compares with a_t.
    Embeddings are taken to unit length first.

    Args:
        weight: w, (classes, dim).
        offset: b, (classes,).

    Source: Weber and Bachman (2022), sec. III.A and Algorithm 1, line 7.

    Example:
        >>> boundary = Boundary(weight=torch.eye(2), offset=torch.zeros(2))
        >>> boundary.distance(torch.tensor([[1.0, 1.0], [2.0, 0.0]]))
        tensor([0.0000, 0.7071])
    """

    weight: Float[Tensor, "classes dim"]
    offset: Float[Tensor, " classes"]

    @classmethod
    def between(cls, centers: Float[Tensor, "classes dim"]) -> "Boundary":
        """The boundary of the rule that gives a point the class of the nearest center.

        |z - m_c|^2 is least where (m_c - m) . (z - (m_c + m) / 2) is largest, m the mean of the centers: in
        this form nothing cancels where centers are close.

        Example:
            >>> Boundary.between(torch.tensor([[1.0, 0.0], [-1.0, 0.0]])).distance(torch.tensor([[0.0, 3.0]]))
            tensor([0.])
        """
        mean = centers.mean(dim=0)
        weight = centers - mean
        return cls(weight=weight, offset=-(weight * (centers + mean)).sum(dim=1) / 2)

    @cached_property
    def _lengths(self) -> Float[Tensor, "classes classes"]:
        """|w_a - w_b|, exact also where they are close."""
        return torch.cdist(self.weight, self.weight, compute_mode="donot_use_mm_for_euclid_dist")

    @property
    def exists(self) -> bool:
        """Whether there is any: not where all classes have the same weights, as after a collapse."""
        return bool((self._lengths > 0).any())

    @torch.no_grad()
    def distance(self, embeddings: Float[Tensor, "n dim"]) -> Float[Tensor, " n"]:
        """How far each embedding is from the nearest other class; infinite where there is none.

        Args:
            embeddings: (n, dim), of any length but zero.
        """
        # (n, classes)
        q = on_sphere(embeddings) @ self.weight.T + self.offset
        largest, own = q.max(dim=1, keepdim=True)
        lengths = self._lengths[own[:, 0]]
        # Where two classes have the same weights (clusters that fell together) nothing lies between them.
        apart = (lengths > 0).scatter(1, own, value=False)
        return ((largest - q) / lengths).where(apart, torch.inf).amin(dim=1)


def on_sphere(embeddings: Float[Tensor, "n dim"]) -> Float[Tensor, "n dim"]:
    """Embeddings at unit length, in float32 at least.

    Example:
        >>> on_sphere(torch.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    return F.normalize(embeddings if embeddings.dtype == torch.float64 else embeddings.float(), dim=1)
