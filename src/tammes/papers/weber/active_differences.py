"""By how much positives differ from random ones, seed by seed, and whether that is more than chance."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tammes.papers.statistics import Interval
from tammes.papers.weber.active_training import ActiveRun, ActiveScore

Pick = Callable[[ActiveScore], float]

RANDOM = "random"


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
    results: Mapping[int, ActiveScore]
    beside: Mapping[int, ActiveScore]

    @property
    def is_active(self) -> bool:
        """Whether a step takes longer than one with random positives."""
        return self.positives.startswith("active")

    @property
    def seeds(self) -> tuple[int, ...]:
        """Those that both have."""
        return tuple(seed for seed in self.results if seed in self.beside)

    def at_equal_updates(self, pick: Pick) -> Interval:
        """Over random positives with as many updates.

        Args:
            pick: what is compared.
        """
        return self._difference(pick, pick)

    def at_equal_time(self, pick: Pick, pick_late: Pick) -> Interval:
        """Over random positives that were trained for longer.

        Args:
            pick: what is compared.
            pick_late: the same of random positives after the longer training.
        """
        return self._difference(pick, pick_late)

    def _difference(self, pick: Pick, other: Pick) -> Interval:
        return Interval.of([pick(self.results[s]) - other(self.beside[s]) for s in self.seeds])


def arms_of(results: Mapping[ActiveRun, ActiveScore]) -> tuple[Arm, ...]:
    """All arms but the random one, set by set, where there is a seed that both have."""
    found: dict[tuple[str, str], dict[int, ActiveScore]] = {}
    for cell, measured in results.items():
        found.setdefault((cell.data, cell.positives), {})[cell.seed] = measured
    arms = [
        Arm(data=data, positives=positives, results=seeds, beside=found.get((data, RANDOM), {}))
        for (data, positives), seeds in found.items()
        if positives != RANDOM
    ]
    return tuple(arm for arm in arms if arm.seeds)


def together(differences: Sequence[Interval]) -> Interval:
    """Return the interval of several sets as one: each seed of each set is a draw.

    Example:
        >>> together([Interval((0.01, 0.03)), Interval((0.02,))]).points
        '+2.0 ± 2.5 points'
    """
    return Interval.of([value for each in differences for value in each.values])


def by_set(arms: Sequence[Arm]) -> dict[str, list[Arm]]:
    """The arms of each set, in their order."""
    sets: dict[str, list[Arm]] = {}
    for arm in arms:
        sets.setdefault(arm.data, []).append(arm)
    return sets
