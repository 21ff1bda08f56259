"""Log-sum-exps of exponents that lie close together, with one fixed shift.

|s_ij| is bounded, so slope * s_ij + tilt(s_ij) is bounded too. The middle of its range is one shift for all
entries (zero without a tilt): no running maximum is needed, and one exponential serves the rows of a tile
and, where S is symmetric, its columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.products import product
from tammes.reduce.exponent import Exponent
from tammes.reduce.negatives import Negatives
from tammes.reduce.terms import LOG2_E, Term, exponential_
from tammes.reduce.tiled.tiles import SlopeOfTile, Workspace, without

_SAFE_RANGE = {torch.float32: 80.0, torch.float64: 600.0}
"""Widest range of exponents for which exp(exponent - shift) stays a normal number, and sums stay finite."""
_BLOCK = 256
"""Rows at a time in which the masked entries of a large kept S are overwritten."""


def range_is_safe(negatives: Negatives, exponents: tuple[Exponent, ...]) -> bool:
    """Return whether the fixed shift is exact: no underflow, and a symmetric mask."""
    limit = _SAFE_RANGE[negatives.anchors.dtype]
    if not negatives.by_keys_alone:
        return False
    for exponent in exponents:
        width = _width(negatives, exponent)
        if exponent.column is not None:
            width += float(exponent.column.max() - exponent.column.min())
        if not width < limit:  # true for NaN
            return False
    return True


def log_sums(negatives: Negatives, exponents: tuple[Exponent, ...], side: int) -> list[Tensor]:
    """Return `(n,)` log sum_j e^{x_ij} for each exponent."""
    factors = [column_factor(exponent) for exponent in exponents]
    if negatives.is_small:
        sums = [
            tile.sum(dim=1) if factor is None else tile.mv(factor)
            for tile, (factor, _) in zip(kept_exponentials(negatives, exponents), factors, strict=True)
        ]
    else:
        sums = totals(negatives, exponents, [factor for factor, _ in factors], Workspace(negatives, side))
    for exponent, (factor, largest), total in zip(exponents, factors, sums, strict=True):
        total.log_()
        if factor is not None or exponent.tilt is not None:
            total += largest + _shift(negatives, exponent)
    return sums


def totals(
    negatives: Negatives,
    exponents: tuple[Exponent, ...],
    factors: list[Tensor | None],
    workspace: Workspace,
) -> list[Tensor]:
    """Return `(n,)` sums of the shifted exponentials, each times the factor of its column.

    Args:
        negatives: S.
        exponents: exponents; they share one pass over S.
        factors: `(m,)` factors of the columns for each exponent, None for ones.
        workspace: tiles to evaluate, and their memory.
    """
    like = negatives.anchors
    found = [like.new_zeros(negatives.shape[0]) for _ in exponents]
    for rows, columns in workspace.tiles:
        exponentials = _exponentials(negatives, exponents, rows, columns, workspace)
        for tile, factor, total in zip(exponentials, factors, found, strict=True):
            _add_sums(tile, factor, total, rows, columns)
            # e^{x_ij} = e^{x_ji}: the tile above the diagonal also holds the one below it.
            if negatives.symmetric and rows != columns:
                _add_sums(tile.T, factor, total, columns, rows)
    return found


def _add_sums(tile: Tensor, factor: Tensor | None, total: Tensor, rows: slice, columns: slice) -> None:
    """Add the sums of the rows of a tile, each entry times the factor of its column."""
    if factor is None:
        total[rows] += tile.sum(dim=1)
    else:
        total[rows].addmv_(tile, factor[columns])


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """Matrix e^{x_ij - shift} of a small S, zero where no negative stands, for products with vectors.

    Args:
        shift: the same number for all entries.
    """

    shift: float
    _entries: Float[Tensor, "n m"]

    @staticmethod
    def of(negatives: Negatives, exponent: Exponent, *, most: float) -> Kernel | None:
        """Return the kernel, or None for a large S or a wide range of exponents.

        Args:
            negatives: detached negatives, by keys alone.
            exponent: x, without a column.
            most: widest range of the exponents.
        """
        width = _width(negatives, exponent)
        if not negatives.by_keys_alone or not negatives.is_small or not width < most:
            return None
        (entries,) = kept_exponentials(negatives, (exponent,))
        return Kernel(shift=_shift(negatives, exponent), _entries=entries)

    def times(self, vector: Float[Tensor, " m"]) -> Float[Tensor, " n"]:
        """Return `(n,)` the product with a vector."""
        return self._entries.mv(vector)


def slopes(
    negatives: Negatives, exponents: tuple[Exponent, ...], sums: list[Tensor], gradients: list[Tensor]
) -> SlopeOfTile:
    """Return d loss / d s_ij = sum_r gradient_ri slope_r e^{x_rij - sum_ri} for each tile.

    Where S is symmetric, the same with i and j exchanged is added. The exponential is shared; the factor
    before it is by_row_i by_column_j (+ by_row_j by_column_i), an outer product.
    """
    with_gradient = [r for r, exponent in enumerate(exponents) if exponent.gradient_slope != 0.0]
    # Up to the last of them, or to the exponential of which it is the square.
    last = next((r for r in computed(exponents) if with_gradient and r >= with_gradient[-1]), -1)
    exponents = exponents[: last + 1]
    factors = [
        _Factor.of(negatives, exponent, total, gradient)
        for exponent, total, gradient in zip(exponents, sums, gradients, strict=False)
    ]

    def of_tile(rows: slice, columns: slice, workspace: Workspace) -> Tensor | None:
        total: Tensor | None = None
        exponentials = _exponentials(negatives, exponents, rows, columns, workspace)
        for tile, factor in zip(exponentials, factors, strict=True):
            if factor is None:
                continue
            # The first product becomes the total; the memory of the others is used again.
            out = workspace.tile(len(exponents) + (1 if total is None else 2), rows, columns)
            factor.write(rows, columns, out)
            total = out.mul_(tile) if total is None else total.addcmul_(tile, out)
        return total

    return of_tile


@dataclass(frozen=True, kw_only=True)
class _Factor:
    """Factor before an exponential: by_row_i by_column_j, plus its transpose where S is symmetric.

    Args:
        by_row: `(n,)`.
        by_column: `(m,)`, or None for ones.
        symmetric: whether the candidates are the anchors.
    """

    by_row: Tensor
    by_column: Tensor | None
    symmetric: bool

    @staticmethod
    def of(negatives: Negatives, exponent: Exponent, sums: Tensor, gradient: Tensor) -> _Factor | None:
        """Return the factor of an exponent, or None where no gradient flows through it."""
        if exponent.gradient_slope == 0.0:
            return None
        by_column, largest = column_factor(exponent)
        # Without a tilt the shift is zero.
        top = largest if exponent.tilt is None else largest + _shift(negatives, exponent)
        by_row = torch.exp(top - sums).mul_(gradient).mul_(exponent.gradient_slope)
        return _Factor(by_row=by_row, by_column=by_column, symmetric=negatives.symmetric)

    def write(self, rows: slice, columns: slice, out: Tensor) -> None:
        """Write the factor of a tile to `out`."""
        if self.by_column is not None:
            torch.mm(self._left[rows], self._right[:, columns], out=out)
        elif self.symmetric:
            torch.add(self.by_row[rows, None], self.by_row[columns], out=out)
        else:
            out.copy_(self.by_row[rows, None])

    @cached_property
    def _left(self) -> Tensor:
        assert self.by_column is not None
        return torch.stack([self.by_row, self.by_column] if self.symmetric else [self.by_row], dim=1)

    @cached_property
    def _right(self) -> Tensor:
        assert self.by_column is not None
        return torch.stack([self.by_column, self.by_row] if self.symmetric else [self.by_column])


def _exponentials(
    negatives: Negatives,
    exponents: tuple[Exponent, ...],
    rows: slice,
    columns: slice,
    workspace: Workspace,
) -> list[Tensor]:
    """Return e^{x_ij - shift} without its column on a tile, for each exponent; zero at masked entries.

    Read-only: of a small S, views of what it keeps.
    """
    if negatives.is_small:
        return [kept[rows, columns] for kept in kept_exponentials(negatives, exponents)]
    own = computed(exponents)
    found: list[Tensor] = []
    similarity = None
    for r, exponent in reversed(list(enumerate(exponents))):
        if (tile := workspace.kept(r, rows, columns)) is None:
            if r not in own:
                tile = torch.mul(found[-1], found[-1], out=workspace.tile(r, rows, columns))
            elif exponent.tilt is None and len(own) == 1:
                # The product scales for free: one pass over the tile less than to multiply afterwards.
                tile = workspace.product(r, rows, columns, scale=exponent.slope * LOG2_E).exp2_()
                negatives.without(tile, rows, columns, 0.0)
            else:
                if similarity is None:
                    similarity = workspace.product(len(exponents), rows, columns)
                tile = _exponential(negatives, exponent, similarity, workspace.tile(r, rows, columns))
                negatives.without(tile, rows, columns, 0.0)
        found.append(tile)
    return found[::-1]


def computed(exponents: tuple[Exponent, ...]) -> tuple[int, ...]:
    """Return the places of the exponents whose exponentials are computed; others are squares of the next one.

    Example:
        >>> computed((Exponent(slope=4.0), Exponent(slope=2.0))), computed((Exponent(slope=4.0), Exponent()))
        ((1,), (0, 1))
    """
    last = len(exponents) - 1
    return tuple(r for r in range(last + 1) if r == last or not _is_twice(exponents[r], exponents[r + 1]))


def kept_exponentials(negatives: Negatives, exponents: tuple[Exponent, ...]) -> list[Tensor]:
    """Return the exponentials of a small S without their columns, made once: zero at masked entries."""
    known = negatives.kept_exponentials
    keys = [(exponent.slope, exponent.tilt) for exponent in exponents]
    for key, exponent in zip(reversed(keys), reversed(exponents), strict=True):
        if key in known:
            continue
        half = known.get((exponent.slope / 2, None))
        if half is not None and exponent.tilt is None:
            known[key] = half.square()
            continue
        if negatives.fits_cache:
            similarity, out = negatives.kept_similarity, None
        else:
            out = similarity = product(negatives.anchors, negatives.others.T)
        known[key] = _exclude(negatives, _exponential(negatives, exponent, similarity, out))
    return [known[key] for key in keys]


def _is_twice(exponent: Exponent, other: Exponent) -> bool:
    """Return whether e^x is the square of e^other: a product is quicker than an exponential."""
    return exponent.tilt is None and other.tilt is None and exponent.slope == 2 * other.slope


def _exclude(negatives: Negatives, matrix: Tensor) -> Tensor:
    """Set the masked entries of a kept S to zero; they lie near the diagonal, since keys are sorted."""
    ranges = negatives.ranges
    if negatives.fits_cache:
        matrix.view(-1).index_fill_(0, ranges.excluded_entries, 0.0)
        return matrix
    n = negatives.shape[0]
    for first in range(0, n, _BLOCK):
        rows = slice(first, min(first + _BLOCK, n))
        columns = slice(int(ranges.start[first]), int(ranges.stop[rows.stop - 1]))
        without(matrix[rows, columns], negatives.mask(rows, columns), 0.0)
    return matrix


def _exponential(negatives: Negatives, exponent: Exponent, similarity: Tensor, out: Tensor | None) -> Tensor:
    """Return e^{x_ij - shift} without its column, in new memory unless `out` is given."""
    if exponent.tilt is None:
        return torch.mul(similarity, exponent.slope * LOG2_E, out=out).exp2_()
    tilt = exponent.tilt(similarity) - _shift(negatives, exponent)
    return exponential_(torch.add(tilt, similarity, alpha=exponent.slope, out=out))


def _shift(negatives: Negatives, exponent: Exponent) -> float:
    """Return the middle of the range of slope * s + tilt(s); that of slope * s is zero.

    From the middle both halves of a float's range serve; from the maximum only one would.
    """
    low, high = _limits(negatives, exponent)
    return (low + high) / 2


def _width(negatives: Negatives, exponent: Exponent) -> float:
    """Return an upper bound of the width of the range of slope * s + tilt(s)."""
    low, high = _limits(negatives, exponent)
    # Added after the difference: beside a large tilt a slope would be lost in rounding, but not in e^x.
    return (high - low) + 2 * abs(exponent.slope) * negatives.bound


def _limits(negatives: Negatives, exponent: Exponent) -> tuple[float, float]:
    """Return the range of tilt(s), infinite for a tilt of unknown range."""
    if exponent.tilt is None:
        return 0.0, 0.0
    if exponent.tilt_has_gradient or not isinstance(exponent.tilt, Term):
        return -math.inf, math.inf
    return limits_of(exponent.tilt, negatives.bound)


@lru_cache(maxsize=8)
def limits_of(tilt: Term, bound: float) -> tuple[float, float]:
    """Return the smallest and the largest value of a tilt for similarities up to a bound, found once."""
    return tilt.limits(bound)


def column_factor(exponent: Exponent) -> tuple[Tensor | None, Tensor | float]:
    """Return e^{column_j - largest} and the largest: a row's sum is then a product with this vector."""
    if exponent.column is None:
        return None, 0.0
    largest = exponent.column.max()
    return torch.exp(exponent.column - largest), largest
