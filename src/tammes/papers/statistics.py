"""Means over seeds, with their intervals."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats


@dataclass(frozen=True)
class Interval:
    """Mean over seeds with its 95 % confidence interval (Student's t).

    Args:
        values: one value for each seed, or, for a comparison, one difference for each seed.

    Example:
        >>> interval = Interval((0.01, 0.02, 0.03))
        >>> print(interval)
        +0.020 ± 0.025
        >>> interval.above_zero, interval.rises, interval.points
        (False, True, '+2.0 ± 2.5 points')
    """

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """Return the interval of one value for each seed."""
        return cls(tuple(values))

    @classmethod
    def of_difference(cls, more: Sequence[float], less: Sequence[float]) -> Interval:
        """Return the interval of the differences `more - less`, seed by seed."""
        return cls(tuple(a - b for a, b in zip(more, less, strict=True)))

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return statistics.fmean(self.values)

    @property
    def deviation(self) -> float:
        """Standard deviation over the seeds; 0 for one seed."""
        return statistics.stdev(self.values) if len(self.values) > 1 else 0.0

    @property
    def error(self) -> float:
        """Standard error of the mean; 0 for one seed."""
        return self.deviation / len(self.values) ** 0.5

    @property
    def half(self) -> float:
        """Half the width of the interval; infinite for one seed."""
        n = len(self.values)
        return float(stats.t.ppf(0.975, n - 1)) * self.error if n > 1 else float("inf")

    @property
    def above_zero(self) -> bool:
        """Whether the whole interval lies above zero."""
        return self.mean - self.half > 0

    @property
    def below_zero(self) -> bool:
        """Whether the whole interval lies below zero."""
        return self.mean + self.half < 0

    @property
    def rises(self) -> bool:
        """Whether the difference is above zero for every seed; false without seeds."""
        return bool(self.values) and min(self.values) > 0

    @property
    def falls(self) -> bool:
        """Whether the difference is below zero for every seed; false without seeds."""
        return bool(self.values) and max(self.values) < 0

    def __str__(self) -> str:
        return f"{_signed(self.mean, 3)} ± {self.half:.3f}"

    @property
    def points(self) -> str:
        """Difference of accuracies in percentage points, with its 95 % interval."""
        if len(self.values) == 1:
            return f"{_signed(100 * self.mean, 1)} points, one seed"
        return f"{_signed(100 * self.mean, 1)} ± {100 * self.half:.1f} points"

    @property
    def change(self) -> str:
        """Difference of accuracies in percentage points, with its standard deviation over the seeds.

        Example:
            >>> Interval((0.01, 0.03)).change, Interval((-0.01,)).change, Interval(()).change
            ('+2.0 ± 1.4 points', '−1.0 points', 'nothing to compare')
        """
        if not self.values:
            return "nothing to compare"
        spread = f" ± {100 * self.deviation:.1f}" if len(self.values) > 1 else ""
        return f"{_signed(100 * self.mean, 1)}{spread} points"

    @property
    def percent(self) -> str:
        """Mean in percent, with the standard deviation if there are several seeds.

        Example:
            >>> Interval((0.5, 0.52)).percent, Interval((0.5,)).percent
            ('51.0 ± 1.4', '50.0')
        """
        mean = f"{100 * self.mean:.1f}"
        return mean if len(self.values) == 1 else f"{mean} ± {100 * self.deviation:.1f}"

    @property
    def with_error(self) -> str:
        """Mean with its standard error.

        Example:
            >>> Interval((0.1, 0.2, 0.3)).with_error
            '0.200 ± 0.058'
        """
        return f"{self.mean:.3f} ± {self.error:.3f}"


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}")
