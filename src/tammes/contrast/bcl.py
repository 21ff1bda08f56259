"""The basic contrastive loss: a difference of mean logits."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.contrast.contrast import Contrast, Shift
from tammes.reduce import Sample, WeightedNegatives, WeightedPositives
from tammes.reduce.terms import Linear


@dataclass(frozen=True, kw_only=True)
class BCL(Contrast):
    """sum_j w_j l_j - l+, averaged over the positives.

    In logits; at temperature 1 they are the paper's similarities.

    Source: Jiang et al. (2023), eq. 9.

    Example:
        >>> BCL()
        BCL()
    """

    @override
    def statistic(self, sample: Sample, positives: WeightedPositives, shift: Shift) -> Float[Tensor, " n"]:
        return sample.mean(Linear()) + shift

    @override
    def lower_bound(self, logit: Shift) -> Shift:
        return logit

    @override
    def losses(
        self,
        statistic: Float[Tensor, " n"],
        negatives: WeightedNegatives,
        positives: WeightedPositives,
        shift: Shift,
    ) -> Float[Tensor, " n"]:
        return statistic - (positives.average(positives.logit) - shift)
