"""By how much positives differ from random ones, seed by seed, and whether that is more than chance."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tammes.papers.interval import Interval
from tammes.papers.weber.active_training import Cell, Measured

Pick = Callable[[Measured], float]

RANDOM = "random"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What an arm has over random positives with the same seeds, and its 95 % interval by Student's t.

    Args:
        seeds: the differences, one for each seed.

    Example:
        >>> difference = Difference(seeds=(0.01, 0.02, 0.03))
        >>> str(difference), difference.is_clear
        ('+2.0 ± 2.5 points', False)
    """

    seeds: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return statistics.fmean(self.seeds)

    @property
    def half_width(self) -> float:
        """Of the interval; infinite for a single seed."""
        return Interval.of(self.seeds).half

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves zero out."""
        return abs(self.mean) > self.half_width

    def __str__(self) -> str:
        mean = f"{100 * self.mean:+.1f}".replace("-", "\N{MINUS SIGN}")
        if len(self.seeds) < 2:
            return f"{mean} points, one seed"
        return f"{mean} ± {100 * self.half_width:.1f} points"


@dataclass(frozen=True, kw_only=True, eq=False)
class Arm:
    """One kind of positives on one set, beside random ones.

    Args:
        data: the set.
        positives: the name of the arm.
        results: of the arm, by seed.
        beside: of random positives, by seed.
    """

    data: str
    positives: str
    results: Mapping[int, Measured]
    beside: Mapping[int, Measured]

    @property
    def is_active(self) -> bool:
        """Whether a step takes longer than one with random positives."""
        return self.positives.startswith("active")

    @property
    def seeds(self) -> tuple[int, ...]:
        """Those that both have."""
        return tuple(seed for seed in self.results if seed in self.beside)

    def at_equal_updates(self, pick: Pick) -> Difference:
        """Over random positives with as many updates.

        Args:
            pick: what is compared.
        """
        return self._difference(pick, pick)

    def at_equal_time(self, pick: Pick, pick_late: Pick) -> Difference:
        """Over random positives that were trained for longer.

        Args:
            pick: what is compared.
            pick_late: the same of random positives after the longer training.
        """
        return self._difference(pick, pick_late)

    def _difference(self, pick: Pick, other: Pick) -> Difference:
        return Difference(seeds=tuple(pick(self.results[s]) - other(self.beside[s]) for s in self.seeds))


def arms_of(results: Mapping[Cell, Measured]) -> tuple[Arm, ...]:
    """All arms but the random one, set by set, where there is a seed that both have."""
    found: dict[tuple[str, str], dict[int, Measured]] = {}
    for cell, measured in results.items():
        found.setdefault((cell.data, cell.positives), {})[cell.seed] = measured
    arms = [
        Arm(data=data, positives=positives, results=seeds, beside=found.get((data, RANDOM), {}))
        for (data, positives), seeds in found.items()
        if positives != RANDOM
    ]
    return tuple(arm for arm in arms if arm.seeds)


def together(differences: Sequence[Difference]) -> Difference:
    """Of several sets as one, each seed of each set a draw.

    >>> str(together([Difference(seeds=(0.01, 0.03)), Difference(seeds=(0.02,))]))
    '+2.0 ± 2.5 points'
    """
    return Difference(seeds=tuple(seed for each in differences for seed in each.seeds))


def by_set(arms: Sequence[Arm]) -> dict[str, list[Arm]]:
    """The arms of each set, in their order."""
    sets: dict[str, list[Arm]] = {}
    for arm in arms:
        sets.setdefault(arm.data, []).append(arm)
    return sets
