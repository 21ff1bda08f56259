"""The reductions tile by tile: exact in value and gradient, in memory linear in the batch.

Nothing of the size of S outlives a tile; only an S no larger than one tile, a constant, is kept. The forward
pass keeps one number per row and exponent; the backward pass computes each tile again, turns it into
d loss / d S, which is a pointwise function of s_ij and the row numbers, and multiplies it with the embeddings
at once. Where the candidates are the anchors, S is symmetric and a tile above the diagonal serves two blocks
of rows: half the products.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_integer
from tammes.reduce.autograd import first_order_only, without_autocast
from tammes.reduce.engine import Engine
from tammes.reduce.exponent import Exponent, Pointwise
from tammes.reduce.negatives import Negatives
from tammes.reduce.terms import Term, exponential_
from tammes.reduce.tiled import fixed_shift, running_maximum
from tammes.reduce.tiled.tiles import (
    Workspace,
    both_ways,
    derivative_of,
    embedding_gradients,
    exponent_slope,
    oriented_tiles,
    with_derivative,
)


@dataclass(frozen=True, kw_only=True)
class Tiled(Engine):
    """Reduces S in square tiles that stay in a processor's cache.

    Args:
        side: number of rows and columns of a tile.

    Raises:
        ValueError: a side below one.

    Example:
        >>> from tammes.reduce import Dense, KeyRanges
        >>> negatives = Negatives(anchors=torch.eye(5), ranges=KeyRanges(keys=torch.arange(5)), bound=1.0)
        >>> exponents = (Exponent(slope=3.0),)
        >>> torch.equal(Tiled(side=2).log_sum_exp(negatives, exponents)[0],
        ...             Dense().log_sum_exp(negatives, exponents)[0])
        True
    """

    side: int = 512

    def __post_init__(self) -> None:
        check_integer("side", self.side)

    @override
    def log_sum_exp(
        self, negatives: Negatives, exponents: tuple[Exponent, ...]
    ) -> tuple[Float[Tensor, " n"], ...]:
        if not torch.is_grad_enabled():  # as in Sinkhorn's iterations: no node, no overhead
            return _log_sums(negatives.detached, exponents, self.side)
        return _LogSumExp.apply(  # type: ignore[no-untyped-call]
            negatives.anchors, negatives.candidates, negatives, exponents, self.side
        )

    @override
    def expectation(
        self,
        negatives: Negatives,
        weight: Exponent,
        log_total: Float[Tensor, " n"],
        term: Pointwise,
        scale: float,
        offsets: Float[Tensor, "n p"],
    ) -> Float[Tensor, "n p"]:
        weighting = _Weighting(exponent=weight, shift=log_total.detach(), term=term, scale=scale)
        return _Expectation.apply(  # type: ignore[no-untyped-call]
            negatives.anchors, negatives.candidates, offsets, negatives, weighting, self.side
        )

    @override
    def hardest(self, negatives: Negatives) -> Int[Tensor, " n"]:
        negatives = negatives.detached
        largest = negatives.anchors.new_full((len(negatives.anchors),), -torch.inf)
        where = torch.zeros_like(largest, dtype=torch.long)
        for rows, columns, similarity in oriented_tiles(negatives, self.side):
            mask = negatives.mask(rows, columns)
            allowed = similarity if mask is None else similarity.masked_fill(mask, -torch.inf)
            value, column = allowed.max(dim=1)
            where[rows] = torch.where(value > largest[rows], column + columns.start, where[rows])
            largest[rows] = torch.maximum(largest[rows], value)
        return where


def _log_sums(negatives: Negatives, exponents: tuple[Exponent, ...], side: int) -> tuple[Tensor, ...]:
    """Return `(n,)` log sum_j e^{x_ij} of detached negatives for each exponent, without a graph."""
    with without_autocast(negatives.anchors.device):
        return tuple(_method(negatives, exponents).log_sums(negatives, exponents, side))


def _method(negatives: Negatives, exponents: tuple[Exponent, ...]) -> ModuleType:
    return fixed_shift if fixed_shift.range_is_safe(negatives, exponents) else running_maximum


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
        ctx.negatives, ctx.exponents, ctx.side = negatives.detached, exponents, side
        values = _log_sums(ctx.negatives, exponents, side)
        ctx.save_for_backward(anchors, candidates, *values)
        return values

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        anchors, candidates, *values = ctx.saved_tensors
        with torch.no_grad(), without_autocast(anchors.device):
            slopes = _method(ctx.negatives, ctx.exponents).slopes
            slope = slopes(ctx.negatives, ctx.exponents, values, list(gradients))
            found = embedding_gradients(ctx.negatives, slope, Workspace(ctx.negatives, ctx.side))
        return *first_order_only(found, (anchors, candidates, *gradients)), None, None, None


@dataclass(frozen=True, kw_only=True)
class _Weighting:
    """The term that `expectation` averages, and the exponent of its weights."""

    exponent: Exponent
    shift: Tensor
    term: Pointwise
    scale: float

    @property
    def is_equal(self) -> bool:
        """Whether all negatives of an anchor weigh the same, which takes no exponential and no product."""
        return self.exponent.is_zero and not self.exponent.has_gradient and isinstance(self.term, Term)

    def weights(self, negatives: Negatives, rows: slice, columns: slice, similarity: Tensor) -> Tensor:
        """Return the weights, whose sum over a row is one up to the rounding of the shift."""
        exponent = self.exponent.value(similarity, columns) - self.shift[rows, None]
        return exponential_(negatives.without(exponent, rows, columns, -torch.inf))

    def argument(self, similarity: Tensor, offset: Tensor) -> Tensor:
        """Return the argument of the term on a tile, in new memory."""
        scaled = similarity if self.scale == 1.0 else self.scale * similarity
        return scaled - offset


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
        negatives = negatives.detached
        means, masses = torch.zeros_like(offsets), offsets.new_zeros(len(offsets), 1)
        if weighting.is_equal:
            masses += negatives.count[:, None]
        with without_autocast(anchors.device):
            for rows, columns, similarity in oriented_tiles(negatives, side):
                weights = None
                if not weighting.is_equal:
                    weights = weighting.weights(negatives, rows, columns, similarity)
                    masses[rows] += weights.sum(dim=1, keepdim=True)
                for p in range(offsets.shape[1]):
                    term = weighting.term(weighting.argument(similarity, offsets[rows, p, None]))
                    shares = (
                        negatives.without(term, rows, columns, 0.0) if weights is None else weights * term
                    )
                    means[rows, p] += shares.sum(dim=1)
        # A long exponent has few digits after the point, so the shift is too coarse to normalize by. It
        # cancels in the quotient of two sums over the same weights.
        means /= masses
        ctx.negatives, ctx.weighting, ctx.side = negatives, weighting, side
        ctx.save_for_backward(anchors, candidates, offsets, means, masses)
        return means

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        anchors, candidates, offsets, means, masses = ctx.saved_tensors
        weighting: _Weighting = ctx.weighting
        offset_gradient = torch.zeros_like(offsets) if ctx.needs_input_grad[2] else None
        by_sum = gradient / masses

        def slope(rows: slice, columns: slice, similarity: Tensor) -> Tensor:
            weights = weighting.weights(ctx.negatives, rows, columns, similarity)
            total = torch.zeros_like(similarity)
            for p in range(offsets.shape[1]):
                argument = weighting.argument(similarity, offsets[rows, p, None])
                if weighting.exponent.has_gradient:
                    term, derivative = with_derivative(weighting.term, argument)
                    through_weights = exponent_slope(weighting.exponent, similarity)
                    inner = weighting.scale * derivative + (term - means[rows, p, None]) * through_weights
                else:  # constant weights need the derivative alone
                    derivative = derivative_of(weighting.term, argument)
                    inner = weighting.scale * derivative
                total += by_sum[rows, p, None] * inner
                if offset_gradient is not None:
                    offset_gradient[rows, p] -= by_sum[rows, p] * (weights * derivative).sum(dim=1)
            return weights * total

        def slope_of_equal(rows: slice, columns: slice, similarity: Tensor) -> Tensor:
            total: Tensor | None = None
            for p in range(offsets.shape[1]):
                argument = weighting.argument(similarity, offsets[rows, p, None])
                derivative = derivative_of(weighting.term, argument)
                derivative = ctx.negatives.without(derivative, rows, columns, 0.0)
                if offset_gradient is not None:
                    offset_gradient[rows, p] -= by_sum[rows, p] * derivative.sum(dim=1)
                derivative.mul_(weighting.scale * by_sum[rows, p, None])
                total = derivative if total is None else total.add_(derivative)
            assert total is not None  # a term has at least one offset
            return total

        with torch.no_grad(), without_autocast(anchors.device):
            of_tile = slope_of_equal if weighting.is_equal else slope
            slope_of_tile = both_ways(ctx.negatives, of_tile)
            embeddings = embedding_gradients(ctx.negatives, slope_of_tile, Workspace(ctx.negatives, ctx.side))
        inputs = (anchors, candidates, offsets, gradient)
        return *first_order_only((*embeddings, offset_gradient), inputs), None, None, None
