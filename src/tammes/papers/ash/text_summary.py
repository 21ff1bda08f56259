"""The results of the study as arrays: accuracy over N, B and k, seed by seed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from tammes.papers.ash.text_plan import Plan
from tammes.papers.ash.text_training import TextRun, TextScore

Pick = Callable[[TextScore], float]
"""Which of the accuracies is looked at."""


def mean(scores: TextScore) -> float:
    """Accuracy of the mean classifier."""
    return scores.mean


def linear(scores: TextScore) -> float:
    """Accuracy of the trained linear classifier."""
    return scores.linear


def mean_early(scores: TextScore) -> float:
    """Accuracy of the mean classifier after as many steps as the largest batch takes."""
    return scores.mean_early


def linear_early(scores: TextScore) -> float:
    """Accuracy of the trained linear classifier, likewise."""
    return scores.linear_early


@dataclass(frozen=True, kw_only=True, eq=False)
class Summary:
    """What was measured.

    Args:
        corpus: what the corpus is called.
        plan: what was to be measured, within the corpus.
        results: all of it, the same cells for each seed.
    """

    corpus: str
    plan: Plan
    results: Mapping[TextRun, TextScore]

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, ascending."""
        return tuple(sorted({cell.seed for cell in self.results}))

    @cached_property
    def _by_setting(self) -> dict[tuple[int, int, int, bool, int], TextScore]:
        return {
            (cell.classes, cell.batch, cell.negatives, cell.collisions, cell.seed): scores
            for cell, scores in self.results.items()
        }

    def values(
        self, pick: Pick, *, classes: int, batch: int, negatives: int, collisions: bool = True
    ) -> Float[np.ndarray, " seeds"]:
        """One accuracy, (seeds,); NaN where it was not measured, or no step was taken."""
        found = [self._by_setting.get((classes, batch, negatives, collisions, seed)) for seed in self.seeds]
        return np.array([np.nan if each is None or each.steps == 0 else pick(each) for each in found])

    def over_counts(
        self, pick: Pick, classes: int, *, collisions: bool = True
    ) -> Float[np.ndarray, "seeds counts"]:
        """Accuracy over k at the fixed batch, (seeds, k) for the k of `plan.counts(plan.batch)`."""
        counts = self.plan.counts(self.plan.batch)
        return np.stack(
            [
                self.values(pick, classes=classes, batch=self.plan.batch, negatives=k, collisions=collisions)
                for k in counts
            ],
            axis=1,
        )

    def over_classes(self, pick: Pick) -> Float[np.ndarray, "classes counts"]:
        """Accuracy over N and k at the fixed batch, the mean over the seeds."""
        return np.stack([self.over_counts(pick, n).mean(axis=0) for n in self.plan.classes])

    @property
    def batches(self) -> tuple[int, ...]:
        """B, ascending, where it varies."""
        return tuple(sorted({self.plan.batch, *self.plan.batches}))

    def over_batches(self, pick: Pick, classes: int) -> Float[np.ndarray, "seeds batches columns"]:
        """Accuracy over B and k at fixed N, (seeds, B, k) for the k of `plan.columns`."""
        rows = [
            [self.values(pick, classes=classes, batch=batch, negatives=k) for k in self.plan.columns]
            for batch in self.batches
        ]
        return np.moveaxis(np.array(rows), -1, 0)  # (B, k, seeds) -> (seeds, B, k)

    @property
    def skipped(self) -> dict[TextRun, TextScore]:
        """Cells with batches that had no update, for want of true negatives."""
        return {cell: scores for cell, scores in self.results.items() if scores.skipped}
