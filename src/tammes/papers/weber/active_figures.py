"""What positives have over random ones, with intervals."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tammes.papers.statistics import Interval
from tammes.papers.weber.active_differences import Arm, Pick, by_set
from tammes.report.figures.canvas import TEXT, canvas, quiet
from tammes.report.markup import Panel, inline_svg
from tammes.report.palette import MUTED, objective_color

APART = 0.16
"""Half the distance between the two marks of an arm, in rows."""


def overview(arms: Sequence[Arm], pick: Pick, pick_late: Pick) -> Figure:
    """A drawing for each set, side by side."""
    sets = by_set(arms)
    figure = Figure(figsize=(3.4 * len(sets), 2.6), layout="constrained")
    for axes, (data, several) in zip(
        figure.subplots(1, len(sets), squeeze=False)[0], sets.items(), strict=True
    ):
        quiet(axes)
        draw_differences(axes, several, pick, pick_late)
        axes.set_title(data, fontsize=TEXT, pad=16)
    return figure


def panels(arms: Sequence[Arm], pick: Pick, pick_late: Pick, *, name: str) -> tuple[Panel, ...]:
    """A drawing for each set; `name` is unique on the page."""
    found = []
    for index, (data, several) in enumerate(by_set(arms).items()):
        figure, axes = canvas(width=3.4, height=2.5)
        draw_differences(axes, several, pick, pick_late)
        words = "; ".join(f"{arm.positives} {arm.at_equal_updates(pick).points}" for arm in several)
        svg = inline_svg(figure, name=f"{name}-{index}", description=f"{data}, at equal updates: {words}.")
        found.append(Panel(name=data, svg=svg))
    return tuple(found)


def draw_differences(axes: Axes, arms: Sequence[Arm], pick: Pick, pick_late: Pick) -> None:
    """Two marks for each arm, at equal updates and at equal time, over a line where nothing differs."""
    axes.axvline(0, color=MUTED, linewidth=0.8)
    for row, arm in enumerate(arms):
        _mark(axes, row - APART, arm.at_equal_updates(pick), objective_color(0), filled=True)
        if arm.is_active:  # the others take no longer than random ones
            _mark(axes, row + APART, arm.at_equal_time(pick, pick_late), objective_color(1), filled=False)
    axes.set_yticks(range(len(arms)), [arm.positives for arm in arms])
    axes.set_ylim(len(arms) - 0.5, -0.5)
    axes.set_xlabel("over random positives (points)")
    for place, words, color in ((0.0, "equal updates", 0), (0.5, "equal time", 1)):
        shade = objective_color(color)
        axes.text(place, 1.0, words, transform=axes.transAxes, color=shade, fontsize=TEXT, va="bottom")


def _mark(axes: Axes, place: float, difference: Interval, color: str, *, filled: bool) -> None:
    bars = None if len(difference.values) < 2 else [100 * difference.half]
    axes.errorbar(
        [100 * difference.mean],
        [place],
        xerr=bars,
        color=color,
        marker="o",
        markersize=4,
        markerfacecolor=color if filled else "none",
        linewidth=1.4,
    )
