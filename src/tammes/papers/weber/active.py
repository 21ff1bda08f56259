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
from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.finding import Finding, effect_in_points
from tammes.papers.image_sets import Parts, published_sets
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.study import Study, grouped
from tammes.papers.weber import POSITIVES_REAL_DATA
from tammes.papers.weber.active_training import (
    CANDIDATES,
    LABELED,
    ROUND,
    TEMPERATURE,
    UNTRAINED,
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
    "differences are taken seed by seed.",
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
        untrained: scores of the encoders with their first weights, by seed.
    """

    data: str
    positives: str
    results: Mapping[int, ActiveScore]
    beside: Mapping[int, ActiveScore]
    untrained: Mapping[int, ActiveScore]

    @property
    def is_active(self) -> bool:
        """Whether a step takes longer than one with random positives."""
        return self.positives.startswith("active")

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds that all three have."""
        return tuple(seed for seed in self.results if seed in self.beside and seed in self.untrained)

    def at_equal_updates(self, kind: str) -> Estimate:
        """Return the gain over random positives with equally many updates, in one of `KINDS`."""
        return self._over(self.beside, KINDS[kind][0], KINDS[kind][0])

    def at_equal_time(self, kind: str) -> Estimate:
        """Return the gain over random positives that were trained for longer, in one of `KINDS`."""
        return self._over(self.beside, *KINDS[kind])

    def above_untrained(self, kind: str) -> Estimate:
        """Return the gain over the first weights, in one of `KINDS`."""
        return self._over(self.untrained, KINDS[kind][0], KINDS[kind][0])

    def _over(self, less: Mapping[int, ActiveScore], pick: Pick, pick_less: Pick) -> Estimate:
        return Estimate.of_difference(
            [pick(self.results[seed]) for seed in self.seeds], [pick_less(less[seed]) for seed in self.seeds]
        )


def arms_of(results: Mapping[ActiveRun, ActiveScore]) -> tuple[ActiveArm, ...]:
    """Return all arms but the random one, set by set, that share a seed with it and the untrained one."""
    found = {
        key: {run.seed: score for run, score in group.items()}
        for key, group in grouped(results, "data", "positives").items()
    }
    arms = [
        ActiveArm(
            data=data,
            positives=positives,
            results=seeds,
            beside=found.get((data, RANDOM), {}),
            untrained=found.get((data, UNTRAINED), {}),
        )
        for (data, positives), seeds in found.items()
        if positives not in (RANDOM, UNTRAINED)
    ]
    return tuple(arm for arm in arms if arm.seeds)


def run(request: Request) -> None:
    """Train by each kind of positives on each set."""
    published = published_sets(request.required_data(), wanted=POSITIVES_REAL_DATA.data)
    study({"digits": (digits("train"), digits("test")), **published}, scale_of(request)).run(request)


def study(sets: Mapping[str, Parts], scale: ActiveScale) -> Study[ActiveRun, ActiveScore]:
    """Return the study of some sets of images.

    Args:
        sets: sets of images by name, whole.
        scale: size of the study.
    """
    return Study(
        cells=wanted_cells(sets, scale),
        scores=ActiveScore,
        measure=measurer(sets, scale),
        name=lambda run: f"{run.data}, {run.positives}, seed {run.seed}",
        protocol=Protocol(seeds=scale.seeds, controls=("untrained encoder",), measured_on="test images"),
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
    if not all(each.is_known for each in (*updates, *time)):
        return "One seed has no interval, so that no comparison with random positives is decided."
    return (
        f"Of {len(updates)} comparisons with random positives, active ones are clearly better in "
        f"{sum(each.above_zero for each in updates)} and clearly worse in "
        f"{sum(each.below_zero for each in updates)} after as many updates, and in "
        f"{sum(each.above_zero for each in time)} and {sum(each.below_zero for each in time)} after as much "
        "time. (By chance, one in 40 is either.)"
    )


def findings(arms: Sequence[ActiveArm]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers."""
    found = []
    for name in dict.fromkeys(arm.positives for arm in arms):
        several = [arm for arm in arms if arm.positives == name]
        paper = (
            "Table II: positives that vary little in what matters and freely in the rest are more effective."
        )
        if several[0].is_active:
            paper = "Table I: active positives consistently outperform random ones."
        found.append(
            Finding(
                paper=f"{paper} (On latents.)",
                ours=f"{name} over random, linear probe after as many updates, in points:",
                effects=tuple(effect_in_points(arm.data, arm.at_equal_updates(PROBE)) for arm in several),
                controls=tuple(
                    effect_in_points(f"{arm.data}, over untrained", arm.above_untrained(PROBE))
                    for arm in several
                ),
            )
        )
    for name in dict.fromkeys(arm.positives for arm in arms if arm.is_active):
        several = [arm for arm in arms if arm.positives == name]
        time = [arm.at_equal_time(PROBE) for arm in several]
        by_data = "; ".join(f"{arm.data}: {each.points}" for arm, each in zip(several, time, strict=True))
        updates = together([arm.at_equal_updates(PROBE) for arm in several])
        found.append(
            Finding(
                paper="(No statement: after as much time; all sets and seeds together.)",
                ours=f"{name} over random, linear probe after as much time: {by_data}. All "
                f"{len(updates.values)} pairs of runs: {together(time).points}; after as many updates "
                f"{updates.points}.",
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
        note="Accuracy in percent on test images, means over the seeds with 95 % intervals; seconds of "
        "processor time.",
    )


def _row(name: str, several: Sequence[ActiveScore], *, late: bool) -> tuple[str, ...]:
    seconds = fmean(score.seconds_as_long if late else score.seconds for score in several)
    accuracies = (Estimate.over_seeds([picks[late](score) for score in several]) for picks in KINDS.values())
    return name, *(each.percent for each in accuracies), f"{seconds:.0f}", str(len(several))


def _settings(results: Mapping[ActiveRun, ActiveScore], scale: ActiveScale) -> dict[str, str]:
    sizes = {cell.data: cell for cell in results}  # the last arm of a set, which is not the untrained one
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
    }


def together(differences: Sequence[Estimate]) -> Estimate:
    """Return the estimate of several sets as one: each seed of each set is a draw.

    Example:
        >>> together([Estimate.over_seeds([0.01, 0.03]), Estimate.over_seeds([0.02])]).values
        (0.01, 0.03, 0.02)
    """
    return Estimate.over_seeds([value for each in differences for value in each.values])


def by_set(arms: Sequence[ActiveArm]) -> dict[str, list[ActiveArm]]:
    """Return the arms of each set, in their order."""
    names = dict.fromkeys(arm.data for arm in arms)
    return {name: [arm for arm in arms if arm.data == name] for name in names}


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


def _mark(axes: Axes, place: float, difference: Estimate, color: str, *, filled: bool) -> None:
    mean, low, high = (100 * number for number in (difference.mean, difference.low, difference.high))
    axes.errorbar(
        [mean],
        [place],
        xerr=[[mean - low], [high - mean]] if difference.is_known else None,
        color=color,
        marker="o",
        markersize=4,
        markerfacecolor=color if filled else "none",
        linewidth=1.4,
    )
