"""Accuracy over batch size and number of negatives, compared seed by seed and drawn as in Fig. 4 and 8."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import fmean

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tammes.papers.ash.heat_map import HeatMap, by_best, draw_heat_map, heat_map
from tammes.papers.ash.vision_training import COUNTS, VisionRun, VisionScore
from tammes.papers.page import panel
from tammes.papers.statistics import Interval
from tammes.report.figures.canvas import TEXT, canvas, quiet, spread
from tammes.report.markup import Panel, percent
from tammes.report.palette import GRID, objective_color

Pick = Callable[[VisionScore], float]
"""One of the accuracies."""
linear: Pick = attrgetter("linear")
mean: Pick = attrgetter("mean")
linear_early: Pick = attrgetter("linear_early")
mean_early: Pick = attrgetter("mean_early")


@dataclass(frozen=True, kw_only=True)
class VisionArm:
    """Scores on one set of images with one kind of positives.

    Args:
        data: name of the set.
        positives: kind of positives, "real" or "augmented".
        results: scores of its runs.
    """

    data: str
    positives: str
    results: Mapping[VisionRun, VisionScore]

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

    def values(self, batch_size: int, k: int, pick: Pick) -> Sequence[float]:
        """Return the accuracy of each seed."""
        chosen = {
            run.seed: pick(score)
            for run, score in self.results.items()
            if (run.batch_size, run.k) == (batch_size, k)
        }
        return [chosen[seed] for seed in self.seeds]

    def matrix(self, pick: Pick) -> Float[np.ndarray, "r c"]:
        """Return means over seeds: batch sizes down, `COUNTS` across, NaN where k is above 2 (B - 1)."""
        matrix = np.full((len(self.batch_sizes), len(COUNTS)), np.nan)
        for row, batch_size in enumerate(self.batch_sizes):
            for k in self.counts(batch_size):
                matrix[row, COUNTS.index(k)] = fmean(self.values(batch_size, k, pick))
        return matrix

    def best(self, pick: Pick) -> tuple[int, int, float]:
        """Return B, k and the mean accuracy of the best setting."""
        matrix = self.matrix(pick)
        row, column = divmod(int(np.nanargmax(matrix)), len(COUNTS))
        return self.batch_sizes[row], COUNTS[column], float(matrix[row, column])

    def spread(self, pick: Pick) -> float:
        """Return the best mean accuracy minus the worst."""
        matrix = self.matrix(pick)
        return float(np.nanmax(matrix) - np.nanmin(matrix))

    def by_batch_size(self, pick: Pick) -> Interval:
        """Return the change from the smallest batch to the largest, averaged over every k that both have."""
        smallest, largest = self.batch_sizes[0], self.batch_sizes[-1]
        if smallest == largest:
            return Interval(())
        return self._change([((smallest, k), (largest, k)) for k in self.counts(smallest)], pick)

    def by_count(self, pick: Pick, *, since: int = COUNTS[0]) -> Interval:
        """Return the change from k = `since` to all negatives of the batch, averaged over batch sizes."""
        return self._change([((b, since), (b, self.counts(b)[-1])) for b in self.batch_sizes], pick)

    def _change(self, steps: Sequence[tuple[tuple[int, int], tuple[int, int]]], pick: Pick) -> Interval:
        """Return the mean change over steps from one (B, k) to another."""
        changes = [np.subtract(self.values(*end, pick), self.values(*start, pick)) for start, end in steps]
        return Interval.of(np.mean(changes, axis=0).tolist())


def arms(results: Mapping[VisionRun, VisionScore]) -> tuple[VisionArm, ...]:
    """Return the results set by set, real positives before augmented ones."""
    groups: dict[tuple[str, str], dict[VisionRun, VisionScore]] = {}
    for run, score in results.items():
        groups.setdefault((run.data, run.positives), {})[run] = score
    return tuple(
        VisionArm(data=data, positives=positives, results=group)
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
        caption = (
            f"best {percent(best)} at B = {batch_size}, k = {k}; from worst to best "
            f"{100 * arm.spread(pick):.1f} points"
        )
        drawing = heat_map(_heat(arm, pick))
        panels.append(panel(drawing, f"{arm.name}, {words}: {caption}.", name=arm.name, caption=caption))
    return tuple(panels)


def line_panels(arms: Sequence[VisionArm], pick: Pick, *, words: str) -> tuple[Panel, ...]:
    """Return the accuracy over k for each arm, a line for each B; bars are deviations over seeds."""
    panels = []
    for arm in arms:
        figure, axes = canvas(width=3.4, height=2.5)
        draw_lines(axes, arm, pick)
        description = f"{arm.name}, {words}: accuracy over the number of negatives, a line a batch size."
        panels.append(panel(figure, description, name=arm.name))
    return tuple(panels)


def draw_lines(axes: Axes, arm: VisionArm, pick: Pick) -> None:
    """Draw the lines of `line_panels`."""
    ends = []
    for index, batch_size in enumerate(arm.batch_sizes):
        counts = arm.counts(batch_size)
        means = [Interval.of([100 * value for value in arm.values(batch_size, k, pick)]) for k in counts]
        axes.errorbar(
            [k * 1.04**index for k in counts],  # a little apart, so that bars do not cover each other
            [each.mean for each in means],
            [each.deviation for each in means],
            color=objective_color(index),
            linewidth=1.6,
            marker="o",
            markersize=3,
        )
        ends.append(means[-1].mean)
    axes.set_xscale("log", base=2)
    axes.set(xlabel="negatives k", ylabel="accuracy (%)")
    axes.set_xticks(COUNTS, [str(k) for k in COUNTS])
    axes.set_xticks([], minor=True)
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    low, high = axes.get_ylim()
    for index, place in enumerate(spread(ends, gap=0.09 * (high - low))):
        axes.annotate(
            f"B = {arm.batch_sizes[index]}",
            (1.015, place),
            xycoords=axes.get_yaxis_transform(),
            color=objective_color(index),
            fontsize=TEXT,
            fontweight="bold",
            va="center",
            annotation_clip=False,
        )


def _heat(arm: VisionArm, pick: Pick) -> HeatMap:
    return HeatMap(
        values=arm.matrix(pick),
        scale=by_best,
        rows=[str(batch_size) for batch_size in arm.batch_sizes],
        columns=[str(k) for k in COUNTS],
        row_title="pairs in a batch B",
        column_title="negatives k",
    )
