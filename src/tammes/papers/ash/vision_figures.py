"""Accuracy over batch size and number of negatives: the paper's Fig. 4 and 8, drawn from our numbers."""

import statistics
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tammes.papers.ash.heat_map import HeatMap, by_best, draw_heat_map, heat_map
from tammes.papers.ash.vision_settings import COUNTS
from tammes.papers.ash.vision_trends import Arm, Pick
from tammes.report.figures.canvas import TEXT, canvas, quiet, spread
from tammes.report.markup import Panel, inline_svg, percent
from tammes.report.palette import GRID, objective_color


def overview(arms: Sequence[Arm], picks: Sequence[tuple[str, Pick]]) -> Figure:
    """A heat map for each arm, side by side as in Fig. 4, a row for each of the accuracies."""
    figure = Figure(figsize=(3.1 * len(arms), 2.3 * len(picks)), layout="constrained")
    grid = figure.subplots(len(picks), len(arms), squeeze=False)
    for row, (words, pick) in zip(grid, picks, strict=True):
        for axes, arm in zip(row, arms, strict=True):
            quiet(axes)
            draw_heat_map(axes, _heat(arm, pick))
            axes.set_title(f"{arm.name}\n{words}", fontsize=TEXT)
    return figure


def heat_panels(arms: Sequence[Arm], pick: Pick, *, name: str) -> tuple[Panel, ...]:
    """A heat map for each arm; `name` is unique on the page."""
    panels = []
    for index, arm in enumerate(arms):
        batch_size, k, best = arm.best(pick)
        words = f"best {percent(best)} at B = {batch_size}, k = {k}; from worst to best {_points(arm, pick)}"
        svg = inline_svg(
            heat_map(_heat(arm, pick)), name=f"{name}-{index}", description=f"{arm.name}: {words}."
        )
        panels.append(Panel(name=arm.name, svg=svg, caption=words))
    return tuple(panels)


def line_panels(arms: Sequence[Arm], pick: Pick, *, name: str) -> tuple[Panel, ...]:
    """Accuracy over k for each arm, a line for each batch size; bars are standard deviations over seeds."""
    panels = []
    for index, arm in enumerate(arms):
        figure, axes = canvas(width=3.4, height=2.5)
        draw_lines(axes, arm, pick)
        description = f"{arm.name}: accuracy over the number of negatives, a line for each batch size."
        svg = inline_svg(figure, name=f"{name}-{index}", description=description)
        panels.append(Panel(name=arm.name, svg=svg))
    return tuple(panels)


def draw_lines(axes: Axes, arm: Arm, pick: Pick) -> None:
    """Draw the lines of `line_panels`."""
    ends = []
    for index, batch_size in enumerate(arm.batch_sizes):
        counts = arm.counts(batch_size)
        seeds = [[100 * value for value in arm.values(batch_size, k, pick)] for k in counts]
        bars = [statistics.stdev(each) if len(each) > 1 else 0.0 for each in seeds]
        # Lines a little apart, so that bars at the same k do not cover each other.
        places = [k * 1.04**index for k in counts]
        means = [statistics.fmean(each) for each in seeds]
        color = objective_color(index)
        axes.errorbar(places, means, bars, color=color, linewidth=1.6, marker="o", markersize=3)
        ends.append(means[-1])
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


def _heat(arm: Arm, pick: Pick) -> HeatMap:
    return HeatMap(
        values=arm.matrix(pick),
        scale=by_best,
        rows=[str(batch_size) for batch_size in arm.batch_sizes],
        columns=[str(k) for k in COUNTS],
        row_title="pairs in a batch B",
        column_title="negatives k",
    )


def _points(arm: Arm, pick: Pick) -> str:
    return f"{100 * arm.spread(pick):.1f} points"
