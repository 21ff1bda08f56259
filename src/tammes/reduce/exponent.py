"""Exponents: logarithms of unnormalized weights, as functions of similarity and candidate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from tammes.reduce.terms import Clipped, Term

Pointwise = Callable[[Tensor], Tensor]
"""Function that acts on each entry of a tensor by itself."""


@dataclass(frozen=True, kw_only=True)
class Exponent:
    """x_ij = slope * s_ij + tilt(s_ij) + column_j, and the part of it that has a gradient.

    Every log-sum-exp in the package is taken over such exponents: `slope = 1/temperature` gives the
    logit, `slope = beta/temperature` HCL's weights, a `column` Sinkhorn's potentials.

    Args:
        slope: coefficient of the similarity.
        gradient_slope: part of `slope` through which the gradient flows; the rest is a constant.
        tilt: nonlinear pointwise function of the similarity, or None. The range of a `Term` is known, which
            allows a quicker sum.
        tilt_has_gradient: whether the gradient flows through `tilt`.
        column: `(m,)` numbers of the candidates, added to every row, never differentiated; or None.

    Example:
        >>> import torch
        >>> Exponent(slope=2.0, gradient_slope=2.0).value(torch.tensor([[0.5, -1.0]]), slice(0, 2))
        tensor([[ 1., -2.]])
    """

    slope: float = 0.0
    gradient_slope: float = 0.0
    tilt: Pointwise | None = None
    tilt_has_gradient: bool = False
    column: Float[Tensor, " m"] | None = None

    @property
    def is_zero(self) -> bool:
        """Whether all weights are equal."""
        return self.slope == 0.0 and self.tilt is None and self.column is None

    @property
    def may_vanish(self) -> bool:
        """Whether weights may be zero, so that a subset of the negatives may have no weight at all."""
        return self.column is not None or not (self.tilt is None or isinstance(self.tilt, Clipped))

    @property
    def has_gradient(self) -> bool:
        """Whether any gradient flows through the weights."""
        return self.gradient_slope != 0.0 or self.tilt_has_gradient

    def with_logit(self, slope: float) -> Exponent:
        """Return the exponent of the weight times e^{slope * s}; the new factor has a gradient."""
        return Exponent(
            slope=self.slope + slope,
            gradient_slope=self.gradient_slope + slope,
            tilt=self.tilt,
            tilt_has_gradient=self.tilt_has_gradient,
            column=self.column,
        )

    def squared(self) -> Exponent:
        """Return the exponent of the squared weight, without gradient."""
        return Exponent(
            slope=2 * self.slope,
            tilt=None if self.tilt is None else _doubled(self.tilt),
            column=None if self.column is None else 2 * self.column,
        )

    def value(self, similarity: Float[Tensor, "r c"], columns: slice) -> Float[Tensor, "r c"]:
        """Return x_ij on a tile of S whose candidates are `columns`."""
        value = similarity * self.slope
        if self.tilt is not None:
            value = value + self.tilt(similarity)
        if self.column is not None:
            value = value + self.column[columns]
        return value

    def at_pairs(self, similarity: Float[Tensor, "*e"], candidate: Int[Tensor, " c"]) -> Float[Tensor, "*e"]:
        """Return x at similarities whose candidates are listed along the last axis, with its gradient."""
        value = similarity * self.gradient_slope + similarity.detach() * (self.slope - self.gradient_slope)
        if self.tilt is not None:
            value = value + self.tilt(similarity if self.tilt_has_gradient else similarity.detach())
        if self.column is not None:
            value = value + self.column[candidate]
        return value


def _doubled(tilt: Pointwise) -> Pointwise:
    return tilt.times(2.0) if isinstance(tilt, Term) else lambda similarity: 2 * tilt(similarity)
