"""Softplus losses over other candidates than the anchors in closed form (Jensen-Shannon, sigmoid).

    loss_i = softplus( -(l+_i + b) ) + Q sum_j w_ij softplus( l_ij + b )
    d loss_i / d s_ij = Q w_ij ( sigmoid(l_ij + b) / t + (softplus(l_ij + b) - mean_i) x'(s_ij) )

The loss is one node of the graph, evaluated in strips (`Sweep`): with its strip the mean of a row is known,
and so is the gradient, for which S would otherwise be computed a second time.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.positive_pairs import PositivePairs
from tammes.products import product_in
from tammes.reduce.exponent import Exponent
from tammes.reduce.negatives import Negatives
from tammes.reduce.sweep import Lengths, Rows, Strip, StripLoss, Sweep
from tammes.reduce.terms import Term, exponential_, softplus, softplus_and_sigmoid
from tammes.reduce.tiled.fixed_shift import limits_of
from tammes.reduce.tiled.tiles import exponent_slope

_LARGEST = {torch.float32: 40.0, torch.float64: 300.0}
"""Largest exponents of weights whose exponentials and sums are normal numbers."""


@dataclass(frozen=True, kw_only=True)
class SoftplusLoss:
    """The closed form with its constants.

    Args:
        temperature: t, the divisor of the similarities: l = s / t.
        bias: b, in logits.
        factor: Q; None for the number of negatives of each anchor.

    Source: Robinson (2023), appendix A.2; Zhai et al. (2023), sec. 3.2.
    """

    temperature: float
    bias: float = 0.0
    factor: float | None = 1.0

    def __call__(
        self,
        rows: Rows,
        lengths: Lengths,
        negatives: Negatives,
        weight: Exponent,
        positives: PositivePairs,
    ) -> Float[Tensor, ""] | None:
        """Return the mean loss over the anchors, or None where it has no closed form.

        Args:
            rows: anchors as the encoder gave them, in one view, and candidates; None for candidates that are
                the anchors, for which there is no closed form.
            lengths: lengths by which they were divided to make `negatives`.
            negatives: negatives without a graph and without a subset.
            weight: logarithm of the weights, up to the normalization of each row.
            positives: the positive pairs, one for each anchor.

        Example:
            >>> from tammes.pairs import Pairs
            >>> from tammes.reduce import KeyRanges
            >>> rows, ids = torch.zeros(4, 2), torch.arange(4)
            >>> ranges = KeyRanges(keys=ids, candidate_keys=ids)
            >>> negatives = Negatives(anchors=rows, candidates=rows, ranges=ranges, bound=1.0)
            >>> positives = Pairs(anchors=rows, ids=ids, candidates=rows, candidate_ids=ids).positives()
            >>> loss = SoftplusLoss(temperature=1.0)
            >>> mean = loss(((rows,), rows), (None, None), negatives, Exponent(), positives)
            >>> round((mean / 2).exp().item(), 4)  # all logits are zero
            2.0
        """
        (anchors, *_), candidates = rows
        if candidates is None or weight.column is not None or not _is_in_range(weight, negatives):
            return None
        strips = SoftplusStrips(loss=self, weight=weight, negatives=negatives)
        return Sweep(negatives=negatives, positives=positives, strips=strips)((anchors, candidates), lengths)


def _is_in_range(weight: Exponent, negatives: Negatives) -> bool:
    """Return whether no exponential of a weight leaves the range of normal numbers."""
    largest = abs(weight.slope) * negatives.bound
    if weight.tilt is not None:
        if not isinstance(weight.tilt, Term):
            return False
        largest += max(abs(limit) for limit in limits_of(weight.tilt, negatives.bound))
    return largest < _LARGEST[negatives.anchors.dtype]  # false for NaN


@dataclass(frozen=True, kw_only=True)
class SoftplusStrips(StripLoss):
    """A softplus loss on strips of S.

    Args:
        loss: the loss.
        weight: logarithm of the weights, without a column.
        negatives: S, whose candidates are not the anchors.
    """

    loss: SoftplusLoss
    weight: Exponent
    negatives: Negatives

    @property
    @override
    def tiles(self) -> int:
        return 3

    @override
    def evaluate(self, rows: slice, tiles: list[Tensor], positives: Tensor) -> Strip:
        logits, values, spare = tiles
        inverse, bias = 1 / self.loss.temperature, self.loss.bias
        negatives, columns = self.negatives, slice(0, self.negatives.shape[1])
        count = negatives.count[rows].to(logits.dtype)
        factor = count if self.loss.factor is None else self.loss.factor
        logits = product_in(logits, negatives.anchors[rows], negatives.others.T, scale=inverse)
        weights = through_weights = None
        if not self.weight.is_zero:
            all_similarities = logits if inverse == 1 else logits / inverse
            weights = exponential_(self.weight.value(all_similarities, columns))
            negatives.without(weights, rows, columns, 0.0)
            if self.weight.has_gradient:
                through_weights = exponent_slope(self.weight, all_similarities)
        if bias != 0:
            logits.add_(bias)
        lowered = logits.take(positives).neg_()
        slope = softplus_and_sigmoid(logits, out=values, spare=spare)
        if weights is None:
            negatives.without(values, rows, columns, 0.0)
            negatives.without(slope, rows, columns, 0.0)
            mean = values.sum(dim=1) / count
            slope.mul_((factor * inverse / count)[:, None])
        else:
            mass = weights.sum(dim=1)
            mean = torch.mul(weights, values, out=spare).sum(dim=1) / mass
            slope.mul_(inverse)
            if through_weights is not None:
                slope.add_(values.sub_(mean[:, None]).mul_(through_weights))
            slope.mul_(weights).mul_((factor / mass)[:, None])
        return Strip(
            losses=softplus(lowered) + factor * mean,
            slope=slope,
            by_pair=torch.sigmoid(lowered) * -inverse,
        )
