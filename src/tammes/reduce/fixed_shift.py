"""Log-sum-exps of exponents known to lie close together: one fixed shift.

With |s_ij| bounded, so is slope * s_ij + tilt(s_ij). No maximum need be run after, and one exponential serves
a tile's rows and, where S is symmetric, its columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from tammes.reduce.exponent import Exponent
from tammes.reduce.negatives import Negatives
from tammes.reduce.tiles import SlopeTiles, Workspace, tiles, without

_SAFE_RANGE = {torch.float32: 80.0, torch.float64: 600.0}
"""How far apart exponents may lie so that exp of (exponent - largest) stays a normal number."""


def range_is_safe(negatives: Negatives, exponents: tuple[Exponent, ...]) -> bool:
    """Whether the fixed shift loses nothing: no underflow, and weights that are the same both ways."""
    limit = _SAFE_RANGE[negatives.anchors.dtype]
    if negatives.subset is not None:
        return False
    for exponent in exponents:
        low, high = _limits(negatives, exponent)
        if not high - low + _spread(exponent.column) < limit:
            return False
    return True


def log_sums(negatives: Negatives, exponents: tuple[Exponent, ...], side: int) -> list[Tensor]:
    """`(n,)` for each exponent: log sum_j e^{x_ij}."""
    factors = [_column_factor(negatives, exponent) for exponent in exponents]
    totals = [negatives.anchors.new_zeros(negatives.shape[0]) for _ in exponents]
    workspace = Workspace(negatives, side)
    for rows, columns in tiles(negatives, side):
        exponentials = _exponentials(negatives, exponents, rows, columns, workspace)
        for tile, (factor, _), total in zip(exponentials, factors, totals, strict=True):
            total[rows].addmv_(tile, factor[columns])
            if negatives.symmetric and rows != columns:
                total[columns].addmv_(tile.T, factor[rows])
    return [
        total.log_().add_(largest).add_(_limits(negatives, exponent)[1])
        for exponent, (_, largest), total in zip(exponents, factors, totals, strict=True)
    ]


def slopes(
    negatives: Negatives,
    exponents: tuple[Exponent, ...],
    sums: list[Tensor],
    gradients: list[Tensor],
    side: int,
) -> SlopeTiles:
    """d loss / d s_ij = sum_r gradient_ri slope_r e^{x_rij - sum_ri}, and the same with i and j exchanged.

    The exponential is shared; what stands before it is a matrix of rank one, or two where S is symmetric.
    """
    live = [r for r, exponent in enumerate(exponents) if exponent.gradient_slope != 0.0]
    exponents = tuple(exponents[r] for r in live)
    left, right = [], []
    for exponent, r in zip(exponents, live, strict=True):
        by_column, largest = _column_factor(negatives, exponent)
        rescale = torch.exp(_limits(negatives, exponent)[1] + largest - sums[r])
        by_row = gradients[r] * exponent.gradient_slope * rescale
        left.append(torch.stack([by_row, by_column] if negatives.symmetric else [by_row], dim=1))
        right.append(torch.stack([by_column, by_row] if negatives.symmetric else [by_column]))
    workspace = Workspace(negatives, side)
    for rows, columns in tiles(negatives, side):
        total: Tensor | None = None
        exponentials = _exponentials(negatives, exponents, rows, columns, workspace)
        for tile, by_rows, by_columns in zip(exponentials, left, right, strict=True):
            # The first one becomes the total, and the others need not outlive their turn.
            before = workspace.tile(len(exponents) + (1 if total is None else 2), rows, columns)
            torch.mm(by_rows[rows], by_columns[:, columns], out=before)
            total = before.mul_(tile) if total is None else total.addcmul_(tile, before)
        if total is not None:
            yield rows, columns, total


def _exponentials(
    negatives: Negatives,
    exponents: tuple[Exponent, ...],
    rows: slice,
    columns: slice,
    workspace: Workspace,
) -> Iterator[Tensor]:
    """e^{x_ij - largest x} on a tile, zero where there is no negative, for each exponent; `col` left out.

    To be read only: of a small S they are kept, for the iterations of Sinkhorn and the backward pass.
    """
    if negatives.is_small:
        kept = negatives.kept_exponentials
        for exponent in exponents:
            key = exponent.slope, exponent.tilt
            if key not in kept:
                gap = negatives.kept_gap
                kept[key] = _exponential(gap, exponent, negatives.bound, torch.empty_like(gap))
            yield kept[key][rows, columns]
        return
    anchors, others = negatives.anchors[rows], negatives.others[columns]
    highest = anchors.new_tensor(-negatives.bound)
    gap = torch.addmm(highest, anchors, others.T, out=workspace.tile(0, rows, columns))
    without(gap, negatives.mask(rows, columns), -torch.inf)
    for r, exponent in enumerate(exponents):
        yield _exponential(gap, exponent, negatives.bound, workspace.tile(r + 1, rows, columns))


def _exponential(gap: Tensor, exponent: Exponent, bound: float, out: Tensor) -> Tensor:
    """e^{x_ij - largest x} from s_ij - bound."""
    if exponent.tilt is None or exponent.tilt_range is None:
        return torch.mul(gap, exponent.slope, out=out).exp_()
    torch.sub(exponent.tilt(gap + bound), exponent.tilt_range[1], out=out)
    return (out.add_(gap, alpha=exponent.slope) if exponent.slope else out).exp_()


def _limits(negatives: Negatives, exponent: Exponent) -> tuple[float, float]:
    """The least and the largest value of slope * s + tilt(s); no bound where nothing is known."""
    if exponent.tilt is None:
        # A slope that rounds to zero would meet the masked entries' minus infinity.
        usable = exponent.slope > torch.finfo(negatives.anchors.dtype).tiny
        low, high = (0.0, 0.0) if usable else (-math.inf, math.inf)
    elif exponent.tilt_range is None or exponent.tilt_has_gradient or negatives.bound > 1.01:
        low, high = -math.inf, math.inf
    else:
        low, high = exponent.tilt_range
    return low - exponent.slope * negatives.bound, high + exponent.slope * negatives.bound


def _spread(column: Tensor | None) -> float:
    return 0.0 if column is None else float(column.max() - column.min())


def _column_factor(negatives: Negatives, exponent: Exponent) -> tuple[Tensor, Tensor | float]:
    """e^{column_j - largest} and the largest, so that a row's sum is a product with this vector."""
    if exponent.column is None:
        return negatives.anchors.new_ones(negatives.shape[1]), 0.0
    largest = exponent.column.max()
    return torch.exp(exponent.column - largest), largest
