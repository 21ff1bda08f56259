"""Mean and second moment of embeddings, in blocks, and what they show of single dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

BLOCK = 16_384
"""Rows of a block, which is cast to float64."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Moments:
    """Sums over embeddings, from which the spectrum follows without the embeddings themselves.

        total = sum_i x_i ,        scatter = sum_i x_i x_i^T

    Sums of parts add up, so that rows can be read in blocks, and a part can be taken out again.

    Args:
        count: number n of rows.
        total: sum of the rows, in float64.
        scatter: sum of the outer products of the rows with themselves, in float64.

    Example:
        >>> moments = Moments.of(torch.tensor([[1.0, 0.0], [3.0, 0.0]]))
        >>> moments.mean.tolist(), moments.covariance.tolist()
        ([2.0, 0.0], [[1.0, 0.0], [0.0, 0.0]])
    """

    count: int
    total: Float[Tensor, " dim"]
    scatter: Float[Tensor, "dim dim"]

    @staticmethod
    @torch.no_grad()
    def of(embeddings: Float[Tensor, "n dim"]) -> Moments:
        """Return the sums over all rows; memory beside the embeddings is that of a block and of dim^2.

        Raises:
            ValueError: no floating-point matrix, or no row.
        """
        if embeddings.ndim != 2 or not embeddings.is_floating_point() or embeddings.numel() == 0:
            got = f"{embeddings.dtype} {tuple(embeddings.shape)}"
            raise ValueError(f"expected floating-point embeddings (n, dim), got {got}")
        dim = embeddings.shape[1]
        total = torch.zeros(dim, dtype=torch.float64)
        scatter = torch.zeros(dim, dim, dtype=torch.float64)
        for block in embeddings.split(BLOCK):
            rows = block.double()
            total += rows.sum(dim=0)
            scatter.addmm_(rows.T, rows)
        return Moments(count=len(embeddings), total=total, scatter=scatter)

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            count=self.count + other.count,
            total=self.total + other.total,
            scatter=self.scatter + other.scatter,
        )

    def __sub__(self, part: Moments) -> Moments:
        return Moments(
            count=self.count - part.count,
            total=self.total - part.total,
            scatter=self.scatter - part.scatter,
        )

    @property
    def mean(self) -> Float[Tensor, " dim"]:
        """Mean of the rows."""
        return self.total / self.count

    @property
    def covariance(self) -> Float[Tensor, "dim dim"]:
        """Covariance of the rows, divided by n."""
        return self.scatter / self.count - torch.outer(self.mean, self.mean)

    @property
    def singular_values(self) -> Float[Tensor, " dim"]:
        """Singular values of the embeddings, not centered, largest first; those within rounding are 0."""
        return _roots(self.scatter)

    @property
    def eigenvalues(self) -> Float[Tensor, " dim"]:
        """Eigenvalues of the covariance, largest first; those within rounding are 0."""
        return _roots(self.covariance, rounding_of=self.scatter.diagonal().sum() / self.count).square()

    @property
    def mean_share(self) -> float:
        """Share of the mean vector in the mean squared length of the rows.

            |E x|^2 / E |x|^2

        From 1/n, in expectation for a centered distribution, to 1, where all rows are equal. Of embeddings
        of length one it is the mean cosine of two rows drawn with replacement.
        """
        return float(self.mean.square().sum() / (self.scatter.diagonal().sum() / self.count))


def dead_dimensions(covariance: Float[Tensor, "dim dim"], *, share: float = 1e-3) -> Bool[Tensor, " dim"]:
    """Return which coordinates hardly vary.

        sqrt(C_kk)  <=  share * max over l of sqrt(C_ll)

    Args:
        covariance: covariance C of the embeddings.
        share: share of the largest standard deviation up to which a dimension counts as dead.

    Example:
        >>> dead_dimensions(torch.diag(torch.tensor([1.0, 1e-8, 0.5]))).tolist()
        [False, True, False]
    """
    deviation = covariance.diagonal().clamp(min=0).sqrt()
    return deviation <= share * deviation.max()


def duplicated_dimensions(
    covariance: Float[Tensor, "dim dim"], *, correlation: float = 0.999
) -> Int64[Tensor, "pairs 2"]:
    """Return the pairs of coordinates that are copies of each other, up to sign, scale and shift.

        |C_kl|  >=  correlation * sqrt(C_kk C_ll) ,        k < l

    Args:
        covariance: covariance C of the embeddings.
        correlation: smallest absolute correlation of a copy; dead dimensions have none.

    Example:
        >>> x = torch.tensor([[1.0, -2.0, 0.0], [-1.0, 2.0, 1.0], [0.0, 0.0, -1.0]])
        >>> duplicated_dimensions(Moments.of(x).covariance).tolist()
        [[0, 1]]
    """
    deviation = covariance.diagonal().clamp(min=0).sqrt()
    scale = torch.where(dead_dimensions(covariance), torch.inf, deviation)
    ratio = (covariance / scale[:, None] / scale).abs()
    return (ratio.triu(1) >= correlation).nonzero()


def _roots(matrix: Float[Tensor, "dim dim"], *, rounding_of: Tensor | None = None) -> Float[Tensor, " dim"]:
    """Return the square roots of the eigenvalues, largest first; rounding errors below zero are zero."""
    values = torch.linalg.eigvalsh(matrix).flip(0)
    # Sums of n squares have errors of a few eps; eigenvalues below that are noise of either sign.
    scale = matrix.diagonal().sum() if rounding_of is None else rounding_of
    return values.where(values > 1e-14 * scale, 0).clamp(min=0).sqrt()
