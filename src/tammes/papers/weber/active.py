"""Active and targeted positives against random ones, on real images.

Weber and Bachman (2022) try active positives on latents that they know, and name real data as future work.
Here an encoder is trained by SimCLR with augmented views of images; of several views of an image the one
nearest to the boundary of a classifier is its positive, or the views differ mostly in factors that say
nothing of the class. What the encoder is worth is read by a linear probe and by nearest neighbors.
"""

import statistics
from collections.abc import Mapping, Sequence

from tammes.data import digits
from tammes.papers.ash.vision import load
from tammes.papers.ash.vision_training import Parts
from tammes.papers.entry import Entry, Request
from tammes.papers.page import Figure, Finding, Numbers, PaperPage
from tammes.papers.statistics import Interval
from tammes.papers.study import Study
from tammes.papers.weber.active_differences import (
    RANDOM,
    Arm,
    Pick,
    arms_of,
    by_set,
    together,
)
from tammes.papers.weber.active_figures import overview, panels
from tammes.papers.weber.active_settings import CANDIDATES, LABELED, ROUND, TEMPERATURE, Scale, scale_of
from tammes.papers.weber.active_training import ActiveRun, ActiveRuns, ActiveScore, wanted_cells

REMARKS = (
    "Cells of one seed have the same images, first weights and order, and the same anchors, so that "
    "differences are taken seed by seed; intervals are Student's, at 95 %, over the seeds.",
    "Time is processor time. Random positives are trained for so much longer as a step with candidates takes "
    "longer, rounded up; the table has the seconds of both. Where a GPU makes views and embeddings cheaper, "
    "the ratio is another.",
    "The stand-ins: the paper has no experiment on images. Its Table I is on two classes of latents on a "
    "sphere. The sets are small, the encoder is a small convolutional network, and training is short.",
    "Active positives by labels use the classes that are then asked for; by clusters they use none.",
)


def probe(measured: ActiveScore) -> float:
    """Of the linear probe with all labels, after equally many updates."""
    return measured.probe


def probe_late(measured: ActiveScore) -> float:
    """Of the linear probe with all labels, after the longer training."""
    return measured.probe_as_long


def few(measured: ActiveScore) -> float:
    """Of the linear probe with a tenth of the labels, after equally many updates."""
    return measured.few


def few_late(measured: ActiveScore) -> float:
    """Of the linear probe with a tenth of the labels, after the longer training."""
    return measured.few_as_long


def knn(measured: ActiveScore) -> float:
    """Of the nearest neighbors, after equally many updates."""
    return measured.knn


def knn_late(measured: ActiveScore) -> float:
    """Of the nearest neighbors, after the longer training."""
    return measured.knn_as_long


KINDS: tuple[tuple[str, Pick, Pick], ...] = (
    ("linear probe", probe, probe_late),
    ("linear probe, a tenth of the labels", few, few_late),
    ("nearest neighbors", knn, knn_late),
)


def run(request: Request) -> None:
    """Train by each kind of positives on each set."""
    sets = {"digits": Parts(train=digits("train"), test=digits("test")), **load(request.required_data())}
    study(sets, scale_of(request.budget), seed=request.seed).run(request)


def study(sets: Mapping[str, Parts], scale: Scale, *, seed: int) -> Study[ActiveRun, ActiveScore]:
    """Return the study of some sets of images.

    Args:
        sets: sets of images by name, whole.
        scale: size of the study.
        seed: first random seed.
    """
    return Study(
        cells=wanted_cells(sets, scale, seed=seed),
        scores=ActiveScore,
        measure=ActiveRuns(sets, scale).measure,
        name=lambda cell: f"{cell.data}, {cell.positives}, seed {cell.seed}",
        page=lambda results: page(results, scale),
    )


def page(results: Mapping[ActiveRun, ActiveScore], scale: Scale) -> PaperPage:
    """Return the page of what has been measured."""
    arms = arms_of(results)
    return PaperPage(
        title="Active positives, on images",
        overview=overview(arms, probe, probe_late),
        lead=_lead(arms),
        findings=findings(arms),
        figures=tuple(
            Figure(
                title=title[0].upper() + title[1:],
                words="Accuracy on test images over that of random positives, mean and 95 % interval over "
                "the seeds. Filled: after equally many updates. Hollow: after equal time.",
                panels=panels(arms, pick, pick_late, name=f"differences-{index}"),
            )
            for index, (title, pick, pick_late) in enumerate(KINDS)
        ),
        numbers=_numbers(results),
        remarks=REMARKS,
        settings=_settings(results, scale),
    )


def _lead(arms: Sequence[Arm]) -> str:
    """In how many comparisons active positives are clearly better or worse."""
    active = [arm for arm in arms if arm.is_active]
    updates = [arm.at_equal_updates(pick) for arm in active for _, pick, _ in KINDS]
    time = [arm.at_equal_time(pick, pick_late) for arm in active for _, pick, pick_late in KINDS]
    return (
        f"Of {len(updates)} comparisons with random positives, active ones are clearly better in "
        f"{_better(updates)} and clearly worse in {_worse(updates)} after as many updates, and in "
        f"{_better(time)} and {_worse(time)} after as much time. (By chance, one in 40 is either.)"
    )


def _better(differences: Sequence[Interval]) -> int:
    return sum(each.above_zero for each in differences)


def _worse(differences: Sequence[Interval]) -> int:
    return sum(each.below_zero for each in differences)


def findings(arms: Sequence[Arm]) -> tuple[Finding, ...]:
    """What the paper states, and what is seen; a statement is borne out where the interval is above zero."""
    found = []
    for data, several in by_set(arms).items():
        for arm in several:
            updates, time = arm.at_equal_updates(probe), arm.at_equal_time(probe, probe_late)
            ours = f"{data}, {arm.positives}: by the linear probe {updates.points} after as many updates"
            if arm.is_active:
                paper = "Table I: active positives consistently outperform random ones. (On latents.)"
                ours += f"; {time.points} after as much time"
            else:
                paper = (
                    "Table II: positives that vary little in what matters and freely in the rest are more "
                    "effective. (On latents.)"
                )
            agrees = updates.above_zero if len(arm.seeds) > 1 else None
            found.append(Finding(paper=paper, ours=f"{ours}.", agrees=agrees))
    return (*found, *_together(arms))


def _together(arms: Sequence[Arm]) -> list[Finding]:
    """The same of all sets as one."""
    found = []
    for name in dict.fromkeys(arm.positives for arm in arms if arm.is_active):
        several = [arm for arm in arms if arm.positives == name]
        updates = together([arm.at_equal_updates(probe) for arm in several])
        time = together([arm.at_equal_time(probe, probe_late) for arm in several])
        found.append(
            Finding(
                paper="(The same, all sets and seeds together.)",
                ours=f"{name}, {len(updates.values)} pairs of runs: by the linear probe {updates.points} "
                f"after as many updates; {time.points} after as much time.",
            )
        )
    return found


def _numbers(results: Mapping[ActiveRun, ActiveScore]) -> Numbers:
    groups: dict[tuple[str, str], list[ActiveScore]] = {}
    for cell, measured in results.items():
        groups.setdefault((cell.data, cell.positives), []).append(measured)
    rows = []
    for (data, positives), several in groups.items():
        rows.append(_row(f"{data}, {positives}", several, (probe, few, knn), lambda each: each.seconds))
        if positives == RANDOM:
            late = (probe_late, few_late, knn_late)
            rows.append(_row(f"{data}, random, for longer", several, late, lambda each: each.seconds_as_long))
    return Numbers(
        header=("positives", *(title for title, _, _ in KINDS), "seconds", "seeds"),
        rows=tuple(rows),
        note="Accuracy in percent on test images, mean ± standard deviation over the seeds; seconds of "
        "processor time.",
    )


def _row(name: str, several: Sequence[ActiveScore], picks: Sequence[Pick], seconds: Pick) -> tuple[str, ...]:
    return (
        name,
        *(Interval.of([pick(each) for each in several]).percent for pick in picks),
        f"{statistics.fmean(seconds(each) for each in several):.0f}",
        str(len(several)),
    )


def _settings(results: Mapping[ActiveRun, ActiveScore], scale: Scale) -> dict[str, str]:
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
        "targeted": "ink: noise and erasures vary freely; color: all that changes colors. The rest a quarter",
        "seeds": f"{len({cell.seed for cell in results})} at most; the table has each arm's",
    }


ENTRY = Entry(
    name="positives-real-data",
    statement="Positives near the boundary of a classifier in the embedding, and positives that vary little "
    "in what matters and freely in the rest, are more effective than random ones. (Stated for latents; here "
    "on images.)",
    source="Weber and Bachman (2022), sections III and IV, Tables I and II",
    run=run,
    data="CIFAR-10 (cifar-10-binary.tar.gz or cifar-10-batches-bin) or MNIST (its four idx files), or both",
)
