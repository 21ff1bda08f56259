"""Means over seeds, and how sure they are."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A mean over seeds with its standard error and its 95 % interval by Student's t.

    Args:
        mean: over the seeds.
        error: standard error of the mean; 0 for one seed.
        half: half the width of the interval; infinite for one seed.

    Example:
        >>> interval = Interval.of([0.1, 0.2, 0.3])
        >>> f"{interval.mean:.2f} ± {interval.error:.3f}", interval.above_zero
        ('0.20 ± 0.058', False)
    """

    mean: float
    error: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """The interval of one value for each seed."""
        mean, n = statistics.fmean(values), len(values)
        if n == 1:
            return cls(mean=mean, error=0.0, half=float("inf"))
        error = statistics.stdev(values) / n**0.5
        return cls(mean=mean, error=error, half=float(stats.t.ppf(0.975, n - 1)) * error)

    @classmethod
    def of_difference(cls, more: Sequence[float], less: Sequence[float]) -> Interval:
        """The interval of the differences, seed by seed."""
        return cls.of([a - b for a, b in zip(more, less, strict=True)])

    @property
    def above_zero(self) -> bool:
        """Whether the whole interval is."""
        return self.mean - self.half > 0

    @property
    def below_zero(self) -> bool:
        """Whether the whole interval is."""
        return self.mean + self.half < 0

    def __str__(self) -> str:
        sign = "\N{MINUS SIGN}" if self.mean < 0 else "+"
        return f"{sign}{abs(self.mean):.3f} ± {self.half:.3f}"
