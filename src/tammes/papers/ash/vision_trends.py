"""Accuracy over batch size and number of negatives, compared seed by seed and drawn as in Fig. 4 and 8."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tammes.estimate import Estimate
from tammes.papers.ash.accuracies import (
    Pick,
    batches_heat,
    best_place,
    by_batch_size,
    draw_over_counts,
    in_points,
    over_seeds,
)
from tammes.papers.ash.heat_map import HeatMap, draw_heat_map, heat_map
from tammes.papers.ash.optimum import best_of_others
from tammes.papers.ash.vision_training import COUNTS, VisionRun, VisionScore
from tammes.papers.finding import Effect
from tammes.papers.page import panel
from tammes.papers.study import grouped
from tammes.report.figures.canvas import TEXT, canvas, quiet
from tammes.report.figures.curves import label_ends
from tammes.report.markup import Panel
from tammes.report.palette import objective_color


@dataclass(frozen=True, kw_only=True)
class VisionArm:
    """Scores on one set of images with one kind of positives.

    Args:
        data: name of the set.
        positives: kind of positives, "real" or "augmented".
        results: scores of its runs.
        controls: scores of the untrained networks.
    """

    data: str
    positives: str
    results: Mapping[VisionRun, VisionScore]
    controls: Mapping[VisionRun, VisionScore]

    @property
    def name(self) -> str:
        """Name in figures and tables."""
        return f"{self.data}, {self.positives} positives"

    @property
    def batch_sizes(self) -> Sequence[int]:
        """B, ascending."""
        return sorted({run.batch_size for run in self.results})

    @property
    def seeds(self) -> Sequence[int]:
        """Random seeds, ascending."""
        return sorted({run.seed for run in self.results})

    def counts(self, batch_size: int) -> Sequence[int]:
        """Return the numbers of negatives k measured at a batch size, ascending."""
        return sorted({run.k for run in self.results if run.batch_size == batch_size})

    def values(self, pick: Pick) -> Float[np.ndarray, "seeds batches counts"]:
        """Return the accuracies over the batch sizes and `COUNTS`; NaN where k is above 2 (B - 1)."""
        seeds, batch_sizes = self.seeds, self.batch_sizes
        values = np.full((len(seeds), len(batch_sizes), len(COUNTS)), np.nan)
        for run, score in self.results.items():
            place = seeds.index(run.seed), batch_sizes.index(run.batch_size), COUNTS.index(run.k)
            values[place] = pick(score)
        return values

    def matrix(self, pick: Pick) -> Float[np.ndarray, "batches counts"]:
        """Return the means of `values` over the seeds."""
        return self.values(pick).mean(axis=0)

    def untrained(self, pick: Pick) -> Float[np.ndarray, "seeds batches"]:
        """Return the accuracies of the untrained networks, whose batches are of each size."""
        scores = {(run.seed, run.batch_size): pick(score) for run, score in self.controls.items()}
        return np.array([[scores[seed, size] for size in self.batch_sizes] for seed in self.seeds])

    def learned(self, pick: Pick) -> Effect:
        """Return the difference from the untrained networks, averaged over all settings."""
        difference = over_seeds(self.values(pick) - self.untrained(pick)[..., None])
        return in_points(f"{self.name}, above the untrained network", difference)

    def best(self, pick: Pick) -> tuple[int, int, Estimate]:
        """Return B, k and the accuracy of the best setting."""
        values = self.values(pick)
        row, column = best_place(values.mean(axis=0))
        return self.batch_sizes[row], COUNTS[column], Estimate.over_seeds(values[:, row, column].tolist())

    def best_of_others(self, pick: Pick) -> Float[np.ndarray, " seeds"]:
        """Return the accuracy of each seed at the setting that is best for the other seeds."""
        return best_of_others(self.values(pick).reshape(len(self.seeds), -1))

    def from_the_middle(self, pick: Pick) -> list[tuple[int, int, Estimate]]:
        """Return B, k and the accuracy minus the mean over all settings, for each setting."""
        values = self.values(pick)
        values -= np.nanmean(values, axis=(1, 2), keepdims=True)
        return [
            (batch_size, k, Estimate.over_seeds(values[:, row, column].tolist()))
            for row, batch_size in enumerate(self.batch_sizes)
            for column, k in enumerate(self.counts(batch_size))
        ]

    def by_batch_size(self, pick: Pick) -> Estimate | None:
        """Return the change from the smallest batch to the largest, averaged over every k that both have."""
        return by_batch_size(self.values(pick))

    def by_count(self, pick: Pick, *, since: int = COUNTS[0]) -> Estimate:
        """Return the change from k = `since` to all negatives of the batch, averaged over batch sizes."""
        values = self.values(pick)
        last = [COUNTS.index(self.counts(batch_size)[-1]) for batch_size in self.batch_sizes]
        changes = values[:, range(len(last)), last] - values[:, :, COUNTS.index(since)]
        return Estimate.over_seeds(changes.mean(axis=1).tolist())


def arms(results: Mapping[VisionRun, VisionScore]) -> tuple[VisionArm, ...]:
    """Return the results set by set, real positives before augmented ones."""
    groups = grouped(results, "data", "positives")
    return tuple(
        VisionArm(
            data=data,
            positives=positives,
            results={run: score for run, score in group.items() if run.epochs},
            controls={run: score for run, score in group.items() if not run.epochs},
        )
        for (data, positives), group in groups.items()
    )


def overview(arms: Sequence[VisionArm], picks: Mapping[str, Pick]) -> Figure:
    """Draw a heat map for each arm, side by side as in Fig. 4, and a row of them for each accuracy."""
    figure = Figure(figsize=(3.1 * len(arms), 2.3 * len(picks)), layout="constrained")
    grid = figure.subplots(len(picks), len(arms), squeeze=False)
    for row, (words, pick) in zip(grid, picks.items(), strict=True):
        for axes, arm in zip(row, arms, strict=True):
            quiet(axes)
            draw_heat_map(axes, _heat(arm, pick))
            axes.set_title(f"{arm.name}\n{words}", fontsize=TEXT)
    return figure


def heat_panels(arms: Sequence[VisionArm], pick: Pick, *, words: str) -> tuple[Panel, ...]:
    """Return a heat map for each arm; `words` name the accuracy."""
    panels = []
    for arm in arms:
        batch_size, k, best = arm.best(pick)
        caption = f"best {best.percent} % at B = {batch_size}, k = {k}"
        drawing = heat_map(_heat(arm, pick))
        panels.append(panel(drawing, f"{arm.name}, {words}: {caption}.", name=arm.name, caption=caption))
    return tuple(panels)


def line_panels(arms: Sequence[VisionArm], pick: Pick, *, words: str) -> tuple[Panel, ...]:
    """Return the accuracy over k for each arm, a line for each B; bars are 95 % intervals."""
    panels = []
    for arm in arms:
        figure, axes = canvas(width=3.4, height=2.5)
        draw_lines(axes, arm, pick)
        description = f"{arm.name}, {words}: accuracy over the number of negatives, a line a batch size."
        panels.append(panel(figure, description, name=arm.name))
    return tuple(panels)


def draw_lines(axes: Axes, arm: VisionArm, pick: Pick) -> None:
    """Draw the lines of `line_panels`."""
    values = arm.values(pick)
    ends = {
        f"B = {batch_size}": draw_over_counts(axes, COUNTS, values[:, index], index=index)[-1]
        for index, batch_size in enumerate(arm.batch_sizes)
    }
    axes.set_ylabel("accuracy (%)")
    label_ends(axes, ends, [objective_color(index) for index in range(len(ends))], line=0.09)


def _heat(arm: VisionArm, pick: Pick) -> HeatMap:
    return batches_heat(arm.matrix(pick), arm.batch_sizes, COUNTS)
