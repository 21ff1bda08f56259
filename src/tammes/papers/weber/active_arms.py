"""By how much positives differ from random ones, seed by seed, and the figures that show it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tammes.papers.page import panel
from tammes.papers.statistics import Interval
from tammes.papers.weber.active_training import ActiveRun, ActiveScore
from tammes.report.figures.canvas import TEXT, canvas, quiet
from tammes.report.markup import Panel
from tammes.report.palette import MUTED, objective_color

RANDOM = "random"
Pick = Callable[[ActiveScore], float]
"""One of the measurements."""
KINDS: Mapping[str, tuple[Pick, Pick]] = {
    "linear probe": (attrgetter("probe"), attrgetter("probe_as_long")),
    "linear probe, a tenth of the labels": (attrgetter("few"), attrgetter("few_as_long")),
    "nearest neighbors": (attrgetter("knn"), attrgetter("knn_as_long")),
}
"""Accuracies, each after equally many updates and, for random positives, after the longer training."""
APART = 0.16
"""Half the distance between the two marks of an arm, in rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ActiveArm:
    """One kind of positives on one set, beside random ones.

    Args:
        data: name of the set.
        positives: name of the arm.
        results: scores of the arm, by seed.
        beside: scores of random positives, by seed.
    """

    data: str
    positives: str
    results: Mapping[int, ActiveScore]
    beside: Mapping[int, ActiveScore]

    @property
    def is_active(self) -> bool:
        """Whether a step takes longer than one with random positives."""
        return self.positives.startswith("active")

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds that both have."""
        return tuple(seed for seed in self.results if seed in self.beside)

    def at_equal_updates(self, kind: str) -> Interval:
        """Return the gain over random positives with equally many updates.

        Args:
            kind: accuracy to be compared, one of `KINDS`.
        """
        pick, _ = KINDS[kind]
        return Interval.of([pick(self.results[seed]) - pick(self.beside[seed]) for seed in self.seeds])

    def at_equal_time(self, kind: str) -> Interval:
        """Return the gain over random positives that were trained for longer.

        Args:
            kind: accuracy to be compared, one of `KINDS`.
        """
        pick, late = KINDS[kind]
        return Interval.of([pick(self.results[seed]) - late(self.beside[seed]) for seed in self.seeds])


def arms_of(results: Mapping[ActiveRun, ActiveScore]) -> tuple[ActiveArm, ...]:
    """Return all arms but the random one, set by set, that have a seed in common with it."""
    found: dict[tuple[str, str], dict[int, ActiveScore]] = {}
    for run, score in results.items():
        found.setdefault((run.data, run.positives), {})[run.seed] = score
    arms = [
        ActiveArm(data=data, positives=positives, results=seeds, beside=found.get((data, RANDOM), {}))
        for (data, positives), seeds in found.items()
        if positives != RANDOM
    ]
    return tuple(arm for arm in arms if arm.seeds)


def together(differences: Sequence[Interval]) -> Interval:
    """Return the interval of several sets as one: each seed of each set is a draw.

    Example:
        >>> together([Interval((0.01, 0.03)), Interval((0.02,))]).points
        '+2.0 ± 2.5 points'
    """
    return Interval.of([value for each in differences for value in each.values])


def by_set(arms: Sequence[ActiveArm]) -> dict[str, list[ActiveArm]]:
    """Return the arms of each set, in their order."""
    sets: dict[str, list[ActiveArm]] = {}
    for arm in arms:
        sets.setdefault(arm.data, []).append(arm)
    return sets


def overview(arms: Sequence[ActiveArm], kind: str) -> Figure:
    """Draw the differences of each set, side by side."""
    sets = by_set(arms)
    figure = Figure(figsize=(3.4 * len(sets), 2.6), layout="constrained")
    grid = figure.subplots(1, len(sets), squeeze=False)[0]
    for axes, (data, several) in zip(grid, sets.items(), strict=True):
        quiet(axes)
        draw_differences(axes, several, kind)
        axes.set_title(data, fontsize=TEXT, pad=16)
    return figure


def panels(arms: Sequence[ActiveArm], kind: str) -> tuple[Panel, ...]:
    """Return a drawing of the differences for each set."""
    found = []
    for data, several in by_set(arms).items():
        figure, axes = canvas(width=3.4, height=2.5)
        draw_differences(axes, several, kind)
        words = "; ".join(f"{arm.positives} {arm.at_equal_updates(kind).points}" for arm in several)
        found.append(panel(figure, f"{data}, {kind}, at equal updates: {words}.", name=data))
    return tuple(found)


def draw_differences(axes: Axes, arms: Sequence[ActiveArm], kind: str) -> None:
    """Draw two marks for each arm, at equal updates and at equal time, beside a line at no difference."""
    axes.axvline(0, color=MUTED, linewidth=0.8)
    for row, arm in enumerate(arms):
        _mark(axes, row - APART, arm.at_equal_updates(kind), objective_color(0), filled=True)
        if arm.is_active:  # the others take no longer than random ones
            _mark(axes, row + APART, arm.at_equal_time(kind), objective_color(1), filled=False)
    axes.set_yticks(range(len(arms)), [arm.positives for arm in arms])
    axes.set_ylim(len(arms) - 0.5, -0.5)
    axes.set_xlabel("over random positives (points)")
    for place, words, color in ((0.0, "equal updates", 0), (0.5, "equal time", 1)):
        shade = objective_color(color)
        axes.text(place, 1.0, words, transform=axes.transAxes, color=shade, fontsize=TEXT, va="bottom")


def _mark(axes: Axes, place: float, difference: Interval, color: str, *, filled: bool) -> None:
    axes.errorbar(
        [100 * difference.mean],
        [place],
        xerr=None if len(difference.values) < 2 else [100 * difference.half],
        color=color,
        marker="o",
        markersize=4,
        markerfacecolor=color if filled else "none",
        linewidth=1.4,
    )
