"""Contrasts by softplus of the positives and of the negatives, and the Jensen-Shannon contrast."""

from __future__ import annotations

import math
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.contrast.contrast import Contrast, Shift
from tammes.reduce import Sample, WeightedNegatives, WeightedPositives
from tammes.reduce.terms import Softened, softplus


class SoftplusContrast(Contrast):
    """softplus(-(l+ + b)), averaged over the positives, plus Q sum_j w_j softplus(l_j + b).

    The Jensen-Shannon and the sigmoid contrast are this formula with other b and Q.
    """

    @property
    def offset(self) -> Shift:
        """The bias b, in logits."""
        return 0.0

    def factor(self, negatives: WeightedNegatives) -> Tensor | float:
        """Return Q, one number or `(n,)`."""
        return 1.0

    @override
    def statistic(self, sample: Sample, positives: WeightedPositives, shift: Shift) -> Float[Tensor, " n"]:
        return sample.mean(Softened(), shift + self.offset)

    @override
    def lower_bound(self, logit: Shift) -> Shift:
        total = logit + self.offset
        if isinstance(total, Tensor):
            return softplus(total)
        return max(total, 0.0) + math.log1p(math.exp(-abs(total)))

    @override
    def losses(
        self,
        statistic: Float[Tensor, " n"],
        negatives: WeightedNegatives,
        positives: WeightedPositives,
        shift: Shift,
    ) -> Float[Tensor, " n"]:
        lowered = positives.logit - positives.of_anchor(shift) + self.offset
        return positives.average(softplus(-lowered)) + self.factor(negatives) * statistic


@dataclass(frozen=True, kw_only=True)
class Softplus(SoftplusContrast):
    """softplus(-l+), averaged over the positives, plus sum_j w_j softplus(l_j).

    Minus twice the Jensen-Shannon estimate of mutual information, up to a constant, with l as the
    discriminator T.

    Source: Robinson (2023), appendix A.2, after Sun et al. (2020).

    Example:
        >>> Softplus()
        Softplus()
    """
