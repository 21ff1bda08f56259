"""The softmax loss of a small S in closed form, debiased or not, under any weights of the negatives.

    loss_i = log( 1 + Q e^{-l+_i} max{ (G_i - tau+ e^{l+_i}) / (1 - tau+),  e^floor } ) ,
    G_i    = sum_j w_ij e^{l_ij}

That is SimCLR (equal weights, tau+ = 0), DCL, HCL and HCL-OT. On a small batch the time goes into the number
of operations and autograd nodes, not into their size. Here the loss is one node: its derivatives by log G_i
and l+_i are written down by hand, and everything about S is one matrix, d loss / dS.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import softplus

from tammes.reduce.autograd import first_order_only
from tammes.reduce.exponent import Exponent
from tammes.reduce.negatives import Negatives
from tammes.reduce.tiled import LogSums


@dataclass(frozen=True, kw_only=True)
class SoftmaxLoss:
    """The closed form with its constants.

    Args:
        temperature: l = s / temperature.
        log_weight: log Q; None for the number of negatives of each anchor.
        class_prior: tau+, the share of false negatives; 0 for no correction.
        floor: smallest logarithm of the corrected mean.

    Source: Robinson (2023), eq. 3.1, 3.7, 3.11 and 3.12; Jiang et al. (2023), eq. 8.
    """

    temperature: float
    log_weight: float | None
    class_prior: float
    floor: float

    def __call__(
        self, negatives: Negatives, weight: Exponent, positives: Int[Tensor, " n"]
    ) -> Float[Tensor, ""]:
        """Return the mean loss over the anchors, differentiable in the embeddings of `negatives`.

        Args:
            negatives: negatives of a small S, without a subset.
            weight: logarithm of the weights, up to the normalization of each row.
            positives: `(n,)` position of each anchor's only positive in S, row by row.

        Example:
            >>> from tammes.reduce import KeyRanges
            >>> rows, ranges = torch.eye(4), KeyRanges(keys=torch.tensor([0, 0, 1, 1]))
            >>> negatives = Negatives(anchors=rows, ranges=ranges, bound=1.0)
            >>> loss = SoftmaxLoss(temperature=0.5, log_weight=None, class_prior=0.0, floor=-2.0)
            >>> positives = torch.tensor([1, 4, 11, 14])
            >>> round(loss(negatives, Exponent(), positives).exp().item(), 4)  # all logits are zero
            3.0
        """
        return _MeanSoftmaxLoss.apply(  # type: ignore[no-untyped-call]
            negatives.anchors, negatives.candidates, negatives.detached, weight, positives, self
        )

    def rows(
        self, log_mean: Tensor | None, log_sum: Tensor, log_count: Tensor, positive: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return `(n,)` losses, d loss / d log G_i and d loss / d l+_i.

        Args:
            log_mean: `(n,)` log G_i; None for equal weights, where log G_i = log_sum - log_count.
            log_sum: `(n,)` log sum_j e^{l_ij + log w_ij}, up to the weights' normalization.
            log_count: `(n,)` log of the number of negatives.
            positive: `(n,)` logits of the positives.
        """
        if log_mean is None and self.log_weight is None and self.class_prior == 0:
            # Q G_i is the plain sum: adding log N and subtracting it again would only cost digits.
            excess = log_sum - positive
            slope = torch.sigmoid(excess)
            return softplus(excess), slope, -slope
        log_mean = log_sum - log_count if log_mean is None else log_mean
        log_weight = log_count if self.log_weight is None else self.log_weight
        if self.class_prior == 0:
            excess = log_mean + log_weight - positive
            slope = torch.sigmoid(excess)
            return softplus(excess), slope, -slope
        # log (G - tau+ e^{l+}) = log G + log left, with left = 1 - tau+ e^{l+} / G; below zero it has no log.
        left = -torch.expm1(positive - log_mean + math.log(self.class_prior))
        corrected = log_mean + torch.log(left) - math.log1p(-self.class_prior)
        on_floor = ~(corrected > self.floor)  # true for NaN
        excess = torch.where(on_floor, self.floor, corrected) + log_weight - positive
        slope = torch.sigmoid(excess)
        # d corrected / d log G = 1 / left = 1 - d corrected / d l+; on the floor neither has a gradient.
        to_negatives = torch.where(on_floor, 0.0, slope / left)
        return softplus(excess), to_negatives, -torch.where(on_floor, slope, to_negatives)


class _MeanSoftmaxLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        anchors: Tensor,
        candidates: Tensor | None,
        negatives: Negatives,
        weight: Exponent,
        positives: Tensor,
        loss: SoftmaxLoss,
    ) -> Tensor:
        with_logit = weight.with_logit(1 / loss.temperature)
        exponents = (with_logit,) if weight.is_zero else (with_logit, weight)
        ctx.sums = LogSums(negatives, exponents, side=max(negatives.shape))
        values = ctx.sums.release()
        similarity = _at(negatives, positives)
        log_mean = None if weight.is_zero else values[0] - values[1]
        losses, to_negatives, to_positives = loss.rows(
            log_mean, values[0], negatives.log_count, similarity / loss.temperature
        )
        ctx.scale = 1 / len(losses), 1 / (len(losses) * loss.temperature)
        ctx.save_for_backward(anchors, candidates, positives, to_negatives, to_positives, *values)
        return losses.mean()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        anchors, candidates, positives, to_negatives, to_positives, *values = ctx.saved_tensors
        with torch.no_grad():
            by_row = to_negatives * (gradient * ctx.scale[0])
            signed = (by_row,) if len(values) == 1 else (by_row, -by_row)
            slope = ctx.sums.slope_matrix(tuple(values), signed)
            by_pair = to_positives * (gradient * ctx.scale[1])
            flat = slope.view(-1)
            # The positives' entries are masked, hence zero so far; a symmetric S has each of them twice.
            if candidates is None:
                n = len(slope)
                by_pair = by_pair + by_pair[positives - torch.arange(0, n * n, n)]
            flat.index_copy_(0, positives, by_pair)
            others = anchors if candidates is None else candidates
            found = slope @ others, None if candidates is None else slope.T @ anchors
        return *first_order_only(found, (anchors, candidates, gradient)), None, None, None, None


def _at(negatives: Negatives, entries: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Return `(n,)` one entry of S for each row."""
    if negatives.fits_cache:
        return negatives.kept_similarity.view(-1).index_select(0, entries)
    columns = entries - torch.arange(len(entries)) * negatives.shape[1]
    return (negatives.anchors * negatives.others.index_select(0, columns)).sum(dim=1)
