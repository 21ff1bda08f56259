"""Scores of a study by set of images, arm and seed, and their differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from tammes.estimate import Estimate
from tammes.papers.finding import Effect, effect_in_points

UNTRAINED = "untrained"
"""Arm of the network with its first weights, the control of every study of encoders."""


class ArmRun(Protocol):
    """Training of one encoder, as far as scores are sorted by it."""

    @property
    def data(self) -> str:
        """Name of the set of images."""

    @property
    def arm(self) -> str:
        """Method with its settings, without the seed."""

    @property
    def seed(self) -> int:
        """Random seed, which the arms share."""


Run = TypeVar("Run", bound=ArmRun)
Score = TypeVar("Score")


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmScores(Generic[Run, Score]):
    """Scores of one set of images, by arm and seed.

    Args:
        data: name of the set.
        runs: run of each arm with its first seed.
        scores: scores by arm, then by seed, in the order of the study.
    """

    data: str
    runs: Mapping[str, Run]
    scores: Mapping[str, Mapping[int, Score]]

    @staticmethod
    def by_set(results: Mapping[Run, Score]) -> dict[str, ArmScores[Run, Score]]:
        """Return the scores of each set, by its name."""
        found: dict[str, dict[str, dict[int, Score]]] = {}
        runs: dict[str, dict[str, Run]] = {}
        for run, score in results.items():
            found.setdefault(run.data, {}).setdefault(run.arm, {})[run.seed] = score
            runs.setdefault(run.data, {}).setdefault(run.arm, run)
        return {data: ArmScores(data=data, runs=runs[data], scores=scores) for data, scores in found.items()}

    @property
    def names(self) -> list[str]:
        """Arms that were measured, in the order of the study."""
        return list(self.scores)

    def mean(self, arm: str, pick: Callable[[Score], float]) -> Estimate:
        """Return the mean of a measurement of an arm over its seeds."""
        return Estimate.over_seeds([pick(score) for score in self.scores[arm].values()])

    def difference(self, more: str, less: str, pick: Callable[[Score], float]) -> Estimate | None:
        """Return by how much one arm is above another, seed by seed; None if one was not measured yet."""
        ours, theirs = self.scores.get(more, {}), self.scores.get(less, {})
        seeds = [seed for seed in ours if seed in theirs]
        if not seeds:
            return None
        return Estimate.of_difference(
            [pick(ours[seed]) for seed in seeds], [pick(theirs[seed]) for seed in seeds]
        )

    def ratio(self, more: str, less: str, pick: Callable[[Score], float]) -> Estimate | None:
        """Return how many times one arm is another, seed by seed; None if that is not known for any seed."""
        ours, theirs = self.scores.get(more, {}), self.scores.get(less, {})
        ratios = [
            pick(ours[seed]) / pick(theirs[seed]) for seed in ours if seed in theirs and pick(theirs[seed])
        ]
        return Estimate.over_seeds(ratios) if ratios else None

    def points(self, name: str, more: str, less: str, pick: Callable[[Score], float]) -> Effect:
        """Return a difference of accuracies as an effect in percentage points."""
        return effect_in_points(name, self.difference(more, less, pick))

    def learned(self, pick: Callable[[Score], float], *arms: str) -> tuple[Effect, ...]:
        """Return the gains over the untrained encoder, as controls of a finding."""
        return tuple(self.points(f"{arm} over untrained, in points", arm, UNTRAINED, pick) for arm in arms)
