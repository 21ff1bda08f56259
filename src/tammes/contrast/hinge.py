"""The hinge contrast: a margin between the hardest negative and each positive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_number
from tammes.contrast.contrast import Contrast, Shift
from tammes.reduce import Sample, WeightedNegatives, WeightedPositives
from tammes.reduce.positives import pair_similarity


@dataclass(frozen=True, kw_only=True)
class Hinge(Contrast):
    """max(0, margin + max_j l_j - l+), averaged over the positives.

    Only the hardest negative counts, so weights of the negatives would have no effect.

    Args:
        margin: margin in logits; positive.

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
        check_number("margin", self.margin, above=0)

    @override
    def statistic(self, sample: Sample, positives: WeightedPositives, shift: Shift) -> Float[Tensor, " n"]:
        assert isinstance(sample, WeightedNegatives)
        # The gradient of max_j l_j goes to the one negative that attains it.
        hardest, negatives = sample.hardest(), sample.negatives
        rows = torch.arange(len(hardest), device=hardest.device)
        largest = pair_similarity(negatives.anchors, negatives.candidates, rows, hardest)
        return largest / sample.temperature + shift

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
        lowered = positives.logit - positives.of_anchor(shift)
        return positives.average(torch.relu(self.margin + positives.of_anchor(statistic) - lowered))
