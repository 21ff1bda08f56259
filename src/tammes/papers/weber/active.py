"""Active and targeted positives against random ones, on real images.

Weber and Bachman (2022) try active positives on latents that they know, and name real data as future work.
Here an encoder is trained by SimCLR with augmented views of images; of several views of an image the one
nearest to the boundary of a classifier is its positive, or the views differ mostly in factors that say
nothing about the class. The encoder is judged by a linear probe and by nearest neighbors.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from tammes.data import digits
from tammes.papers.ash.vision import load
from tammes.papers.ash.vision_training import Parts
from tammes.papers.entry import Entry, Request
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, panel
from tammes.papers.statistics import Interval
from tammes.papers.study import Study, grouped
from tammes.papers.weber.active_training import (
    CANDIDATES,
    LABELED,
    ROUND,
    TEMPERATURE,
    ActiveRun,
    ActiveScale,
    ActiveScore,
    measurer,
    scale_of,
    wanted_cells,
)
from tammes.report.figures.canvas import TEXT, canvas, quiet
from tammes.report.markup import Panel
from tammes.report.palette import MUTED, objective_color

PROBE = "linear probe"
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
REMARKS = (
    "Runs of one seed have the same images, first weights and order, and the same anchors, so that "
    "differences are taken seed by seed; intervals are Student's, at 95 %, over the seeds.",
    "Time is processor time. Random positives are trained for longer by the factor that a step with "
    "candidates takes longer, rounded up; the table has the seconds of both. A GPU makes views and "
    "embeddings cheaper, and the factor smaller.",
    "The stand-ins: the paper has no experiment on images; its Table I has two classes of latents on a "
    "sphere. Here the sets are small, the encoder is a small convolutional network, and training is short.",
    "Active positives by labels use the classes that the probe is then tested on; by clusters they use none.",
)


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
    found = {
        key: {run.seed: score for run, score in group.items()}
        for key, group in grouped(results, "data", "positives").items()
    }
    arms = [
        ActiveArm(data=data, positives=positives, results=seeds, beside=found.get((data, RANDOM), {}))
        for (data, positives), seeds in found.items()
        if positives != RANDOM
    ]
    return tuple(arm for arm in arms if arm.seeds)


def run(request: Request) -> None:
    """Train by each kind of positives on each set."""
    sets = {"digits": (digits("train"), digits("test")), **load(request.required_data())}
    study(sets, scale_of(request.budget), seed=request.seed).run(request)


def study(sets: Mapping[str, Parts], scale: ActiveScale, *, seed: int) -> Study[ActiveRun, ActiveScore]:
    """Return the study of some sets of images.

    Args:
        sets: sets of images by name, whole.
        scale: size of the study.
        seed: first random seed.
    """
    return Study(
        cells=wanted_cells(sets, scale, seed=seed),
        scores=ActiveScore,
        measure=measurer(sets, scale),
        name=lambda run: f"{run.data}, {run.positives}, seed {run.seed}",
        page=lambda results: page(results, scale),
    )


def page(results: Mapping[ActiveRun, ActiveScore], scale: ActiveScale) -> PaperPage:
    """Return the page of what has been measured."""
    arms = arms_of(results)
    return PaperPage(
        title="Active positives, on images",
        overview=overview(arms, PROBE),
        lead=_lead(arms),
        findings=findings(arms),
        figures=tuple(
            Figure(
                title=kind[0].upper() + kind[1:],
                words="Accuracy on test images over that of random positives, mean and 95 % interval over "
                "the seeds. Filled: after equally many updates. Hollow: after equal training time.",
                panels=panels(arms, kind),
            )
            for kind in KINDS
        ),
        numbers=_numbers(results),
        remarks=REMARKS,
        settings=_settings(results, scale),
    )


def _lead(arms: Sequence[ActiveArm]) -> str:
    """Return in how many comparisons active positives are clearly better or worse."""
    active = [arm for arm in arms if arm.is_active]
    updates = [arm.at_equal_updates(kind) for arm in active for kind in KINDS]
    time = [arm.at_equal_time(kind) for arm in active for kind in KINDS]
    return (
        f"Of {len(updates)} comparisons with random positives, active ones are clearly better in "
        f"{sum(each.above_zero for each in updates)} and clearly worse in "
        f"{sum(each.below_zero for each in updates)} after as many updates, and in "
        f"{sum(each.above_zero for each in time)} and {sum(each.below_zero for each in time)} after as much "
        "time. (By chance, one in 40 is either.)"
    )


def findings(arms: Sequence[ActiveArm]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers; one agrees if its interval is above zero."""
    found = []
    for arm in arms:
        updates = arm.at_equal_updates(PROBE)
        ours = f"{arm.data}, {arm.positives}: by the linear probe {updates.points} after as many updates"
        if arm.is_active:
            paper = "Table I: active positives consistently outperform random ones. (On latents.)"
            ours += f"; {arm.at_equal_time(PROBE).points} after as much time"
        else:
            paper = (
                "Table II: positives that vary little in what matters and freely in the rest are more "
                "effective. (On latents.)"
            )
        agrees = updates.above_zero if len(arm.seeds) > 1 else None
        found.append(Finding(paper=paper, ours=f"{ours}.", agrees=agrees))
    for name in dict.fromkeys(arm.positives for arm in arms if arm.is_active):
        several = [arm for arm in arms if arm.positives == name]
        updates = together([arm.at_equal_updates(PROBE) for arm in several])
        time = together([arm.at_equal_time(PROBE) for arm in several])
        found.append(
            Finding(
                paper="(The same, all sets and seeds together.)",
                ours=f"{name}, {len(updates.values)} pairs of runs: by the linear probe {updates.points} "
                f"after as many updates; {time.points} after as much time.",
            )
        )
    return tuple(found)


def _numbers(results: Mapping[ActiveRun, ActiveScore]) -> Numbers:
    rows = []
    for (data, positives), group in grouped(results, "data", "positives").items():
        several = list(group.values())
        rows.append(_row(f"{data}, {positives}", several, late=False))
        if positives == RANDOM:
            rows.append(_row(f"{data}, random, for longer", several, late=True))
    return Numbers(
        header=("positives", *KINDS, "seconds", "seeds"),
        rows=tuple(rows),
        note="Accuracy in percent on test images, mean ± standard deviation over the seeds; seconds of "
        "processor time.",
    )


def _row(name: str, several: Sequence[ActiveScore], *, late: bool) -> tuple[str, ...]:
    seconds = fmean(score.seconds_as_long if late else score.seconds for score in several)
    accuracies = (Interval.of([picks[late](score) for score in several]) for picks in KINDS.values())
    return name, *(each.percent for each in accuracies), f"{seconds:.0f}", str(len(several))


def _settings(results: Mapping[ActiveRun, ActiveScore], scale: ActiveScale) -> dict[str, str]:
    sizes = {cell.data: cell for cell in results}
    each = {
        data: f"{cell.images:,} images, {cell.epochs} epochs, random {cell.longer:g} times as long"
        for data, cell in sizes.items()
    }
    return {
        **each,
        "encoder": f"a convolutional network of width {scale.width}, and a projection head",
        "objective": f"SimCLR, temperature {TEMPERATURE:g}, {scale.batch_size} pairs",
        "Adam, learning rate": f"{scale.optimizer.learning_rate:g}",
        "active": f"{CANDIDATES} candidates; every {ROUND} steps a classifier of {LABELED} images, labels or "
        "10 clusters; the first fifth of the steps is random",
        "active, quantile": "any candidate within the nearest quarter of the images, else the nearest",
        "targeted": "on ink, noise and erasures vary freely; on colors, all changes of color do; the other "
        "factors vary a quarter as much",
        "seeds": f"{len({cell.seed for cell in results})} at most; the table has each arm's",
    }


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


def overview(arms: Sequence[ActiveArm], kind: str) -> Drawing:
    """Draw the differences of each set, side by side."""
    sets = by_set(arms)
    figure = Drawing(figsize=(3.4 * len(sets), 2.6), layout="constrained")
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


ENTRY = Entry(
    name="positives-real-data",
    statement="Positives near the boundary of a classifier in the embedding, and positives that vary little "
    "in what matters and freely in the rest, are more effective than random ones. (Stated for latents; here "
    "on images.)",
    source="Weber and Bachman (2022), sections III and IV, Tables I and II",
    run=run,
    data="CIFAR-10 (cifar-10-binary.tar.gz or cifar-10-batches-bin) or MNIST (its four idx files), or both",
)
