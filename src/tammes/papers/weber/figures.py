"""Figures of the experiments on positives: dots with intervals, and curves with bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from tammes.papers.interval import Interval
from tammes.report.figures.canvas import TEXT, canvas, spread
from tammes.report.palette import INK, MUTED, objective_color


def intervals(
    ours: Mapping[str, Interval], paper: Mapping[str, float], *, label: str, limits: tuple[float, float]
) -> Figure:
    """A line for each strategy: our mean with its 95 % interval, and the paper's number as a ring.

    Example:
        >>> drawn = intervals({"a": Interval.of([0.4, 0.5])}, {"a": 0.6}, label="accuracy", limits=(0, 1))
        >>> drawn.axes[0].get_xlabel()
        'accuracy'
    """
    figure, axes = canvas(width=4.2, height=0.5 + 0.26 * len(ours))
    places = list(range(len(ours)))
    axes.hlines(places, *limits, color=MUTED, linewidth=0.3)
    axes.errorbar(
        [interval.mean for interval in ours.values()],
        places,
        xerr=[interval.half for interval in ours.values()],
        fmt="o",
        color=objective_color(0),
        markersize=4,
        linewidth=1.4,
    )
    rings = [(paper[name], place) for place, name in enumerate(ours) if name in paper]
    if rings:
        axes.plot(*zip(*rings, strict=True), "o", mfc="none", mec=INK, markersize=8)
    axes.set_yticks(places, list(ours), fontsize=TEXT)
    axes.set_ylim(len(ours) - 0.5, -0.5)
    axes.set_xlim(*limits)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(label)
    return figure


def curves(
    series: Mapping[str, Sequence[Interval]],
    places: Sequence[float],
    *,
    across: str,
    up: str,
    at: float | None = None,
    width: float = 4.2,
) -> Figure:
    """A curve for each name over the same places, its 95 % interval as a band, its name at the end.

    Args:
        series: an interval for each place, by name.
        places: positive, ascending; drawn on a logarithmic scale.
        across: label of the places.
        up: label of the values.
        at: a place to be marked, that of the tables.
        width: of the figure, in inches.

    Example:
        >>> drawn = curves({"a": [Interval.of([0.4, 0.5])] * 2}, [1, 2], across="scale", up="accuracy")
        >>> drawn.axes[0].get_ylabel()
        'accuracy'
    """
    figure, axes = canvas(width=width, height=2.8)
    axes.set_xscale("log")
    axes.set_xticks(list(places), [f"{place:g}" for place in places])
    axes.minorticks_off()
    if at is not None:
        axes.axvline(at, color=MUTED, linewidth=0.6, linestyle=":")
    ends = [intervals[-1].mean for intervals in series.values()]
    low = min(interval.mean - interval.half for each in series.values() for interval in each)
    high = max(interval.mean + interval.half for each in series.values() for interval in each)
    labels = spread(ends, gap=0.065 * (high - low))
    for index, ((name, intervals), label) in enumerate(zip(series.items(), labels, strict=True)):
        color = objective_color(index)
        means = [interval.mean for interval in intervals]
        axes.plot(places, means, "o-", color=color, linewidth=1.4, markersize=3)
        axes.fill_between(
            places,
            [interval.mean - interval.half for interval in intervals],
            [interval.mean + interval.half for interval in intervals],
            color=color,
            alpha=0.15,
            linewidth=0,
        )
        axes.annotate(
            name,
            (places[-1], label),
            xytext=(6, 0),
            textcoords="offset points",
            color=color,
            fontsize=TEXT,
            va="center",
            annotation_clip=False,
        )
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    return figure
