"""Log-sum-exps of exponents of any range and form: a running maximum for every row."""

from __future__ import annotations

import torch
from torch import Tensor

from tammes.reduce.exponent import Exponent
from tammes.reduce.negatives import Negatives
from tammes.reduce.terms import exponential_
from tammes.reduce.tiled.tiles import (
    SlopeOfTile,
    both_ways,
    exponent_slope,
    least_exponent,
    oriented_tiles,
    without,
)


def log_sums(negatives: Negatives, exponents: tuple[Exponent, ...], side: int) -> list[Tensor]:
    """Return `(n,)` log sum_j e^{x_ij} for each exponent."""
    largest = [negatives.anchors.new_full((negatives.shape[0],), -torch.inf) for _ in exponents]
    totals = [negatives.anchors.new_zeros(negatives.shape[0]) for _ in exponents]
    for rows, columns, similarity in oriented_tiles(negatives, side):
        mask = negatives.mask(rows, columns)
        for exponent, top, total in zip(exponents, largest, totals, strict=True):
            value = without(exponent.value(similarity, columns), mask, -torch.inf)
            new_top = torch.maximum(top[rows], value.amax(dim=1))
            # A row with no negative so far has no maximum; any finite shift serves its empty sum.
            shift = torch.where(new_top == -torch.inf, 0.0, new_top)
            total[rows] *= torch.exp(top[rows] - shift)
            total[rows] += exponential_(value.sub_(shift[:, None])).sum(dim=1)
            top[rows] = new_top
    return [total.log_().add_(top) for total, top in zip(totals, largest, strict=True)]


def slopes(
    negatives: Negatives,
    exponents: tuple[Exponent, ...],
    sums: list[Tensor],
    gradients: list[Tensor],
) -> SlopeOfTile:
    """Return d loss / d s_ij = sum_r gradient_ri slope_rij e^{x_rij - sum_ri} for each tile.

    Where S is symmetric, the same with i and j exchanged is added.
    """

    def slope(rows: slice, columns: slice, similarity: Tensor) -> Tensor:
        mask = negatives.mask(rows, columns)
        total = torch.zeros_like(similarity)
        for exponent, log_sum, gradient in zip(exponents, sums, gradients, strict=True):
            if exponent.has_gradient:
                share = exponent.value(similarity, columns).sub_(log_sum[rows, None])
                exponential_(share.masked_fill_(share < least_exponent(share.dtype), -torch.inf))
                total += (
                    without(share, mask, 0.0) * gradient[rows, None] * exponent_slope(exponent, similarity)
                )
        return total

    return both_ways(negatives, slope)
