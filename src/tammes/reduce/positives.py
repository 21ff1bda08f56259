"""The positive pairs with their similarities, and averages over the positives of each anchor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from typing_extensions import override

import tammes.deferred as deferred
from tammes.positive_pairs import PositivePairs
from tammes.reduce.autograd import first_order_only
from tammes.reduce.exponent import Exponent, Pointwise
from tammes.reduce.negatives import Negatives
from tammes.reduce.weighted import Sample

_CHUNK = 1 << 21
"""Number of entries of gathered embeddings in memory at a time."""


@dataclass(frozen=True, kw_only=True)
class WeightedPositives(Sample):
    """The positives of every anchor; as a sample, weighted as the negatives are.

    Args:
        pairs: the positive pairs.
        similarity: `(e,)` similarity of each pair; differentiable.
        weight: logarithm of the weights, up to a constant for each anchor.
        temperature: l = s / temperature.
    """

    pairs: PositivePairs
    similarity: Float[Tensor, " e"]
    weight: Exponent
    temperature: float

    @staticmethod
    def of(
        negatives: Negatives, pairs: PositivePairs, weight: Exponent, temperature: float
    ) -> WeightedPositives:
        """Return the positives among the anchors and candidates that `negatives` holds."""
        if negatives.symmetric and pairs.one_each:
            # Each row is then its positive's only positive.
            similarity = _PartnerSimilarity.apply(  # type: ignore[no-untyped-call]
                negatives.anchors, pairs.candidate
            )
        else:
            similarity = pair_similarity(
                negatives.anchors,
                negatives.candidates,
                None if pairs.one_each else pairs.anchor,
                pairs.candidate,
            )
        return WeightedPositives(pairs=pairs, similarity=similarity, weight=weight, temperature=temperature)

    @cached_property
    def logit(self) -> Float[Tensor, " e"]:
        """`(e,)` logit l+ of each pair."""
        return self.similarity / self.temperature

    def average(self, values: Float[Tensor, " e"]) -> Float[Tensor, " n"]:
        """Return `(n,)` the plain mean over each anchor's positives."""
        if self.pairs.one_each:
            return values
        return self._sum(values) / self.pairs.count

    @cached_property
    def log_count(self) -> Float[Tensor, " n"]:
        """`(n,)` logarithm of the number of positives."""
        return self.pairs.count.to(self.similarity.dtype).log()

    def log_sum_exp(self, values: Float[Tensor, " e"]) -> Float[Tensor, " n"]:
        """Return `(n,)` log sum e^value over each anchor's positives, without weights."""
        return values if self.pairs.one_each else self._log_sum_exp(values)

    @override
    def log_mean_exp(self) -> Float[Tensor, " n"]:
        if self.pairs.one_each:
            return self.logit
        log_weight = self._relative_log_weight
        return self._log_sum_exp(log_weight + self.logit) - self._log_sum_exp(log_weight)

    @override
    def mean(self, term: Pointwise, shift: Tensor | float = 0.0) -> Float[Tensor, " n"]:
        values = term(self.logit + self.of_anchor(shift))
        if self.pairs.one_each:
            return values
        # Normalized by the sum of the rounded weights, as the negatives are: equal values have their mean.
        weights = self._relative_log_weight.exp()
        return self._sum(weights * values) / self._sum(weights)

    def of_anchor(self, values: Tensor | float) -> Tensor | float:
        """Return `(e,)` values of the anchors, repeated for their positives; a plain number stays one."""
        if not isinstance(values, Tensor) or values.ndim == 0 or self.pairs.one_each:
            return values
        return values[self.pairs.anchor]

    def in_columns(self, values: Float[Tensor, " e"]) -> Float[Tensor, "n p"]:
        """Return `(n, p)` values of each anchor's positives side by side, zeros after the last."""
        if self.pairs.one_each:
            return values[:, None]
        table = values.new_zeros(len(self.pairs.count), int(self.pairs.count.max()))
        return table.index_put((self.pairs.anchor, self._column), values)

    def from_columns(self, table: Float[Tensor, "n p"]) -> Float[Tensor, " e"]:
        """Return `(e,)` values of the positives, the inverse of `in_columns`."""
        return table[:, 0] if self.pairs.one_each else table[self.pairs.anchor, self._column]

    @cached_property
    def _column(self) -> Int[Tensor, " e"]:
        begin = torch.cumsum(self.pairs.count, 0) - self.pairs.count
        return torch.arange(len(self.pairs.anchor), device=begin.device) - begin[self.pairs.anchor]

    @cached_property
    def _relative_log_weight(self) -> Float[Tensor, " e"]:
        """Log-weights relative to the largest of each anchor: however long, they leave a logit its digits."""
        log_weight = self.weight.at_pairs(self.similarity, self.pairs.candidate)
        return log_weight - self._largest(log_weight)[self.pairs.anchor]

    def _sum(self, values: Tensor) -> Tensor:
        sums = values.new_zeros(len(self.pairs.count))
        if deferred.waits(values.device):  # see `_add`
            return sums.index_put((self.pairs.anchor,), values, accumulate=True)
        return sums.index_add(0, self.pairs.anchor, values)

    def _largest(self, values: Tensor) -> Tensor:
        none = values.new_full((len(self.pairs.count),), -torch.inf)
        return none.scatter_reduce(0, self.pairs.anchor, values.detach(), "amax")

    def _log_sum_exp(self, values: Tensor) -> Tensor:
        largest = self._largest(values)
        return self._sum((values - largest[self.pairs.anchor]).exp()).log() + largest


def pair_similarity(
    anchors: Float[Tensor, "n d"],
    candidates: Float[Tensor, "m d"] | None,
    anchor: Int[Tensor, " e"] | None,
    candidate: Int[Tensor, " e"],
) -> Float[Tensor, " e"]:
    """Return similarities of listed pairs, with only a chunk of the gathered embeddings in memory at a time.

    Args:
        anchors: `(n, d)` embeddings.
        candidates: `(m, d)` embeddings, or None where the anchors are the candidates.
        anchor: `(e,)` rows of `anchors`; None for each of them in turn, which is quicker.
        candidate: `(e,)` rows of the candidates.

    Example:
        >>> z = torch.tensor([[1.0, 0.0], [0.6, 0.8]])
        >>> pair_similarity(z, None, torch.tensor([0, 1]), torch.tensor([1, 1])).tolist()
        [0.6000000238418579, 1.0]
    """
    return _PairSimilarity.apply(anchors, candidates, anchor, candidate)  # type: ignore[no-untyped-call]


class _PairSimilarity(torch.autograd.Function):
    """s of listed pairs. Rows are gathered by index_select, several times as quick as an index."""

    @staticmethod
    def forward(
        ctx: Any, anchors: Tensor, candidates: Tensor | None, anchor: Tensor | None, candidate: Tensor
    ) -> Tensor:
        ctx.save_for_backward(anchors, candidates, anchor, candidate)
        others = anchors if candidates is None else candidates
        similarity = anchors.new_empty(len(candidate))
        for part in _chunks(len(candidate), anchors.shape[1]):
            rows = others.index_select(0, candidate[part])
            rows *= anchors[part] if anchor is None else anchors.index_select(0, anchor[part])
            torch.sum(rows, dim=1, out=similarity[part])
        return similarity

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        anchors, candidates, anchor, candidate = ctx.saved_tensors
        others = anchors if candidates is None else candidates
        with torch.no_grad():
            to_anchors = torch.zeros_like(anchors)
            to_others = to_anchors if candidates is None else torch.zeros_like(candidates)
            for part in _chunks(len(candidate), anchors.shape[1]):
                j, slope = candidate[part], gradient[part, None]
                of_anchors = others.index_select(0, j).mul_(slope)
                if anchor is None:
                    to_anchors[part].add_(of_anchors)
                    _add(to_others, j, anchors[part] * slope)
                else:
                    _add(to_anchors, anchor[part], of_anchors)
                    _add(to_others, j, anchors.index_select(0, anchor[part]).mul_(slope))
        found = to_anchors, None if candidates is None else to_others
        return *first_order_only(found, (anchors, candidates, gradient)), None, None


class _PartnerSimilarity(torch.autograd.Function):
    """s of rows that are each other's only positive, by two gathers and no scattered sum."""

    @staticmethod
    def forward(ctx: Any, anchors: Tensor, partner: Tensor) -> Tensor:
        ctx.save_for_backward(anchors, partner)
        return anchors.index_select(0, partner).mul_(anchors).sum(dim=1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None]:
        anchors, partner = ctx.saved_tensors
        with torch.no_grad():
            # s_ip and s_pi are one number: row i gets the gradients of both.
            both = gradient + gradient.index_select(0, partner)
            found = anchors.index_select(0, partner).mul_(both[:, None])
        return first_order_only((found,), (anchors, gradient))[0], None


def _add(into: Tensor, rows: Tensor, values: Tensor) -> None:
    """Add values to rows that may occur several times, in the same order at every call."""
    if deferred.waits(into.device):  # index_add_ adds by atomics on a GPU; index_put_ sorts
        into.index_put_((rows,), values, accumulate=True)
    else:
        into.index_add_(0, rows, values)


def _chunks(size: int, width: int) -> list[slice]:
    step = max(1, _CHUNK // width)
    return [slice(first, min(first + step, size)) for first in range(0, size, step)]
