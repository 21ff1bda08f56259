"""The positive pairs with their similarities, and averages over the positives of each anchor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.pairs import Edges
from tammes.reduce.autograd import first_order_only
from tammes.reduce.exponent import Exponent, Pointwise
from tammes.reduce.negatives import Negatives
from tammes.reduce.weighted import Sample

_CHUNK = 1 << 21
"""How many numbers of gathered embeddings are held at a time."""


@dataclass(frozen=True, kw_only=True)
class Positives(Sample):
    """The positives of every anchor; as a sample, weighted as the negatives are.

    Args:
        edges: which pairs they are.
        similarity: `(e,)`, s of each pair; differentiable.
        weight: the logarithm of the weights, up to a constant for each anchor.
        temperature: l = s / temperature.
    """

    edges: Edges
    similarity: Float[Tensor, " e"]
    weight: Exponent
    temperature: float

    @staticmethod
    def of(negatives: Negatives, edges: Edges, weight: Exponent, temperature: float) -> Positives:
        """The positives among the anchors and candidates that `negatives` holds."""
        if negatives.symmetric and edges.side_by_side:
            similarity = _NeighborSimilarity.apply(negatives.anchors)  # type: ignore[no-untyped-call]
        else:
            similarity = pair_similarity(
                negatives.anchors, negatives.candidates, edges.anchor, edges.candidate
            )
        return Positives(edges=edges, similarity=similarity, weight=weight, temperature=temperature)

    @cached_property
    def logit(self) -> Float[Tensor, " e"]:
        """`(e,)`, l+ of each pair."""
        return self.similarity / self.temperature

    def average(self, values: Float[Tensor, " e"]) -> Float[Tensor, " n"]:
        """The plain mean over each anchor's positives."""
        if self.edges.one_each:
            return values
        return self._sum(values) / self.edges.count

    def log_mean_exp(self) -> Float[Tensor, " n"]:
        """Log sum_p w_ip e^{l_ip} over the positives p of each anchor i."""
        if self.edges.one_each:
            return self.logit
        return self._log_sum_exp(self._log_weight + self.logit) - self._log_sum_exp(self._log_weight)

    def mean(self, term: Pointwise, shift: Tensor | float = 0.0) -> Float[Tensor, " n"]:
        """sum_p w_ip term(l_ip + shift_i) over the positives p of each anchor i."""
        values = term(self.logit + self.of_anchor(shift))
        if self.edges.one_each:
            return values
        total = self._log_sum_exp(self._log_weight)
        return self._sum((self._log_weight - total[self.edges.anchor]).exp() * values)

    def of_anchor(self, values: Tensor | float) -> Tensor | float:
        """`(e,)`, a number of each anchor repeated for its positives; a plain number stays one."""
        if not isinstance(values, Tensor) or values.ndim == 0 or self.edges.one_each:
            return values
        return values[self.edges.anchor]

    def in_columns(self, values: Float[Tensor, " e"]) -> Float[Tensor, "n p"]:
        """`(n, p)`, the values of each anchor's positives side by side, zeros after the last."""
        table = values.new_zeros(len(self.edges.count), int(self.edges.count.max()))
        return table.index_put((self.edges.anchor, self._column), values)

    def from_columns(self, table: Float[Tensor, "n p"]) -> Float[Tensor, " e"]:
        """`(e,)`, the inverse of `in_columns`."""
        return table[self.edges.anchor, self._column]

    @cached_property
    def _column(self) -> Int[Tensor, " e"]:
        begin = torch.cumsum(self.edges.count, 0) - self.edges.count
        return torch.arange(len(self.edges.anchor), device=begin.device) - begin[self.edges.anchor]

    @cached_property
    def _log_weight(self) -> Float[Tensor, " e"]:
        return self.weight.at_pairs(self.similarity, self.edges.candidate)

    def _sum(self, values: Tensor) -> Tensor:
        return values.new_zeros(len(self.edges.count)).index_add(0, self.edges.anchor, values)

    def _log_sum_exp(self, values: Tensor) -> Tensor:
        none = values.new_full((len(self.edges.count),), -torch.inf)
        largest = none.scatter_reduce(0, self.edges.anchor, values.detach(), "amax")
        return self._sum((values - largest[self.edges.anchor]).exp()).log() + largest


def pair_similarity(
    anchors: Float[Tensor, "n d"],
    candidates: Float[Tensor, "m d"] | None,
    anchor: Int[Tensor, " e"],
    candidate: Int[Tensor, " e"],
) -> Float[Tensor, " e"]:
    """S of listed pairs; differentiable, holding only a chunk of the gathered embeddings at a time.

    Args:
        anchors: `(n, d)`.
        candidates: `(m, d)`, or None where the anchors are the candidates.
        anchor: `(e,)`, rows of `anchors`.
        candidate: `(e,)`, rows of the candidates.

    Example:
        >>> z = torch.tensor([[1.0, 0.0], [0.6, 0.8]])
        >>> pair_similarity(z, None, torch.tensor([0, 1]), torch.tensor([1, 1])).tolist()
        [0.6000000238418579, 1.0]
    """
    return _PairSimilarity.apply(anchors, candidates, anchor, candidate)  # type: ignore[no-untyped-call]


class _PairSimilarity(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, anchors: Tensor, candidates: Tensor | None, anchor: Tensor, candidate: Tensor
    ) -> Tensor:
        ctx.save_for_backward(anchors, candidates, anchor, candidate)
        others = anchors if candidates is None else candidates
        similarity = anchors.new_empty(len(anchor))
        for part in _chunks(len(anchor), anchors.shape[1]):
            similarity[part] = (anchors[anchor[part]] * others[candidate[part]]).sum(dim=1)
        return similarity

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        anchors, candidates, anchor, candidate = ctx.saved_tensors
        others = anchors if candidates is None else candidates
        with torch.no_grad():
            to_anchors = torch.zeros_like(anchors)
            to_others = to_anchors if candidates is None else torch.zeros_like(candidates)
            for part in _chunks(len(anchor), anchors.shape[1]):
                i, j, slope = anchor[part], candidate[part], gradient[part, None]
                to_anchors.index_add_(0, i, slope * others[j])
                to_others.index_add_(0, j, slope * anchors[i])
        found = to_anchors, None if candidates is None else to_others
        return *first_order_only(found, (anchors, candidates, gradient)), None, None


class _NeighborSimilarity(torch.autograd.Function):
    """s of rows 2k and 2k + 1, which are each other's only positive, for both of them."""

    @staticmethod
    def forward(ctx: Any, anchors: Tensor) -> Tensor:
        ctx.save_for_backward(anchors)
        first, second = anchors.view(-1, 2, anchors.shape[1]).unbind(dim=1)
        return (first * second).sum(dim=1).repeat_interleave(2)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor | None:
        (anchors,) = ctx.saved_tensors
        with torch.no_grad():
            both = gradient.view(-1, 2).sum(dim=1)
            found = anchors.view(-1, 2, anchors.shape[1]).flip(1).mul_(both[:, None, None]).view_as(anchors)
        return first_order_only((found,), (anchors, gradient))[0]


def _chunks(size: int, width: int) -> list[slice]:
    step = max(1, _CHUNK // width)
    return [slice(first, min(first + step, size)) for first in range(0, size, step)]
