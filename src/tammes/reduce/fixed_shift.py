"""Log-sum-exps of exponents known to lie close together: one fixed shift.

With |s_ij| bounded, so is slope * s_ij + tilt(s_ij). Half way between its bounds lies a shift for all of
them, which is zero where there is no tilt: no maximum need be run after, and one exponential serves a tile's
rows and, where S is symmetric, its columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import torch
from torch import Tensor

from tammes.reduce.exponent import Exponent
from tammes.reduce.negatives import Negatives
from tammes.reduce.terms import Term
from tammes.reduce.tiles import SlopeOfTile, Workspace, tiles, without

_SAFE_RANGE = {torch.float32: 80.0, torch.float64: 600.0}
"""How far apart exponents may lie so that exp of (exponent - shift) stays a normal number, and sums do."""


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
    if negatives.is_small:
        totals = [
            tile.sum(dim=1) if factor is None else tile.mv(factor)
            for tile, (factor, _) in zip(_kept(negatives, exponents), factors, strict=True)
        ]
    else:
        totals = _totals(negatives, exponents, [factor for factor, _ in factors], side)
    return [
        total.log_().add_(largest + _shift(negatives, exponent))
        for exponent, (_, largest), total in zip(exponents, factors, totals, strict=True)
    ]


def _totals(
    negatives: Negatives, exponents: tuple[Exponent, ...], factors: list[Tensor | None], side: int
) -> list[Tensor]:
    """`(n,)` for each exponent: the sum of its shifted exponentials, each times the factor of its column."""
    like = negatives.anchors
    by_column = [like.new_ones(negatives.shape[1]) if each is None else each for each in factors]
    workspace = Workspace(negatives, side)
    totals = [like.new_zeros(negatives.shape[0]) for _ in exponents]
    for rows, columns in tiles(negatives, side):
        exponentials = _exponentials(negatives, exponents, rows, columns, workspace)
        for tile, factor, total in zip(exponentials, by_column, totals, strict=True):
            total[rows].addmv_(tile, factor[columns])
            if negatives.symmetric and rows != columns:
                total[columns].addmv_(tile.T, factor[rows])
    return totals


def slopes(
    negatives: Negatives, exponents: tuple[Exponent, ...], sums: list[Tensor], gradients: list[Tensor]
) -> SlopeOfTile:
    """d loss / d s_ij = sum_r gradient_ri slope_r e^{x_rij - sum_ri}, and the same with i and j exchanged.

    The exponential is shared; what stands before it is by_row_i by_column_j, and where S is symmetric the
    same with i and j exchanged besides.
    """
    live = [r for r, exponent in enumerate(exponents) if exponent.gradient_slope != 0.0]
    exponents = tuple(exponents[r] for r in live)
    before = [
        _before(negatives, exponent, sums[r], gradients[r])
        for exponent, r in zip(exponents, live, strict=True)
    ]

    def of_tile(rows: slice, columns: slice, workspace: Workspace) -> Tensor | None:
        total: Tensor | None = None
        exponentials = _exponentials(negatives, exponents, rows, columns, workspace)
        for tile, factor in zip(exponentials, before, strict=True):
            # The first one becomes the total, and the others need not outlive their turn.
            out = workspace.tile(len(exponents) + (1 if total is None else 2), rows, columns)
            factor(rows, columns, out)
            total = out.mul_(tile) if total is None else total.addcmul_(tile, out)
        return total

    return of_tile


def _before(
    negatives: Negatives, exponent: Exponent, sums: Tensor, gradient: Tensor
) -> Callable[[slice, slice, Tensor], Tensor]:
    """What stands before an exponential: a function that writes it into a tile."""
    by_column, largest = _column_factor(negatives, exponent)
    by_row = gradient * exponent.gradient_slope
    by_row = by_row * torch.exp(_shift(negatives, exponent) + largest - sums)
    if by_column is None and negatives.symmetric:
        return lambda rows, columns, out: torch.add(by_row[rows, None], by_row[columns], out=out)
    if by_column is None:
        return lambda rows, columns, out: out.copy_(by_row[rows, None])
    left = torch.stack([by_row, by_column] if negatives.symmetric else [by_row], dim=1)
    right = torch.stack([by_column, by_row] if negatives.symmetric else [by_column])
    return lambda rows, columns, out: torch.mm(left[rows], right[:, columns], out=out)


def _exponentials(
    negatives: Negatives,
    exponents: tuple[Exponent, ...],
    rows: slice,
    columns: slice,
    workspace: Workspace,
) -> Iterator[Tensor]:
    """e^{x_ij - shift} on a tile, zero where there is no negative, for each exponent; `col` left out.

    To be read only.
    """
    if negatives.is_small:
        for kept in _kept(negatives, exponents):
            yield kept[rows, columns]
        return
    anchors, others = negatives.anchors[rows], negatives.others[columns].T
    mask = negatives.mask(rows, columns)
    if len(exponents) == 1 and exponents[0].tilt is None:
        logit = workspace.tile(0, rows, columns)
        torch.addmm(logit, anchors, others, beta=0, alpha=exponents[0].slope, out=logit)
        yield without(logit.exp_(), mask, 0.0)
        return
    similarity = torch.mm(anchors, others, out=workspace.tile(0, rows, columns))
    for r, exponent in enumerate(exponents):
        out = workspace.tile(r + 1, rows, columns)
        yield without(_exponential(negatives, exponent, similarity, out), mask, 0.0)


def _kept(negatives: Negatives, exponents: tuple[Exponent, ...]) -> Iterator[Tensor]:
    """The exponentials of a small S, kept for the iterations of Sinkhorn and the backward pass."""
    known = negatives.kept_exponentials
    for exponent in exponents:
        key = exponent.slope, exponent.tilt
        if key not in known:
            if negatives.fits_cache:
                similarity = negatives.kept_similarity
                out = torch.empty_like(similarity)
            else:
                out = similarity = negatives.anchors @ negatives.others.T
            known[key] = _exclude(negatives, _exponential(negatives, exponent, similarity, out))
        yield known[key]


def _exclude(negatives: Negatives, tile: Tensor) -> Tensor:
    """All of S, zero where there is no negative: near the diagonal, since rows and columns are sorted."""
    if negatives.fits_cache:
        return without(tile, negatives.kept_mask, 0.0)
    n, side = negatives.shape[0], 256
    for first in range(0, n, side):
        rows = slice(first, min(first + side, n))
        columns = slice(int(negatives.start[first]), int(negatives.stop[rows.stop - 1]))
        mask = negatives.mask(rows, columns)
        without(tile[rows, columns], mask, 0.0)
    return tile


def _exponential(negatives: Negatives, exponent: Exponent, similarity: Tensor, out: Tensor) -> Tensor:
    """e^{x_ij - shift}."""
    if exponent.tilt is None:
        return torch.mul(similarity, exponent.slope, out=out).exp_()
    tilt = exponent.tilt(similarity) - _shift(negatives, exponent)
    return torch.add(tilt, similarity, alpha=exponent.slope, out=out).exp_()


def _shift(negatives: Negatives, exponent: Exponent) -> float:
    """Half way between the least and the largest value of slope * s + tilt(s)."""
    low, high = _limits(negatives, exponent)
    return (low + high) / 2


def _limits(negatives: Negatives, exponent: Exponent) -> tuple[float, float]:
    """The least and the largest value of slope * s + tilt(s); no bound where nothing is known."""
    low, high = 0.0, 0.0
    if exponent.tilt is not None:
        if exponent.tilt_has_gradient or not isinstance(exponent.tilt, Term):
            return -math.inf, math.inf
        low, high = _limits_of(exponent.tilt, negatives.bound)
    return low - abs(exponent.slope) * negatives.bound, high + abs(exponent.slope) * negatives.bound


@lru_cache(maxsize=8)
def _limits_of(tilt: Term, bound: float) -> tuple[float, float]:
    return tilt.limits(bound)


def _spread(column: Tensor | None) -> float:
    return 0.0 if column is None else float(column.max() - column.min())


def _column_factor(negatives: Negatives, exponent: Exponent) -> tuple[Tensor | None, Tensor | float]:
    """e^{column_j - largest} and the largest, so that a row's sum is a product with this vector."""
    if exponent.column is None:
        return None, 0.0
    largest = exponent.column.max()
    return torch.exp(exponent.column - largest), largest
