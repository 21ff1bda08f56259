"""Images nearest to modified embeddings (Figure 4-4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure as Drawing
from torch import Tensor

from tammes.data import Images
from tammes.data.fifths import place_in_class
from tammes.diagnostics import nearest_to_modified
from tammes.diagnostics.blocks import directions
from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.figures import curves
from tammes.papers.finding import Effect, Finding, effect_in_points
from tammes.papers.image_sets import Parts, drawer, image_sets
from tammes.papers.page import Figure, PaperPage, panel
from tammes.papers.robinson_features.methods import MOCO, MOCO_TEMPERATURE, UNTRAINED, FeatureRun, arm_of
from tammes.papers.robinson_features.readouts import views
from tammes.papers.robinson_features.results import ArmScores
from tammes.papers.robinson_features.studies import page_of, percent, study_of
from tammes.papers.robinson_features.training import (
    FeatureScale,
    fitted,
    queued_run,
    scale_of,
    untrained_run,
)
from tammes.papers.study import Study
from tammes.report.figures.canvas import TEXT
from tammes.training import embed
from tammes.training.seeds import Purpose

EPSILONS = (0.0, 0.1, 0.2, 1.0)
"""Shifts, in similarity; the paper shows 0.1, 0.2 and 1."""
SHOWN = 3
"""Anchors whose images are drawn."""
TRAINED = arm_of(MOCO, temperature=MOCO_TEMPERATURE)
REMARKS = (
    "An embedding that is moved belongs to no image. Shown is the training image whose embedding is "
    "nearest to it, without the image of the anchor itself. Anchors are test images; the positive is "
    "another view of the anchor, the negative another test image.",
    "The paper shows one anchor, by ResNet-50 after MoCo-v2 on ImageNet. The shares here are over all test "
    "images.",
)


@dataclass(frozen=True, kw_only=True)
class PictureScore:
    """What the images nearest to modified embeddings have in common with their anchors.

    Args:
        positive: share of the images shown for a positive that have the anchor's class, for each epsilon,
            separated by spaces.
        negative: the same for a negative.
        closeness: mean cosine of anchor and image shown for a positive, for each epsilon.
        approach: the same for a negative.
        shown: rows of the training images shown for the first anchors: the positives, then the negatives.
        seconds: processor time of the training of the encoder.
    """

    positive: str
    negative: str
    closeness: str
    approach: str
    shown: str
    seconds: float

    def of(self, column: str, place: int) -> float:
        """Return a measurement at one of the epsilons."""
        return float(vars(self)[column].split()[place])


def at(column: str, place: int) -> Callable[[PictureScore], float]:
    """Return the function that picks a measurement at one of the epsilons."""
    return lambda score: score.of(column, place)


def run(request: Request) -> None:
    """Train and measure every encoder."""
    scale = scale_of(request)
    study(image_sets(request.required_data(), size=scale.side), scale).run(request)


def study(sets: Mapping[str, Parts], scale: FeatureScale) -> Study[FeatureRun, PictureScore]:
    """Return the study of sets of images.

    Args:
        sets: sets by name.
        scale: size of the study.
    """
    draw = drawer(sets, scale.test_images)
    return study_of(
        sets,
        scale,
        arms=arms,
        scores=PictureScore,
        measure=scored,
        page=lambda results, scale: page(results, scale, draw),
    )


def arms(base: FeatureRun) -> list[FeatureRun]:
    """Return the untrained encoder, and MoCo."""
    return [untrained_run(base), queued_run(base)]


def scored(run: FeatureRun, scale: FeatureScale, parts: Parts) -> PictureScore:
    """Train an encoder, and find the training images nearest to modified embeddings of test images."""
    (fit,) = fitted(run, scale, parts[0])
    bank, classes = embed(fit.model, parts[0])[1], parts[0].required_labels()
    anchors, positives = (
        views(fit, parts[1], purpose)[1] for purpose in (Purpose.FIRST_VIEW, Purpose.SECOND_VIEW)
    )
    asked = parts[1].required_labels()
    order = anchors_of(asked)
    anchors, positives, asked = anchors[order], positives[order], asked[order]
    found = {
        "positive": (positives, -1),
        # The next anchor has another class wherever the classes allow it.
        "negative": (anchors.roll(-1, dims=0), 1),
    }
    shares, cosines, shown = {}, {}, []
    for name, (others, sign) in found.items():
        rows = [nearest_to_modified(anchors, others, bank, shift=sign * epsilon) for epsilon in EPSILONS]
        shares[name] = " ".join(f"{float((classes[row] == asked).double().mean()):.5f}" for row in rows)
        cosines[name] = " ".join(f"{_cosine(anchors, bank[row]):.5f}" for row in rows)
        shown += [str(int(row[place])) for place in range(min(SHOWN, len(anchors))) for row in rows]
    return PictureScore(
        positive=shares["positive"],
        negative=shares["negative"],
        closeness=cosines["positive"],
        approach=cosines["negative"],
        shown=" ".join(shown),
        seconds=fit.seconds,
    )


def anchors_of(labels: Tensor) -> Tensor:
    """Return rows in an order in which neighbors have different classes as long as there are several."""
    return (place_in_class(labels) * (int(labels.max()) + 1) + labels).argsort()


def _cosine(first: Float[Tensor, "n dim"], second: Float[Tensor, "n dim"]) -> float:
    return float((directions(first) * directions(second)).sum(dim=1).mean())


def page(
    results: Mapping[FeatureRun, PictureScore], scale: FeatureScale, draw: Callable[[FeatureRun], Parts]
) -> PaperPage | None:
    """Return the page of what has been measured; None before the first trained encoder."""

    def pictures(scores: ArmScores[PictureScore]) -> Drawing:
        run = scores.runs[TRAINED]
        return _pictures(scores.scores[TRAINED][run.seed], draw(run))

    return page_of(
        results,
        scale,
        title="Images nearest to modified embeddings",
        needed=lambda data: {UNTRAINED, TRAINED},
        overview=pictures,
        findings=findings,
        figures=lambda measured: [_figure(measured, pictures)],
        columns={
            f"{kind}, {epsilon:g}": percent(at(kind, place))
            for kind in ("positive", "negative")
            for place, epsilon in enumerate(EPSILONS)
        },
        note="Share of the images shown that have the anchor's class, in percent, for each epsilon: means "
        "over the seeds with 95 % intervals.",
        remarks=REMARKS,
    )


def _figure(
    measured: Mapping[str, ArmScores[PictureScore]], pictures: Callable[[ArmScores[PictureScore]], Drawing]
) -> Figure:
    panels = [
        panel(pictures(scores), f"{data}: images nearest to modified embeddings.", name=data)
        for data, scores in measured.items()
    ]
    panels += [
        panel(_shares(scores), f"{data}: share of images of the anchor's class.", name=f"{data}, shares")
        for data, scores in measured.items()
    ]
    return Figure(
        title="Positives away from the anchor, negatives towards it (Figure 4-4)",
        words="For each of the first anchors (left) the image nearest to its moved positive, and below it to "
        "its moved negative.",
        panels=tuple(panels),
        wide=True,
    )


def findings(scores: ArmScores[PictureScore]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers on one set."""
    last = len(EPSILONS) - 1
    controls = scores.learned(at("positive", 0), TRAINED)

    def change(column: str, more: int, less: int) -> Effect:
        values = [
            score.of(column, more) - score.of(column, less) for score in scores.scores[TRAINED].values()
        ]
        return effect_in_points("", Estimate.over_seeds(values))

    return (
        Finding(
            paper=f"Figure 4-4, {scores.data}: moved away, a positive becomes an image of another kind.",
            ours="Share with the anchor's class without the move over that at epsilon 1, in points:",
            effects=(change("positive", 0, last),),
            controls=controls,
        ),
        Finding(
            paper=f"Figure 4-4, {scores.data}: moved towards the anchor, a negative becomes one like it.",
            ours="Share with the anchor's class at epsilon 1 over that without the move, in points:",
            effects=(change("negative", last, 0),),
            controls=controls,
        ),
    )


def _shares(scores: ArmScores[PictureScore]) -> Drawing:
    return curves(
        {
            f"{kind}, {arm.partition(',')[0]}": (
                EPSILONS,
                [scores.mean(arm, at(kind, place)) for place in range(len(EPSILONS))],
            )
            for arm in scores.names
            for kind in ("positive", "negative")
        },
        across="epsilon",
        up="share of the anchor's class",
    )


def _pictures(score: PictureScore, parts: Parts) -> Drawing:
    """Draw each anchor with the images nearest to its moved positive and its moved negative."""
    bank, tried = parts
    order = anchors_of(tried.required_labels())
    rows = [int(row) for row in score.shown.split()]
    count = len(rows) // (2 * len(EPSILONS))
    figure = Drawing(figsize=(1.0 * (1 + len(EPSILONS)), 1.05 * 2 * count), layout="constrained")
    grid = figure.subplots(2 * count, 1 + len(EPSILONS), squeeze=False)
    for anchor in range(count):
        for kind, sign in enumerate(("-", "+")):
            axes = grid[2 * anchor + kind]
            start = (kind * count + anchor) * len(EPSILONS)
            shown = [
                (tried, int(order[anchor])),
                *((bank, row) for row in rows[start : start + len(EPSILONS)]),
            ]
            titles = ["anchor", *(f"{sign}{epsilon:g}" for epsilon in EPSILONS)]
            for each, (images, row), title in zip(axes, shown, titles, strict=True):
                each.imshow(_drawn(images, row), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
                each.set_axis_off()
                each.set_title(title, fontsize=TEXT)
    return figure


def _drawn(images: Images, row: int) -> np.ndarray:
    pixels = images[row][0].permute(1, 2, 0).numpy()
    return pixels[:, :, 0] if pixels.shape[2] == 1 else pixels
