"""The Jensen-Shannon contrast: softplus of the positives and of the negatives."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.contrast.contrast import Contrast, Shift
from tammes.reduce import Sample, WeightedNegatives, WeightedPositives
from tammes.reduce.terms import Softened, softplus


@dataclass(frozen=True, kw_only=True)
class Softplus(Contrast):
    """softplus(-l+), averaged over the positives, plus sum_j w_j softplus(l_j).

    Minus twice the Jensen-Shannon estimate of mutual information, up to a constant, with l as the
    discriminator T.

    Source: Robinson (2023), appendix A.2, after Sun et al. (2020).

    Example:
        >>> Softplus()
        Softplus()
    """

    @override
    def statistic(self, sample: Sample, positives: WeightedPositives, shift: Shift) -> Float[Tensor, " n"]:
        return sample.mean(Softened(), shift)

    @override
    def lower_bound(self, logit: Shift) -> Shift:
        # A plain number would become one of float32, with too few digits for embeddings in float64.
        return softplus(logit if isinstance(logit, Tensor) else torch.tensor(logit, dtype=torch.double))

    @override
    def losses(
        self,
        statistic: Float[Tensor, " n"],
        negatives: WeightedNegatives,
        positives: WeightedPositives,
        shift: Shift,
    ) -> Float[Tensor, " n"]:
        lowered = positives.logit - positives.of_anchor(shift)
        return positives.average(softplus(-lowered)) + statistic
