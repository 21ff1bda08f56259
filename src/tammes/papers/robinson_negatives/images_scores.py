"""Scores of the arms of the study of negatives on images, by arm and seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter

from tammes.estimate import Estimate
from tammes.papers.finding import Effect, effect_in_points
from tammes.papers.robinson_negatives.images_arms import UNTRAINED, ImageRun
from tammes.papers.robinson_negatives.images_training import ImageScore

Pick = Callable[[ImageScore], float]
PROBE, KNN = attrgetter("probe"), attrgetter("knn")
SEARCHED_NAME = "{}, searched"


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageArms:
    """Scores by arm and seed of one set of images.

    Args:
        data: name of the set.
        runs: run of each arm by its name, whatever its seed.
        results: scores of all runs.
        seeds: random seeds.
    """

    data: str
    runs: Mapping[str, ImageRun]
    results: Mapping[ImageRun, ImageScore]
    seeds: Sequence[int]

    def scores(self, arm: str) -> dict[int, ImageScore]:
        """Return the scores of an arm by seed; none for an arm that was not measured or does not exist."""
        if arm not in self.runs:
            return {}
        cells = {seed: replace(self.runs[arm], seed=seed) for seed in self.seeds}
        return {seed: self.results[cell] for seed, cell in cells.items() if cell in self.results}

    @property
    def names(self) -> list[str]:
        """Arms that were measured, in the order of the study."""
        return [arm for arm in self.runs if self.scores(arm)]

    def mean(self, arm: str, pick: Pick) -> Estimate:
        """Return the mean of a measurement over the seeds."""
        return Estimate.over_seeds([pick(score) for score in self.scores(arm).values()])

    def difference(self, more: str, less: str, pick: Pick = PROBE) -> Estimate | None:
        """Return by how much an arm is above another, seed by seed; None if one was not measured yet."""
        ours, theirs = self.scores(more), self.scores(less)
        return self.over_seeds(lambda seed: pick(ours[seed]) - pick(theirs[seed]), ours, theirs)

    def over_seeds(self, value: Callable[[int], float], *needed: Mapping[int, ImageScore]) -> Estimate | None:
        """Return the mean of a value over the seeds that all needed arms have; None if there is none."""
        common = [seed for seed in self.seeds if all(seed in scores for scores in needed)]
        return Estimate.over_seeds([value(seed) for seed in common]) if common else None

    def points(self, name: str, more: str, less: str, pick: Pick = PROBE) -> Effect:
        """Return a difference as an effect in percentage points."""
        return effect_in_points(name, self.difference(more, less, pick))

    def learned(self, *arms: str) -> tuple[Effect, ...]:
        """Return the gains of the readout over the untrained encoder, as controls."""
        return tuple(self.points(f"{arm} over untrained, in points", arm, UNTRAINED) for arm in arms)

    def sooner(self, more: str, less: str) -> Estimate | None:
        """Return the share of the epochs by which one arm reaches the other's last accuracy sooner.

        Where it never does, minus the share by which the other one is sooner: exchanging the arms changes the
        sign, so that two equal arms give zero on average.
        """
        ours, theirs = self.scores(more), self.scores(less)

        def saved(seed: int) -> float:
            one, other = ours[seed].over_epochs, theirs[seed].over_epochs
            if len(one) < 2:  # nothing was trained
                return 0.0
            if one[max(one)] >= other[max(other)]:
                return 1 - _reached(one, other[max(other)]) / max(other)
            return _reached(other, one[max(one)]) / max(one) - 1

        return self.over_seeds(saved, ours, theirs)


def _reached(curve: Mapping[int, float], accuracy: float) -> float:
    """Return the first epoch at which a curve, drawn with straight lines, has an accuracy that it reaches."""
    epochs = sorted(curve)
    if curve[epochs[0]] >= accuracy:
        return epochs[0]
    for before, after in pairwise(epochs):
        if curve[after] >= accuracy:
            part = (accuracy - curve[before]) / (curve[after] - curve[before])
            return before + part * (after - before)
    raise AssertionError("the last accuracy of a curve is reached")
