"""The basic contrastive loss: a difference of mean logits."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from tammes.contrast.contrast import Contrast, Shift
from tammes.reduce import Positives, WeightedNegatives
from tammes.reduce.terms import Linear
from tammes.reduce.weighted import Sample


@dataclass(frozen=True, kw_only=True)
class BCL(Contrast):
    """sum_j w_j l_j - l+, averaged over the positives.

    In logits; at temperature 1 they are the paper's similarities.

    Source: Jiang et al. (2023), eq. 9.

    Example:
        >>> BCL()
        BCL()
    """

    def number(self, sample: Sample, positives: Positives, shift: Shift) -> Tensor:
        """sum_j w_j l_j, raised by the shift."""
        return sample.mean(Linear()) + shift

    def least(self, logit: Shift) -> Shift:
        """The logit itself."""
        return logit

    def losses(
        self, number: Tensor, negatives: WeightedNegatives, positives: Positives, shift: Shift
    ) -> Float[Tensor, " n"]:
        """See `Contrast.losses`."""
        return number - (positives.average(positives.logit) - shift)
