"""The Jensen-Shannon contrast: softplus on either side."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from tammes.contrast.contrast import Contrast, Shift
from tammes.reduce import Positives, WeightedNegatives
from tammes.reduce.terms import Softened
from tammes.reduce.weighted import Sample


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

    def number(self, sample: Sample, positives: Positives, shift: Shift) -> Tensor:
        """sum_j w_j softplus(l_j + shift)."""
        return sample.mean(Softened(), shift)

    def least(self, logit: Shift) -> Shift:
        """softplus(logit)."""
        return functional.softplus(torch.as_tensor(logit))

    def losses(
        self, number: Tensor, negatives: WeightedNegatives, positives: Positives, shift: Shift
    ) -> Float[Tensor, " n"]:
        """See `Contrast.losses`."""
        lowered = positives.logit - positives.of_anchor(shift)
        return positives.average(functional.softplus(-lowered)) + number
