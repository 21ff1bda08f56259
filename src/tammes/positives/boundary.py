"""The boundary of a linear classifier on the sphere of embeddings, and the distance from it."""

from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class Boundary:
    """Boundary of a linear classifier q_c(z) = w_c . z + b_c, which chooses the class of largest q_c.

    Planes bound the cell of a class, so that the Euclidean distance of z from the nearest other class is

        min over b other than a of  (q_a(z) - q_b(z)) / |w_a - w_b| ,        a the class of z.

    For two classes and b = 0 that is |w . z| with a unit vector w, which Algorithm 1 compares with a_t.
    Embeddings are normalized first.

    Args:
        weight: w of each class.
        offset: b of each class.

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
        """Return the boundary of the nearest-center classifier.

        |z - m_c|^2 is smallest where (m_c - m) . (z - (m_c + m) / 2) is largest, m the mean of the centers.
        In this form nothing cancels where centers are close.

        Example:
            >>> Boundary.between(torch.tensor([[1.0, 0.0], [-1.0, 0.0]])).distance(torch.tensor([[0.0, 3.0]]))
            tensor([0.])
        """
        mean = centers.mean(dim=0)
        weight = centers - mean
        return cls(weight=weight, offset=-(weight * (centers + mean)).sum(dim=1) / 2)

    @cached_property
    def _lengths(self) -> Float[Tensor, "classes classes"]:
        """Distances |w_a - w_b|, without the cancellation of the product form."""
        return torch.cdist(self.weight, self.weight, compute_mode="donot_use_mm_for_euclid_dist")

    @property
    def exists(self) -> bool:
        """Whether two classes have different weights; after a collapse of the embeddings none do."""
        return bool((self._lengths > 0).any())

    @torch.no_grad()
    def distance(self, embeddings: Float[Tensor, "n dim"]) -> Float[Tensor, " n"]:
        """Return the distance of each embedding from the nearest other class, infinity without such a class.

        Args:
            embeddings: embeddings of any length above 0.
        """
        q = on_sphere(embeddings) @ self.weight.T + self.offset  # (n, classes)
        largest, own = q.max(dim=1, keepdim=True)
        lengths = self._lengths[own[:, 0]]
        # Between two classes of equal weights (clusters that coincide) there is no boundary.
        apart = (lengths > 0).scatter(1, own, value=False)
        return ((largest - q) / lengths).where(apart, torch.inf).amin(dim=1)


def on_sphere(embeddings: Float[Tensor, "n dim"]) -> Float[Tensor, "n dim"]:
    """Return the embeddings at unit length, in float32 or float64.

    Example:
        >>> on_sphere(torch.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    rows = embeddings if embeddings.dtype == torch.float64 else embeddings.float()
    # By the largest entry first: squares of extreme entries overflow, or vanish.
    largest = rows.detach().abs().amax(dim=1, keepdim=True).clamp(min=torch.finfo(rows.dtype).tiny)
    return F.normalize(rows / largest, dim=1)
