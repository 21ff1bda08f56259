"""How much a number changes from one setting to another, compared seed by seed."""

import statistics
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Change:
    """How much an accuracy changes, one number for each seed; none where there is nothing to compare.

    >>> change = Change(seeds=(0.01, 0.03))
    >>> str(change), change.rises, Change(seeds=()).rises
    ('+2.0 ± 1.4 points', True, False)
    """

    seeds: tuple[float, ...]

    @property
    def rises(self) -> bool:
        """Whether it is above zero for every seed."""
        return bool(self.seeds) and min(self.seeds) > 0

    @property
    def falls(self) -> bool:
        """Whether it is below zero for every seed."""
        return bool(self.seeds) and max(self.seeds) < 0

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return statistics.fmean(self.seeds)

    def __str__(self) -> str:
        if not self.seeds:
            return "nothing to compare"
        mean = f"{100 * self.mean:+.1f}".replace("-", "\N{MINUS SIGN}")
        if len(self.seeds) == 1:
            return f"{mean} points"
        return f"{mean} ± {100 * statistics.stdev(self.seeds):.1f} points"
