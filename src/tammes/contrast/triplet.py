"""The triplet contrast: a margin between each negative and each positive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_number
from tammes.contrast.contrast import Contrast, Shift
from tammes.reduce import Sample, WeightedNegatives, WeightedPositives
from tammes.reduce.terms import Rectified


@dataclass(frozen=True, kw_only=True)
class Triplet(Contrast):
    """sum_j w_j max(0, 2 (l_j - l+) + margin), averaged over the positives.

    At temperature 1 and for unit vectors 2 (s_j - s+) is the difference |x - x+|^2 - |x - x_j|^2.

    Args:
        margin: eta, in squared distance over temperature; positive.

    Raises:
        ValueError: a margin that is not positive.

    Source: Jiang et al. (2023), sec. IV.

    Example:
        >>> Triplet(margin=0.5)
        Triplet(margin=0.5)
    """

    margin: float
    debiasable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_number("margin", self.margin, above=0)

    @override
    def statistic(self, sample: Sample, positives: WeightedPositives, shift: Shift) -> Float[Tensor, " e"]:
        assert isinstance(sample, WeightedNegatives)
        # Each positive compares the negatives with its own threshold, so the statistic is one of pairs.
        term = Rectified(gain=2.0, margin=self.margin)
        # Negatives rise by the shift and the positive falls by it: the threshold is two shifts lower.
        threshold = positives.in_columns(positives.logit - 2 * positives.of_anchor(shift))
        return positives.from_columns(sample.mean_beyond(term, threshold))

    @override
    def lower_bound(self, logit: Shift) -> Shift:
        return 0.0

    @override
    def losses(
        self,
        statistic: Float[Tensor, " e"],
        negatives: WeightedNegatives,
        positives: WeightedPositives,
        shift: Shift,
    ) -> Float[Tensor, " n"]:
        return positives.average(statistic)
