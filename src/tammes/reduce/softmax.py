"""The softmax loss of a small S: its gradient is known, and takes few operations.

    -log share_p  =  softplus( log r - log share_p ) ,      r = sum_{j != p} share_j = 1 - share_p .

On the right and in the gradient r is a sum of small numbers. As a difference from 1 it would lose its digits
where the positive has nearly everything, and the loss of what is learned well would be rounding.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus

from tammes.reduce.autograd import first_order_only, through_unit_length
from tammes.reduce.negatives import neighbors
from tammes.reduce.tiled.tiles import least_exponent


def mean_softmax_loss(
    given: Float[Tensor, "n d"],
    lengths: Float[Tensor, "n 1"] | None,
    values: Float[Tensor, "n d"],
    slope: float,
    bound: float,
) -> Float[Tensor, ""]:
    """-(1/n) sum_i log( e^{l_ip} / sum_{j != i} e^{l_ij} ) with l = slope * s, p the row beside row i.

        d loss / d S = (slope / n) (P + P^T - 2 Y) ,    P the softmax over j != i, Y the positives.

    Args:
        given: `(n, d)`, rows 2k and 2k + 1 of the same; in the graph.
        lengths: `(n, 1)`, by which they were divided to make `values`; None where they were not.
        values: `(n, d)`, of which S is made; without graph.
        slope: 1 / temperature.
        bound: no |s| is larger.

    Example:
        >>> rows = torch.eye(4)
        >>> loss = mean_softmax_loss(rows, None, rows, 2.0, 1.0)  # all logits are zero
        >>> round(loss.exp().item(), 4)
        3.0
    """
    return _MeanSoftmaxLoss.apply(given, lengths, values, slope, bound)  # type: ignore[no-untyped-call]


class _MeanSoftmaxLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, given: Tensor, lengths: Tensor | None, values: Tensor, slope: float, bound: float
    ) -> Tensor:
        logit = torch.mm(values, values.T).mul_(slope).fill_diagonal_(-torch.inf)
        log_share = torch.log_softmax(logit, dim=1)
        share = _shares(log_share, slope * bound)
        rest = _without_positives(share, neighbors(share))
        ctx.slope = slope
        ctx.save_for_backward(given, lengths, values, share)
        return softplus(rest.log_() - neighbors(log_share).reshape(-1)).mean()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        given, lengths, values, share = ctx.saved_tensors
        with torch.no_grad():
            found = torch.mm(share + share.T, values).mul_(gradient * (ctx.slope / len(values)))
            if lengths is not None:
                found = through_unit_length(values, lengths, found)
        return first_order_only((found,), (given, gradient))[0], None, None, None, None


def mean_one_way_softmax_loss(
    given: tuple[Float[Tensor, "n d"], Float[Tensor, "n d"]],
    lengths: tuple[Float[Tensor, "n 1"] | None, Float[Tensor, "n 1"] | None],
    values: tuple[Float[Tensor, "n d"], Float[Tensor, "n d"]],
    slope: float,
    bound: float,
) -> Float[Tensor, ""]:
    """-(1/n) sum_i log( e^{l_ii} / sum_j e^{l_ij} ) with l = slope * s, of anchors i and other candidates j.

        d loss / d S = (slope / n) (P - I) ,    P the softmax over j.

    Args:
        given: anchors and candidates, candidate i the positive of anchor i; in the graph.
        lengths: by which each were divided to make `values`; None where they were not.
        values: of which S is made; without graph.
        slope: 1 / temperature.
        bound: no |s| is larger.

    Example:
        >>> rows = (torch.zeros(4, 2), torch.zeros(4, 2))  # all logits are zero
        >>> round(mean_one_way_softmax_loss(rows, (None, None), rows, 2.0, 0.0).exp().item(), 4)
        4.0
    """
    return _MeanOneWaySoftmaxLoss.apply(*given, *lengths, *values, slope, bound)  # type: ignore[no-untyped-call]


class _MeanOneWaySoftmaxLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        anchors: Tensor,
        candidates: Tensor,
        anchor_lengths: Tensor | None,
        candidate_lengths: Tensor | None,
        anchor_values: Tensor,
        candidate_values: Tensor,
        slope: float,
        bound: float,
    ) -> Tensor:
        log_share = torch.log_softmax(torch.mm(anchor_values, candidate_values.T).mul_(slope), dim=1)
        share = _shares(log_share, slope * bound)
        rest = _without_positives(share, share.diagonal())
        ctx.slope = slope
        lengths = anchor_lengths, candidate_lengths
        ctx.save_for_backward(anchors, candidates, *lengths, anchor_values, candidate_values, share)
        return softplus(rest.log_() - log_share.diagonal()).mean()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        anchors, candidates, *lengths, anchor_values, candidate_values, share = ctx.saved_tensors
        with torch.no_grad():
            scale = gradient * (ctx.slope / len(share))
            found = [(share @ candidate_values).mul_(scale), (share.T @ anchor_values).mul_(scale)]
            for side, values in enumerate((anchor_values, candidate_values)):
                if lengths[side] is not None:
                    found[side] = through_unit_length(values, lengths[side], found[side])
        tied = first_order_only(tuple(found), (anchors, candidates, gradient))
        return *tied, None, None, None, None, None, None


def _shares(log_share: Tensor, largest: float) -> Tensor:
    """e^{log share}; `largest` is the largest |l| there may be."""
    least = least_exponent(log_share.dtype)
    if 2 * largest + math.log(log_share.shape[1]) < -least:
        return log_share.exp()
    return log_share.masked_fill(log_share < least, -torch.inf).exp_()


def _without_positives(share: Tensor, of_positives: Tensor) -> Tensor:
    """What of each row is not the positive's, which is written in its place with a minus: P - Y."""
    of_positives.zero_()
    rest = share.sum(dim=1)
    of_positives.copy_(rest.view(of_positives.shape)).neg_()
    return rest
