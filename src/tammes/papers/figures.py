"""Figures that several entries draw: dots beside the paper's numbers, curves with bands, small multiples."""

import math
from collections.abc import Mapping, Sequence
from textwrap import fill

from matplotlib.figure import Figure

from tammes.estimate import Estimate
from tammes.report.figures.canvas import TEXT, canvas, quiet
from tammes.report.figures.curves import label_ends
from tammes.report.palette import INK, MUTED, objective_color

FLOOR = 1e-5
"""Least error that `grouped_dots` draws on a logarithmic scale; smaller ones stand there too."""
WIDE = 36
"""Characters of the name of an axis in one line."""
COLUMNS = 3
"""Largest number of panels of `small_multiples` in a row."""

Number = float | Estimate


def dots(
    ours: Mapping[str, Number],
    paper: Mapping[str, float],
    *,
    label: str,
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Draw a line for each name: our number as a dot with its 95 % interval, the paper's as a ring.

    Args:
        ours: numbers by name, from top to bottom.
        paper: numbers of the paper; names may be missing.
        label: name of the axis.
        limits: ends of the axis, which is longer where a mean lies beyond them; left out, zero and the
            highest end of an interval.

    Example:
        >>> drawn = dots({"a": Estimate.over_seeds([0.4, 0.5])}, {"a": 0.6}, label="accuracy", limits=(0, 1))
        >>> drawn.axes[0].get_xlabel()
        'accuracy'
    """
    names = 0.075 * max(map(len, ours))  # inches of the longest name: the axis keeps its width beside it
    figure, axes = canvas(width=max(4.2, 2.7 + names), height=0.5 + 0.26 * len(ours))
    places = list(range(len(ours)))
    low, middle, high = zip(*map(_ends, ours.values()), strict=True)
    drawn = [number for number in (*middle, *paper.values()) if math.isfinite(number)]
    ends = [end for end in (*high, *paper.values()) if math.isfinite(end)]
    known = limits or (0.0, 1.05 * max(ends, default=0.0))
    limits = min(known[0], *drawn), max(known[1], *drawn)
    axes.hlines(places, *limits, color=MUTED, linewidth=0.3)
    color = objective_color(0)
    axes.hlines(places, low, high, color=color, linewidth=1.4)
    axes.plot(middle, places, "o", color=color, markersize=5, clip_on=False)  # whole at the ends of the axis
    rings = [(paper[name], place) for place, name in enumerate(ours) if name in paper]
    if rings:
        axes.plot(*zip(*rings, strict=True), "o", mfc="none", mec=INK, markersize=7.5)
    axes.set_yticks(places, list(ours), fontsize=TEXT)
    axes.set_ylim(len(ours) - 0.5, -0.5)  # the first on top, and whole dots at both ends
    axes.set_xlim(*limits)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(fill(label, WIDE))
    return figure


def curves(
    series: Mapping[str, tuple[Sequence[float], Sequence[Number]]],
    *,
    across: str,
    up: str,
    logarithmic: bool = False,
    at: float | None = None,
    width: float = 4.2,
) -> Figure:
    """Draw a curve for each name, with its 95 % interval as a band if it has one, and its name on the right.

    Args:
        series: places, ascending, and numbers at them, by name.
        across: name of the horizontal axis.
        up: name of the vertical axis.
        logarithmic: whether the places, all positive, stand on a logarithmic scale.
        at: place to be marked by a dotted line.
        width: width of the figure, in inches.

    Example:
        >>> drawn = curves({"a": ([1, 2], [0.5, 0.6])}, across="k", up="ratio")
        >>> drawn.axes[0].get_ylabel()
        'ratio'
    """
    figure, axes = canvas(width=width, height=2.8)
    if logarithmic:
        axes.set_xscale("log")
        ticks = sorted({place for places, _ in series.values() for place in places})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    if at is not None:
        axes.axvline(at, color=MUTED, linewidth=0.6, linestyle=":")
    ends = {}
    for index, (name, (places, numbers)) in enumerate(series.items()):
        low, middle, high = zip(*map(_ends, numbers), strict=True)
        color = objective_color(index)
        axes.plot(places, middle, "o-", color=color, linewidth=1.4, markersize=3)
        axes.fill_between(places, low, high, color=color, alpha=0.15, linewidth=0)
        ends[name] = middle[-1]
    axes.set(xlabel=across, ylabel=up)
    label_ends(axes, ends, [objective_color(index) for index in range(len(ends))])
    return figure


def grouped_dots(
    ours: Mapping[str, Mapping[str, Number]],
    paper: Mapping[str, Mapping[str, float]],
    *,
    label: str,
    logarithmic: bool = True,
    width: float | None = None,
) -> Figure:
    """Draw a column for each group, a color for each method: our error as a dot, the paper's as a ring.

    A line through a dot is its 95 % interval.

    Args:
        ours: errors by method, then group; every method has the same groups.
        paper: errors of the paper; methods and groups may be missing.
        label: name of the vertical axis.
        logarithmic: whether errors stand on a logarithmic scale.
        width: width of the figure, in inches; left out, it follows the number of groups.

    Example:
        >>> grouped_dots({"a": {"low": 0.1}}, {}, label="error").axes[0].get_ylabel()
        'error'
    """
    groups = list(next(iter(ours.values())))
    figure, axes = canvas(width=width or 1.6 + 1.1 * len(groups), height=2.9)
    for index, (method, errors) in enumerate(ours.items()):
        shift = min(0.16, 0.8 / len(ours)) * (index - (len(ours) - 1) / 2)  # groups stay apart
        place = {group: number + shift for number, group in enumerate(groups)}
        least = FLOOR if logarithmic else -math.inf
        ends = [[max(end, least) for end in _ends(errors[group])] for group in groups]
        low, middle, high = zip(*ends, strict=True)
        color = objective_color(index)
        axes.vlines(list(place.values()), low, high, color=color, linewidth=1.4)
        axes.plot(list(place.values()), middle, "o", color=color, markersize=5, label=method)
        rings = paper.get(method, {})
        known = {place[group]: max(error, least) for group, error in rings.items() if group in place}
        axes.plot(list(known), list(known.values()), "o", mfc="none", mec=INK, markersize=6.5)
    if logarithmic:
        axes.set_yscale("log")
    axes.set_xticks(range(len(groups)), groups, fontsize=TEXT)
    axes.set_ylabel(fill(label, WIDE))
    axes.margins(x=0.12)
    if len(ours) > 1:
        axes.legend(
            fontsize=TEXT, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), labelcolor=MUTED
        )
    return figure


def small_multiples(panels: Mapping[str, Mapping[str, Mapping[float, Number]]], *, up: str) -> Figure:
    """Draw a panel for each setting, on one vertical axis with a line at zero, and a color for each method.

    The values of a setting stand at equal distances. A line through a dot is its 95 % interval.

    Args:
        panels: numbers by setting, method and value; methods and values may be missing.
        up: name of the vertical axis.

    Example:
        >>> drawn = small_multiples({"width": {"a": {8: 0.5, 16: 0.6}}}, up="gain")
        >>> drawn.axes[0].get_xlabel()
        'width'
    """
    columns = min(COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure = Figure(figsize=(0.8 + 2.3 * columns, 0.5 + 2.1 * rows), layout="constrained")
    figure.patch.set_alpha(0)
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
    methods = list(dict.fromkeys(name for series in panels.values() for name in series))
    shown = {}
    for axes, (setting, series) in zip(grid.flat, panels.items(), strict=False):
        quiet(axes)
        axes.axhline(0, color=MUTED, linewidth=0.6)
        values = sorted({value for numbers in series.values() for value in numbers})
        for method, numbers in series.items():
            step = min(0.14, 0.42 / len(series))  # values stay apart
            shift = step * (list(series).index(method) - (len(series) - 1) / 2)
            places = [values.index(value) + shift for value in numbers]
            low, middle, high = zip(*map(_ends, numbers.values()), strict=True)
            color = objective_color(methods.index(method))
            axes.vlines(places, low, high, color=color, linewidth=1.4)
            (shown[method],) = axes.plot(places, middle, "o-", color=color, linewidth=0.8, markersize=4)
        axes.set_xticks(range(len(values)), [f"{value:,g}" for value in values])
        axes.set_xlim(-0.4, len(values) - 0.6)
        axes.set_xlabel(setting)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    figure.supylabel(up, fontsize=TEXT, color=INK)
    figure.legend(
        shown.values(),
        shown,
        loc="outside upper left",
        ncols=len(shown),
        frameon=False,
        fontsize=TEXT,
        labelcolor=MUTED,
    )
    return figure


def _ends(number: Number) -> tuple[float, float, float]:
    """Lower end, mean and upper end."""
    if isinstance(number, Estimate):
        if number.is_known:
            return number.low, number.mean, number.high
        number = number.mean
    return number, number, number
