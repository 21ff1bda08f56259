"""What a batch size or a number of negatives does to accuracy, compared seed by seed."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tammes.papers.ash.vision_settings import COUNTS
from tammes.papers.ash.vision_training import VisionRun, VisionScore
from tammes.papers.statistics import Interval

Pick = Callable[[VisionScore], float]
"""Which of the accuracies is looked at."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """The cells of one set of images and one kind of positives.

    Args:
        data: the set.
        positives: "real" or "augmented".
        results: of these cells.
    """

    data: str
    positives: str
    results: Mapping[VisionRun, VisionScore]

    @property
    def name(self) -> str:
        """What figures and tables call it."""
        return f"{self.data}, {self.positives} positives"

    @property
    def batch_sizes(self) -> Sequence[int]:
        """B, ascending."""
        return sorted({cell.batch_size for cell in self.results})

    @property
    def seeds(self) -> Sequence[int]:
        """The seeds, ascending."""
        return sorted({cell.seed for cell in self.results})

    def counts(self, batch_size: int) -> Sequence[int]:
        """K for a batch size, ascending."""
        return sorted({cell.k for cell in self.results if cell.batch_size == batch_size})

    def values(self, batch_size: int, k: int, pick: Pick) -> Sequence[float]:
        """The accuracy of each seed."""
        chosen = {
            cell.seed: pick(measured)
            for cell, measured in self.results.items()
            if (cell.batch_size, cell.k) == (batch_size, k)
        }
        return [chosen[seed] for seed in self.seeds]

    def matrix(self, pick: Pick) -> Float[np.ndarray, "r c"]:
        """The mean over seeds, batch sizes downwards and `COUNTS` across; NaN where k is above 2 (B - 1)."""
        matrix = np.full((len(self.batch_sizes), len(COUNTS)), np.nan)
        for row, batch_size in enumerate(self.batch_sizes):
            for k in self.counts(batch_size):
                matrix[row, COUNTS.index(k)] = statistics.fmean(self.values(batch_size, k, pick))
        return matrix

    def best(self, pick: Pick) -> tuple[int, int, float]:
        """B, k and the mean accuracy of the best cell."""
        matrix = self.matrix(pick)
        row, column = divmod(int(np.nanargmax(matrix)), len(COUNTS))
        return self.batch_sizes[row], COUNTS[column], float(matrix[row, column])

    def spread(self, pick: Pick) -> float:
        """The best mean accuracy less the worst."""
        matrix = self.matrix(pick)
        return float(np.nanmax(matrix) - np.nanmin(matrix))

    def by_batch_size(self, pick: Pick) -> Interval:
        """From the smallest batch to the largest, averaged over every k that both have."""
        smallest, largest = self.batch_sizes[0], self.batch_sizes[-1]
        if smallest == largest:
            return Interval(())
        steps = [
            np.subtract(self.values(largest, k, pick), self.values(smallest, k, pick))
            for k in self.counts(smallest)
        ]
        return Interval.of(np.mean(steps, axis=0).tolist())

    def by_count(self, pick: Pick, *, since: int = COUNTS[0]) -> Interval:
        """From k = `since` to all negatives of the batch, averaged over the batch sizes."""
        steps = [
            np.subtract(self.values(each, self.counts(each)[-1], pick), self.values(each, since, pick))
            for each in self.batch_sizes
        ]
        return Interval.of(np.mean(steps, axis=0).tolist())


def arms(results: Mapping[VisionRun, VisionScore]) -> tuple[Arm, ...]:
    """The results set by set, real positives before augmented ones."""
    names = dict.fromkeys((cell.data, cell.positives) for cell in results)
    return tuple(
        Arm(
            data=data,
            positives=positives,
            results={
                cell: each
                for cell, each in results.items()
                if (cell.data, cell.positives) == (data, positives)
            },
        )
        for data, positives in names
    )
