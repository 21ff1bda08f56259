"""The reductions tile by tile: exact in value and gradient, in memory linear in the batch.

Nothing of the size of S outlives a tile. The forward pass keeps one number per row and exponent; the
backward pass computes each tile again, turns it into d loss / d S, which is a pointwise function of s_ij
and the row numbers, and multiplies it with the embeddings at once. Where the candidates are the anchors,
S is symmetric and a tile above the diagonal serves two blocks of rows: half the products.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.reduce.engine import Engine
from tammes.reduce.exponent import Exponent, Pointwise
from tammes.reduce.negatives import Negatives

_SAFE_RANGE = {torch.float32: 80.0, torch.float64: 600.0}
"""How far apart exponents may lie so that exp of (exponent - largest) stays a normal number."""


@dataclass(frozen=True, kw_only=True)
class Tiled(Engine):
    """Reduces S in square tiles that stay in a processor's cache.

    Args:
        side: rows and columns of a tile.

    Raises:
        ValueError: a side below one.

    Example:
        >>> from tammes.reduce.dense import Dense
        >>> negatives = Negatives(anchors=torch.eye(5), keys=torch.arange(5), bound=1.0)
        >>> exponents = (Exponent(slope=3.0),)
        >>> torch.equal(Tiled(side=2).log_sum_exp(negatives, exponents)[0],
        ...             Dense().log_sum_exp(negatives, exponents)[0])
        True
    """

    side: int = 512

    def __post_init__(self) -> None:
        if self.side < 1:
            raise ValueError(f"side must be at least 1 row, got {self.side}")

    def log_sum_exp(
        self, negatives: Negatives, exponents: tuple[Exponent, ...]
    ) -> tuple[Float[Tensor, " n"], ...]:
        """See `Engine.log_sum_exp`."""
        return _LogSumExp.apply(  # type: ignore[no-untyped-call]
            negatives.anchors, negatives.candidates, negatives, exponents, self.side
        )

    def expectation(
        self,
        negatives: Negatives,
        weight: Exponent,
        log_total: Float[Tensor, " n"],
        term: Pointwise,
        scale: float,
        offsets: Float[Tensor, "n p"],
    ) -> Float[Tensor, "n p"]:
        """See `Engine.expectation`."""
        weighting = _Weighting(exponent=weight, log_total=log_total.detach(), term=term, scale=scale)
        return _Expectation.apply(  # type: ignore[no-untyped-call]
            negatives.anchors, negatives.candidates, offsets, negatives, weighting, self.side
        )

    def hardest(self, negatives: Negatives) -> Int[Tensor, " n"]:
        """See `Engine.hardest`."""
        negatives = negatives.detached()
        largest = negatives.anchors.new_full((len(negatives.anchors),), -torch.inf)
        where = torch.zeros_like(largest, dtype=torch.long)
        for rows, columns, similarity in _oriented_tiles(negatives, self.side):
            mask = negatives.mask(rows, columns)
            allowed = similarity if mask is None else similarity.masked_fill(mask, -torch.inf)
            value, column = allowed.max(dim=1)
            where[rows] = torch.where(value > largest[rows], column + columns.start, where[rows])
            largest[rows] = torch.maximum(largest[rows], value)
        return where


class _LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        anchors: Tensor,
        candidates: Tensor | None,
        negatives: Negatives,
        exponents: tuple[Exponent, ...],
        side: int,
    ) -> tuple[Tensor, ...]:
        negatives = negatives.detached()
        with torch.autocast(anchors.device.type, enabled=False):
            if _range_is_safe(negatives, exponents):
                sums = _forward_fixed(negatives, exponents, side)
            else:
                sums = _forward_running(negatives, exponents, side)
        ctx.negatives, ctx.exponents, ctx.side = negatives, exponents, side
        ctx.save_for_backward(anchors, candidates, *sums)
        return tuple(sums)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        anchors, _, *sums = ctx.saved_tensors
        with torch.autocast(anchors.device.type, enabled=False):
            safe = _range_is_safe(ctx.negatives, ctx.exponents)
            slopes = _slopes_fixed if safe else _slopes_running
            tiles = slopes(ctx.negatives, ctx.exponents, sums, list(gradients), ctx.side)
            return *_embedding_gradients(ctx.negatives, tiles), None, None, None


@dataclass(frozen=True, kw_only=True)
class _Weighting:
    """What `expectation` averages, and by which weights."""

    exponent: Exponent
    log_total: Tensor
    term: Pointwise
    scale: float

    def weights(self, negatives: Negatives, rows: slice, columns: slice, similarity: Tensor) -> Tensor:
        exponent = self.exponent.value(similarity, columns) - self.log_total[rows, None]
        return _without(exponent, negatives.mask(rows, columns), -torch.inf).exp_()


class _Expectation(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        anchors: Tensor,
        candidates: Tensor | None,
        offsets: Tensor,
        negatives: Negatives,
        weighting: _Weighting,
        side: int,
    ) -> Tensor:
        negatives = negatives.detached()
        means = torch.zeros_like(offsets)
        with torch.autocast(anchors.device.type, enabled=False):
            for rows, columns, similarity in _oriented_tiles(negatives, side):
                weights = weighting.weights(negatives, rows, columns, similarity)
                for p in range(offsets.shape[1]):
                    term = weighting.term(weighting.scale * similarity - offsets[rows, p, None])
                    means[rows, p] += (weights * term).sum(dim=1)
        ctx.negatives, ctx.weighting, ctx.side = negatives, weighting, side
        ctx.save_for_backward(anchors, candidates, offsets, means)
        return means

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        anchors, _, offsets, means = ctx.saved_tensors
        weighting: _Weighting = ctx.weighting
        offset_gradient = torch.zeros_like(offsets)

        def slope(rows: slice, columns: slice, similarity: Tensor) -> Tensor:
            weights = weighting.weights(ctx.negatives, rows, columns, similarity)
            total = torch.zeros_like(similarity)
            for p in range(offsets.shape[1]):
                argument = weighting.scale * similarity - offsets[rows, p, None]
                term, derivative = _with_derivative(weighting.term, argument)
                inner = weighting.scale * derivative
                if weighting.exponent.has_gradient:
                    inner += (term - means[rows, p, None]) * _slope(weighting.exponent, similarity)
                total += gradient[rows, p, None] * inner
                offset_gradient[rows, p] -= gradient[rows, p] * (weights * derivative).sum(dim=1)
            return weights * total

        with torch.autocast(anchors.device.type, enabled=False):
            tiles = _both_ways(ctx.negatives, slope, ctx.side)
            embeddings = _embedding_gradients(ctx.negatives, tiles)
        return *embeddings, offset_gradient, None, None, None


# The tiles of S, and what is done with d loss / d S.


def _tiles(negatives: Negatives, side: int) -> Iterator[tuple[slice, slice]]:
    """Tiles of nearly equal size that cover S, or its upper triangle where S is symmetric."""
    n, m = negatives.shape
    rows, columns = _blocks(n, side), _blocks(m, side)
    for number, block in enumerate(rows):
        for other in columns[number:] if negatives.symmetric else columns:
            yield block, other


def _blocks(size: int, side: int) -> list[slice]:
    parts = -(-size // side)
    edges = [size * part // parts for part in range(parts + 1)]
    return [slice(first, last) for first, last in itertools.pairwise(edges)]


def _similarity(negatives: Negatives, rows: slice, columns: slice) -> Float[Tensor, "r c"]:
    return negatives.anchors[rows] @ negatives.others[columns].T


def _oriented_tiles(negatives: Negatives, side: int) -> Iterator[tuple[slice, slice, Tensor]]:
    """Every tile of S by its rows; where S is symmetric the lower ones are the upper ones turned over."""
    for rows, columns in _tiles(negatives, side):
        similarity = _similarity(negatives, rows, columns)
        yield rows, columns, similarity
        if negatives.symmetric and rows != columns:
            yield columns, rows, similarity.T


_SlopeTiles = Iterator[tuple[slice, slice, Tensor]]
"""Tiles of d loss / d s_ij; where S is symmetric s_ij and s_ji are one, and so is their slope."""


def _both_ways(negatives: Negatives, slope: Any, side: int) -> _SlopeTiles:
    """Tiles of `slope(rows, columns, similarity)`, the two orientations of a symmetric S added up."""
    for rows, columns in _tiles(negatives, side):
        similarity = _similarity(negatives, rows, columns)
        total = slope(rows, columns, similarity)
        if negatives.symmetric:
            mirrored = total if rows == columns else slope(columns, rows, similarity.T)
            total = total + mirrored.T
        yield rows, columns, total


def _embedding_gradients(negatives: Negatives, tiles: _SlopeTiles) -> tuple[Tensor, Tensor | None]:
    """d loss / d anchors and d loss / d candidates from d loss / d S: one product with each side."""
    anchors, others = negatives.anchors, negatives.others
    to_anchors = torch.zeros_like(anchors)
    to_others = to_anchors if negatives.symmetric else torch.zeros_like(others)
    for rows, columns, slope in tiles:
        to_anchors[rows].addmm_(slope, others[columns])
        if not (negatives.symmetric and rows == columns):
            to_others[columns].addmm_(slope.T, anchors[rows])
    return to_anchors, None if negatives.symmetric else to_others


# Exponents known to lie close together: one fixed shift, so that rows and columns share an exponential.


def _range_is_safe(negatives: Negatives, exponents: tuple[Exponent, ...]) -> bool:
    limit = _SAFE_RANGE[negatives.anchors.dtype]
    if negatives.subset is not None or any(exponent.tilt is not None for exponent in exponents):
        return False
    return all(2 * abs(e.slope) * negatives.bound + _spread(e.column) < limit for e in exponents)


def _spread(column: Tensor | None) -> float:
    return 0.0 if column is None else float(column.max() - column.min())


def _shift(negatives: Negatives, exponent: Exponent) -> float:
    """The largest value that slope * s_ij can take."""
    return abs(exponent.slope) * negatives.bound


def _column_factor(negatives: Negatives, exponent: Exponent) -> tuple[Tensor, Tensor | float]:
    """e^{column_j - largest} and the largest, so that a row's sum is a product with this vector."""
    if exponent.column is None:
        return negatives.anchors.new_ones(negatives.shape[1]), 0.0
    largest = exponent.column.max()
    return torch.exp(exponent.column - largest), largest


def _exponentials(
    negatives: Negatives, exponents: tuple[Exponent, ...], rows: slice, columns: slice
) -> Iterator[Tensor]:
    """e^{slope * s_ij - shift} on a tile, zero where there is no negative, for each exponent."""
    similarity = _similarity(negatives, rows, columns)
    mask = negatives.mask(rows, columns)
    for exponent in exponents:
        shift = similarity.new_tensor(-_shift(negatives, exponent))
        yield _without(torch.add(shift, similarity, alpha=exponent.slope).exp_(), mask, 0.0)


def _forward_fixed(negatives: Negatives, exponents: tuple[Exponent, ...], side: int) -> list[Tensor]:
    factors = [_column_factor(negatives, exponent) for exponent in exponents]
    totals = [negatives.anchors.new_zeros(negatives.shape[0]) for _ in exponents]
    for rows, columns in _tiles(negatives, side):
        tiles = _exponentials(negatives, exponents, rows, columns)
        for tile, (factor, _), total in zip(tiles, factors, totals, strict=True):
            total[rows].addmv_(tile, factor[columns])
            if negatives.symmetric and rows != columns:
                total[columns].addmv_(tile.T, factor[rows])
    return [
        total.log_().add_(largest).add_(_shift(negatives, exponent))
        for exponent, (_, largest), total in zip(exponents, factors, totals, strict=True)
    ]


def _slopes_fixed(
    negatives: Negatives,
    exponents: tuple[Exponent, ...],
    sums: list[Tensor],
    gradients: list[Tensor],
    side: int,
) -> _SlopeTiles:
    live = [r for r, exponent in enumerate(exponents) if exponent.gradient_slope != 0.0]
    exponents = tuple(exponents[r] for r in live)
    per_row, per_column = [], []
    for exponent, r in zip(exponents, live, strict=True):
        factor, largest = _column_factor(negatives, exponent)
        rescale = torch.exp(_shift(negatives, exponent) + largest - sums[r])
        per_row.append(gradients[r] * exponent.gradient_slope * rescale)
        per_column.append(factor)
    for rows, columns in _tiles(negatives, side):
        slope: Tensor | None = None
        tiles = _exponentials(negatives, exponents, rows, columns)
        for tile, by_row, by_column in zip(tiles, per_row, per_column, strict=True):
            outer = torch.outer(by_row[rows], by_column[columns])
            if negatives.symmetric:
                outer.addr_(by_column[rows], by_row[columns])
            slope = tile.mul_(outer) if slope is None else slope.addcmul_(tile, outer)
        if slope is not None:
            yield rows, columns, slope


# Exponents of any range: a running maximum for every row.


def _forward_running(negatives: Negatives, exponents: tuple[Exponent, ...], side: int) -> list[Tensor]:
    largest = [negatives.anchors.new_full((negatives.shape[0],), -torch.inf) for _ in exponents]
    totals = [negatives.anchors.new_zeros(negatives.shape[0]) for _ in exponents]
    for rows, columns, similarity in _oriented_tiles(negatives, side):
        mask = negatives.mask(rows, columns)
        for exponent, top, total in zip(exponents, largest, totals, strict=True):
            value = _without(exponent.value(similarity, columns), mask, -torch.inf)
            new_top = torch.maximum(top[rows], value.amax(dim=1))
            # A row with no negative so far has no maximum; any finite shift serves its empty sum.
            shift = torch.where(new_top == -torch.inf, 0.0, new_top)
            total[rows] *= torch.exp(top[rows] - shift)
            total[rows] += value.sub_(shift[:, None]).exp_().sum(dim=1)
            top[rows] = new_top
    return [total.log_().add_(top) for total, top in zip(totals, largest, strict=True)]


def _slopes_running(
    negatives: Negatives,
    exponents: tuple[Exponent, ...],
    sums: list[Tensor],
    gradients: list[Tensor],
    side: int,
) -> _SlopeTiles:
    def slope(rows: slice, columns: slice, similarity: Tensor) -> Tensor:
        mask = negatives.mask(rows, columns)
        total = torch.zeros_like(similarity)
        for exponent, log_sum, gradient in zip(exponents, sums, gradients, strict=True):
            if exponent.has_gradient:
                share = (exponent.value(similarity, columns) - log_sum[rows, None]).exp_()
                total += _without(share, mask, 0.0) * gradient[rows, None] * _slope(exponent, similarity)
        return total

    return _both_ways(negatives, slope, side)


def _without(tile: Tensor, mask: Tensor | None, value: float) -> Tensor:
    return tile if mask is None else tile.masked_fill_(mask, value)


def _slope(exponent: Exponent, similarity: Tensor) -> Tensor | float:
    """d x_ij / d s_ij, of the part through which the gradient flows."""
    if exponent.tilt is None or not exponent.tilt_has_gradient:
        return exponent.gradient_slope
    return exponent.gradient_slope + _with_derivative(exponent.tilt, similarity)[1]


def _with_derivative(function: Pointwise, argument: Tensor) -> tuple[Tensor, Tensor]:
    """A pointwise function and its derivative, on a tile."""
    with torch.enable_grad():
        argument = argument.detach().requires_grad_()
        value = function(argument)
        (derivative,) = torch.autograd.grad(value.sum(), argument)
    return value.detach(), derivative
