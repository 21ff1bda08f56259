"""Synthetic negatives of each anchor, mixed of its hardest ones, beside the negatives of S."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor
from typing_extensions import override

from tammes.reduce.exponent import Pointwise
from tammes.reduce.negatives import Negatives
from tammes.reduce.weighted import WeightedNegatives

_ENTRIES = 1 << 22
"""Numbers of gathered embeddings in memory at a time."""


def mixtures(
    negatives: Negatives, *, hardest: int, pairs: int, with_anchor: int, seed: int
) -> Float[Tensor, "n p d"]:
    """Return `(n, p, d)` unit vectors, mixed of each anchor's hardest negatives and of the anchor itself.

    Args:
        negatives: unit vectors and their mask, without a graph.
        hardest: number of hardest negatives that are mixed.
        pairs: number of mixtures of two negatives.
        with_anchor: number of mixtures of the anchor and a negative.
        seed: seed of the pairs and of their shares.

    Example:
        >>> from tammes.reduce import KeyRanges
        >>> negatives = Negatives(anchors=torch.eye(4), ranges=KeyRanges(keys=torch.arange(4)), bound=1.0)
        >>> mixtures(negatives, hardest=2, pairs=3, with_anchor=1, seed=0).shape
        torch.Size([4, 4, 4])
    """
    n, m = negatives.shape
    d = negatives.anchors.shape[1]
    generator = torch.Generator("cpu").manual_seed(seed)
    step = max(1, _ENTRIES // max(m, (pairs + with_anchor) * d))
    made = []
    for first in range(0, n, step):
        rows = slice(first, min(first + step, n))
        anchors = negatives.anchors[rows]
        column, count = _hardest(negatives, rows, hardest)
        draws = torch.rand(
            3, len(anchors), pairs + with_anchor, generator=generator, dtype=torch.float64, device="cpu"
        )
        # i is any of the hardest, and j any other.
        i = (draws[0].to(anchors.device) * count).long().clamp(max=hardest - 1)
        j = (i + 1 + (draws[1].to(anchors.device) * (count - 1)).long()) % count
        share = draws[2].to(anchors)[:, :, None]
        one = negatives.others[column.gather(1, i)]
        two = negatives.others[column.gather(1, j[:, :pairs])]
        mixed = torch.cat(
            [
                share[:, :pairs] * one[:, :pairs] + (1 - share[:, :pairs]) * two,
                # Less than half of the anchor, so that the mixture remains a negative.
                share[:, pairs:] / 2 * anchors[:, None] + (1 - share[:, pairs:] / 2) * one[:, pairs:],
            ],
            dim=1,
        )
        made.append(torch.nn.functional.normalize(mixed, dim=2))
    return torch.cat(made)


def _hardest(
    negatives: Negatives, rows: slice, hardest: int
) -> tuple[Int[Tensor, "r k"], Int[Tensor, "r 1"]]:
    """Return the candidates of largest similarity, hardest first, and how many of them are negatives."""
    m = negatives.shape[1]
    similarity = negatives.anchors[rows] @ negatives.others.T
    mask = negatives.mask(rows, slice(0, m))
    if mask is not None:
        similarity = similarity.masked_fill(mask, -torch.inf)
    return similarity.topk(min(hardest, m), dim=1).indices, negatives.count[rows, None].clamp(max=hardest)


@dataclass(frozen=True, kw_only=True)
class MixedNegatives(WeightedNegatives):
    """The negatives of S and the synthetic ones, under one distribution.

    Args:
        synthetic: `(n, p)` similarities of each anchor to its synthetic negatives, differentiable in the
            anchor alone.
    """

    synthetic: Float[Tensor, "n p"]

    @property
    @override
    def log_count(self) -> Float[Tensor, " n"]:
        return self.count.to(self.synthetic.dtype).log()

    @property
    @override
    def count(self) -> Int[Tensor, " n"]:
        return self.negatives.count + self.synthetic.shape[1]

    @override
    def log_mean_exp(self) -> Float[Tensor, " n"]:
        with_logit = self.weight.with_logit(1 / self.temperature)
        total, weights = self.engine.log_sum_exp(self.negatives, (with_logit, self.weight))
        logits = self._log_weights + self.synthetic / self.temperature
        return torch.logaddexp(total, torch.logsumexp(logits, dim=1)) - torch.logaddexp(
            weights, torch.logsumexp(self._log_weights, dim=1)
        )

    @override
    def mean_beyond(self, term: Pointwise, offsets: Float[Tensor, "n p"]) -> Float[Tensor, "n p"]:
        real = super().mean_beyond(term, offsets)
        (weights,) = self.engine.log_sum_exp(self.negatives, (self.weight,))
        share = torch.sigmoid(weights - torch.logsumexp(self._log_weights, dim=1))[:, None]
        values = term(self.synthetic[:, None, :] / self.temperature - offsets[:, :, None])
        mixed = torch.einsum("np,nop->no", torch.softmax(self._log_weights, dim=1), values)
        return share * real + (1 - share) * mixed

    @cached_property
    def _log_weights(self) -> Float[Tensor, "n p"]:
        """Logarithms of the weights: functions of the similarity alone, as those of S are."""
        anchor = torch.arange(self.synthetic.shape[1], device=self.synthetic.device)
        return self.weight.at_pairs(self.synthetic, anchor)
