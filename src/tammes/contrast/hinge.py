"""The hinge contrast: a margin between the hardest negative and each positive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import is_finite
from tammes.contrast.contrast import Contrast, Shift
from tammes.reduce import Positives, WeightedNegatives
from tammes.reduce.positives import pair_similarity
from tammes.reduce.weighted import Sample


@dataclass(frozen=True, kw_only=True)
class Hinge(Contrast):
    """max(0, margin + max_j l_j - l+), averaged over the positives.

    Only the hardest negative counts, so there is nothing that a coupling could weigh.

    Args:
        margin: in logits.

    Raises:
        ValueError: a margin that is not positive.

    Source: Ash et al. (2022), Definition 1.

    Example:
        >>> Hinge()
        Hinge(margin=1.0)
    """

    margin: float = 1.0
    weighs: ClassVar[bool] = False
    debiasable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (is_finite(self.margin) and self.margin > 0):
            raise ValueError(f"margin must be a positive number, got {self.margin}")

    def number(self, sample: Sample, positives: Positives, shift: Shift) -> Tensor:
        """max_j l_j, raised by the shift; the gradient goes to the one negative that attains it."""
        assert isinstance(sample, WeightedNegatives)
        hardest = sample.hardest()
        negatives = sample.negatives
        rows = torch.arange(len(hardest), device=hardest.device)
        largest = pair_similarity(negatives.anchors, negatives.candidates, rows, hardest)
        return largest / sample.temperature + shift

    def least(self, logit: Shift) -> Shift:
        """The logit itself."""
        return logit

    def losses(
        self, number: Tensor, negatives: WeightedNegatives, positives: Positives, shift: Shift
    ) -> Float[Tensor, " n"]:
        """See `Contrast.losses`."""
        lowered = positives.logit - positives.of_anchor(shift)
        return positives.average(torch.relu(self.margin + positives.of_anchor(number) - lowered))
