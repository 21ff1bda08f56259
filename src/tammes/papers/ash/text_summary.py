"""Results of the text study as arrays: accuracy over N, B and k, seed by seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from tammes.papers.ash.accuracies import Pick
from tammes.papers.ash.text_plan import Plan
from tammes.papers.ash.text_training import TextRun, TextScore


@dataclass(frozen=True, kw_only=True, eq=False)
class Summary:
    """Results of a plan.

    Args:
        corpus: name of the corpus.
        plan: settings that were measured, within the corpus.
        results: scores of all runs, the same settings for each seed.
    """

    corpus: str
    plan: Plan
    results: Mapping[TextRun, TextScore]

    @property
    def counts(self) -> tuple[int, ...]:
        """Values of k at the fixed batch, ascending."""
        return self.plan.counts(self.plan.batch)

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """Random seeds, ascending."""
        return tuple(sorted({cell.seed for cell in self.results}))

    @cached_property
    def _by_setting(self) -> dict[tuple[int, int, int, bool, int], TextScore]:
        return {
            (cell.classes, cell.batch, cell.negatives, cell.collisions, cell.seed): scores
            for cell, scores in self.results.items()
            if cell.epochs
        }

    def untrained(self, pick: Pick, classes: int) -> Float[np.ndarray, " seeds"]:
        """Return one accuracy of the untrained encoders, (seeds,)."""
        found = {
            cell.seed: pick(scores)
            for cell, scores in self.results.items()
            if cell.classes == classes and not cell.epochs
        }
        return np.array([found[seed] for seed in self.seeds])

    def values(
        self, pick: Pick, *, classes: int, batch: int, negatives: int, collisions: bool = True
    ) -> Float[np.ndarray, " seeds"]:
        """Return one accuracy, (seeds,); NaN if it was not measured, or no step was taken."""
        found = [self._by_setting.get((classes, batch, negatives, collisions, seed)) for seed in self.seeds]
        return np.array([np.nan if each is None or each.steps == 0 else pick(each) for each in found])

    def over_counts(
        self, pick: Pick, classes: int, *, collisions: bool = True
    ) -> Float[np.ndarray, "seeds counts"]:
        """Return the accuracy at the fixed batch over the k of `counts`, (seeds, k)."""
        return np.stack(
            [
                self.values(pick, classes=classes, batch=self.plan.batch, negatives=k, collisions=collisions)
                for k in self.counts
            ],
            axis=1,
        )

    def over_classes(self, pick: Pick) -> Float[np.ndarray, "classes counts"]:
        """Return the mean accuracy over the seeds at the fixed batch, (N, k)."""
        return np.stack([self.over_counts(pick, n).mean(axis=0) for n in self.plan.classes])

    @property
    def batches(self) -> tuple[int, ...]:
        """Batch sizes B, ascending."""
        return tuple(sorted({self.plan.batch, *self.plan.batches}))

    def over_batches(self, pick: Pick, classes: int) -> Float[np.ndarray, "seeds batches columns"]:
        """Return the accuracy at a fixed N over B and the k of `plan.columns`, (seeds, B, k)."""
        rows = [
            [self.values(pick, classes=classes, batch=batch, negatives=k) for k in self.plan.columns]
            for batch in self.batches
        ]
        return np.moveaxis(np.array(rows), -1, 0)  # (B, k, seeds) -> (seeds, B, k)

    @property
    def skipped(self) -> dict[TextRun, TextScore]:
        """Scores of runs with batches that had no update, because true negatives were missing."""
        return {cell: scores for cell, scores in self.results.items() if scores.skipped}
