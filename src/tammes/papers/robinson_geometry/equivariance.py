"""Whether augmentations act as rotations of the embeddings: CARE against SimCLR (Figures 5-3 to 5-5 and 5-7).

Encoders are trained by SimCLR and with the equivariance loss beside it, and measured on test images under
augmentations that are drawn once and applied to all images. SimCLR in groups has the views of CARE, so that
what the loss does can be told from what its views do. On the circle, embeddings have two dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from statistics import fmean

from tammes.estimate import Estimate
from tammes.papers.arms import UNTRAINED
from tammes.papers.entry import Request
from tammes.papers.figures import curves, dots
from tammes.papers.finding import Effect, Finding
from tammes.papers.image_sets import Parts
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.robinson_geometry.arms import CARE, IN_GROUPS, SIMCLR, STRONG, Scores, learned, scores_of
from tammes.papers.robinson_geometry.care_scale import CareScale, image_set, scale_of
from tammes.papers.robinson_geometry.care_training import CareRun, CareScore, cell, study_of
from tammes.papers.study import Study

ON_SPHERE = (UNTRAINED, SIMCLR, CARE, IN_GROUPS, STRONG)
ON_CIRCLE = (UNTRAINED, SIMCLR, CARE)
CIRCLE = 2
REMARKS = (
    "Each augmentation is drawn once and applied to all measured images, the same for every arm of a seed.",
    "Wahba's error is low also where embeddings hardly move or are all alike, as those of an untrained "
    "network are: read it beside how far they move, and beside the share of that movement that no rotation "
    "explains. Gamma is of the order of one over the squared movement for movements that have nothing to do "
    "with rotations, so an encoder that is less invariant has a lower one for that alone.",
    "SimCLR in groups is SimCLR on the views of CARE: all images of a group share an augmentation, which the "
    "paper's comparison does not separate from the loss.",
    "The weight of CARE is the published 0.01 in the unit of our loss, 0.3 for groups of 16. The paper shows "
    "these figures without numbers, so that there are none beside ours.",
)


def run(request: Request) -> None:
    """Train and measure every arm on the sphere and on the circle."""
    scale, sets = scale_of(request), image_set(request.required_data())
    study(sets, scale).run(request)


def study(sets: Mapping[str, Parts], scale: CareScale) -> Study[CareRun, CareScore]:
    """Return the study of a set of images."""
    cells = [
        cell(arm, name, parts, scale, seed, dimension=dimension)
        for seed in scale.seeds
        for name, parts in sets.items()
        for dimension, arms in ((128, ON_SPHERE), (CIRCLE, ON_CIRCLE))
        for arm in arms
    ]
    return study_of(cells, sets, scale, page)


def page(results: Mapping[CareRun, CareScore], scale: CareScale) -> PaperPage | None:
    """Return the page of what has been measured; None before the first trained arm."""
    sphere, circle = scores_of(results), scores_of(results, dimension=CIRCLE)
    if SIMCLR not in sphere.names:
        return None
    run = next(iter(results))
    overview = dots(
        {name: sphere.mean(name, attrgetter("wahba")) for name in sphere.names},
        {},
        label="Wahba's error",
        limits=(0.0, 1.1 * max(score.wahba for score in results.values())),
    )
    return PaperPage(
        title="Augmentations as rotations",
        overview=overview,
        findings=findings(sphere, circle),
        figures=(_of_augmentations(sphere), _over_epochs(sphere, run.epochs or scale.epochs)),
        numbers=_numbers(sphere, circle),
        remarks=REMARKS,
        settings=settings(run, scale),
    )


def settings(run: CareRun, scale: CareScale) -> dict[str, str]:
    """Return the settings of a study as its page shows them.

    Args:
        run: any of its runs.
        scale: its size.
    """
    return {
        "data": f"{run.data}: {run.images:,} training images, {scale.test_images:,} test images at most",
        "encoder": run.encoder,
        "training": f"{scale.epochs} epochs, {run.batch_size} pairs, Adam at 1e-3 without a schedule",
        "groups": f"{run.groups} of {run.batch_size // max(1, run.groups)} rows",
        "augmentations": f"{scale.augmentations}, on {scale.measured} test images",
    }


def findings(sphere: Scores, circle: Scores) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers, and what they leave open.

    Args:
        sphere: scores with embeddings of 128 dimensions.
        circle: scores with embeddings of 2.
    """

    def below(name: str, more: str, less: str, attribute: str, scores: Scores, digits: int = 2) -> Effect:
        difference = scores.difference(more, less, attrgetter(attribute))
        return Effect(name=name, difference=difference, digits=digits)

    controls = learned(sphere, CARE, SIMCLR)
    return (
        Finding(
            paper="Figure 5-3: CARE has a lower average error and worst-case error.",
            ours="Wahba's error of SimCLR over that of CARE:",
            effects=(
                below("mean", SIMCLR, CARE, "wahba", sphere),
                below("worst augmentation", SIMCLR, CARE, "worst", sphere),
            ),
            controls=controls,
        ),
        Finding(
            paper="Figure 5-3: CARE achieves lower error in nearly all augmentations.",
            ours="Share of the augmentations above one half:",
            effects=(Effect(name="", difference=_share_lower(sphere)),),
            controls=controls,
        ),
        Finding(
            paper="Figure 5-7: CARE attains a much lower relative equivariance error.",
            ours="Gamma of SimCLR over that of CARE:",
            effects=(below("at the end", SIMCLR, CARE, "gamma", sphere),),
            controls=controls,
        ),
        Finding(
            paper="Below Figure 5-7: CARE is less invariant to augmentations.",
            ours="Movement under CARE over that under SimCLR:",
            effects=(below("", CARE, SIMCLR, "invariance", sphere, 3),),
            controls=controls,
        ),
        Finding(
            paper="Corollary 1, Figure 5-4: compositions of augmentations are compositions of rotations.",
            ours="Distance from the product of two rotations, SimCLR over CARE:",
            effects=(below("", SIMCLR, CARE, "composition", sphere),),
            controls=controls,
        ),
        Finding(
            paper="Figure 5-5: on the circle, CARE has a lower variance of the cosine.",
            ours="Variance under SimCLR over that under CARE:",
            effects=(below("", SIMCLR, CARE, "cosine_variance", circle, 4),),
            controls=learned(circle, CARE, SIMCLR),
        ),
        Finding(
            paper="(Ours:) it is the loss, and not the views in groups, that makes augmentations rotations.",
            ours="Share of the movement that no rotation explains, in points, less under the loss:",
            effects=tuple(
                sphere.points(f"{arm} below SimCLR in groups", IN_GROUPS, arm, attrgetter("unexplained"))
                for arm in (CARE, STRONG)
            ),
            controls=learned(sphere, CARE, STRONG, IN_GROUPS),
        ),
    )


def _share_lower(sphere: Scores) -> Estimate | None:
    """Return the share of augmentations with a lower error under CARE than under SimCLR, above one half."""
    ours, theirs = (sphere.scores.get(arm, {}) for arm in (CARE, SIMCLR))
    shares = []
    for seed in ours:
        if seed in theirs:
            pairs = zip(errors_of(ours[seed]), errors_of(theirs[seed]), strict=True)
            shares.append(fmean((a < b) + 0.5 * (a == b) for a, b in pairs) - 0.5)
    return Estimate.over_seeds(shares) if shares else None


def errors_of(score: CareScore) -> list[float]:
    """Return Wahba's error of each augmentation."""
    return [float(word) for word in score.each.split()]


def _of_augmentations(sphere: Scores) -> Figure:
    arms = [arm for arm in ON_SPHERE if arm in sphere.scores]
    first = {arm: errors_of(next(iter(sphere.scores[arm].values()))) for arm in arms}
    order = sorted(range(len(first[SIMCLR])), key=lambda place: first[SIMCLR][place])
    series = {arm: (list(range(1, len(order) + 1)), [first[arm][i] for i in order]) for arm in arms}
    drawn = curves(series, across="augmentation", up="Wahba's error", width=5.2)
    return Figure(
        title="Augmentation by augmentation (Figure 5-3)",
        words="Wahba's error of each augmentation for the first seed, in the order of SimCLR's.",
        panels=(panel(drawn, "Wahba's error of each augmentation for every arm."),),
        wide=True,
    )


def _over_epochs(sphere: Scores, epochs: int) -> Figure:
    places = [-(-epochs // 4), -(-epochs // 2), epochs]
    panels = []
    for name, title in (("gamma", "gamma"), ("invariance", "movement of an embedding")):
        picks = [attrgetter(f"{name}_quarter"), attrgetter(f"{name}_half"), attrgetter(name)]
        series = {
            arm: (places, [sphere.mean(arm, pick) for pick in picks])
            for arm in ON_SPHERE
            if arm in sphere.scores and arm != UNTRAINED
        }
        drawn = curves(series, across="epoch", up=title, width=5.2)
        panels.append(panel(drawn, f"{title} over the epochs for every arm.", name=title))
    return Figure(
        title="Over the epochs (Figure 5-7)",
        words="Means over the seeds with 95 % intervals, after a quarter, half and all of the epochs.",
        panels=tuple(panels),
        wide=True,
    )


def _numbers(sphere: Scores, circle: Scores) -> Numbers:
    header = (
        "arm", "Wahba", "worst", "no rotation, %", "gamma", "movement", "composition", "variance of cosine",
        "readout", "kNN", "seeds",
    )  # fmt: skip
    return Numbers(
        header=header,
        rows=tuple(
            _row(f"{arm}{where}", scores, arm)
            for where, scores in (("", sphere), (", circle", circle))
            for arm in scores.names
        ),
        note="Means over the seeds with 95 % intervals. Readout and kNN are accuracies in percent from the "
        "features; all else is of the embeddings.",
    )


def _row(name: str, scores: Scores, arm: str) -> tuple[str, ...]:
    numbers = (
        ("wahba", 2, 1.0), ("worst", 2, 1.0), ("unexplained", 1, 100.0), ("gamma", 3, 1.0),
        ("invariance", 3, 1.0), ("composition", 2, 1.0), ("cosine_variance", 4, 1.0),
    )  # fmt: skip
    return (
        name,
        *(scores.mean(arm, attrgetter(each)).text(digits, scale=scale) for each, digits, scale in numbers),
        scores.mean(arm, attrgetter("probe")).percent,
        scores.mean(arm, attrgetter("knn")).percent,
        str(len(scores.scores[arm])),
    )
