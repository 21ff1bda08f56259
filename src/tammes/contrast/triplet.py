"""The triplet contrast: a margin between each negative and each positive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from tammes.checks import is_finite
from tammes.contrast.contrast import Contrast, Shift
from tammes.reduce import Positives, WeightedNegatives
from tammes.reduce.terms import Rectified
from tammes.reduce.weighted import Sample


@dataclass(frozen=True, kw_only=True)
class Triplet(Contrast):
    """sum_j w_j max(0, 2 (l_j - l+) + margin), averaged over the positives.

    At temperature 1 and for unit vectors 2 (s_j - s+) is the difference |x - x+|^2 - |x - x_j|^2.

    Args:
        margin: eta, in squared distance over temperature.

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
        if not (is_finite(self.margin) and self.margin > 0):
            raise ValueError(f"margin must be a positive number, got {self.margin}")

    def number(self, sample: Sample, positives: Positives, shift: Shift) -> Tensor:
        """The loss of each positive pair, `(e,)`: here each positive sees the negatives in its own way."""
        assert isinstance(sample, WeightedNegatives)
        term = Rectified(gain=2.0, margin=self.margin)
        # Negatives rise by the shift and the positive falls by it: the threshold is two shifts lower.
        threshold = positives.in_columns(positives.logit - 2 * positives.of_anchor(shift))
        return positives.from_columns(sample.mean_beyond(term, threshold))

    def least(self, logit: Shift) -> Shift:
        """Nothing is less than no loss at all."""
        return 0.0

    def losses(
        self, number: Tensor, negatives: WeightedNegatives, positives: Positives, shift: Shift
    ) -> Float[Tensor, " n"]:
        """See `Contrast.losses`."""
        return positives.average(number)
