"""An accuracy and how uncertain it is."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CLEAR = 2.0
"""Standard errors by which two accuracies must differ before the page calls the difference clear."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number with its standard error.

    >>> high, low = Estimate(value=0.9, error=0.01), Estimate(value=0.85, error=0.01)
    >>> high.clearly_above(low), low.clearly_above(high)
    (True, False)
    """

    value: float
    error: float

    def error_of_difference(self, other: "Estimate") -> float:
        """Standard error of the difference, as if the two had been measured on different test images.

        They were measured on the same, so the true error is smaller as a rule: this errs on the careful side.
        """
        return math.hypot(self.error, other.error)

    def clearly_above(self, other: "Estimate") -> bool:
        """Whether this is greater by more than twice the standard error of the difference."""
        return self.value - other.value > CLEAR * self.error_of_difference(other)


def estimate(accuracy: float, test_size: int, seeds: Sequence[float] = ()) -> Estimate:
    """An accuracy with the error from the finite test set and, with several seeds, from these.

        error^2  =  p (1 - p) / n  +  s^2 / k

    with p a little inward, so that it is never zero, and s the standard deviation over k seeds. One seed
    says nothing of s, and the second term is left out.

    Args:
        accuracy: fraction p of n test images, a mean over the seeds if there are several.
        test_size: n.
        seeds: the accuracy of each seed, where there are several.

    >>> round(estimate(0.9, 400).error, 4)
    0.0151
    >>> round(estimate(0.9, 400, [0.8, 1.0]).error, 4)
    0.1011
    """
    inward = (accuracy * test_size + 1) / (test_size + 2)
    variance = inward * (1 - inward) / test_size
    if len(seeds) > 1:
        variance += statistics.variance(seeds) / len(seeds)
    return Estimate(value=accuracy, error=math.sqrt(variance))
