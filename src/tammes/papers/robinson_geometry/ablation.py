"""The terms of CARE, each alone and in sums (Figures 5-2 and C-1 to C-6).

All arms have the same views, whose groups share an augmentation, the same images, first weights and order.
An arm has collapsed if views of different images have a cosine of nearly one.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from tammes.papers.arms import UNTRAINED
from tammes.papers.entry import Request
from tammes.papers.figures import curves, dots
from tammes.papers.finding import Effect, Finding, within
from tammes.papers.image_sets import Parts
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.robinson_geometry.arms import (
    BOTH,
    CARE,
    EQUIVARIANCE,
    IN_GROUPS,
    INVARIANCE,
    SPREAD,
    UNIFORMITY,
    Scores,
    gain,
    learned,
    scores_of,
)
from tammes.papers.robinson_geometry.care_scale import CareScale, image_set, scale_of
from tammes.papers.robinson_geometry.care_training import CareRun, CareScore, study_of_arms
from tammes.papers.robinson_geometry.equivariance import settings
from tammes.papers.study import Study

INFO_NCE = IN_GROUPS
"""Invariance + uniformity, eq. 5.4."""
ORDER = (UNTRAINED, INFO_NCE, CARE, UNIFORMITY, SPREAD, BOTH, INVARIANCE, EQUIVARIANCE)
COLLAPSING = (INVARIANCE, EQUIVARIANCE, BOTH)
COLLAPSED = 0.95
"""Mean cosine of different images from which on embeddings count as one point."""
LIKE_RANDOM = 0.03
"""Difference of accuracies that still counts as similar to random weights."""
REMARKS = (
    "SimCLR in groups stands for invariance + uniformity (eq. 5.4): InfoNCE on the views of the other arms.",
    "The embeddings of an untrained network lie close together, too: a collapse must lie above that.",
    "The linear readout sees the features before the projection head, which may tell images apart although "
    "their embeddings do not. Figure 5-2 shows bars without numbers, so that there are none beside ours.",
)


def run(request: Request) -> None:
    """Train and measure every combination of terms."""
    scale, sets = scale_of(request), image_set(request.required_data())
    study(sets, scale).run(request)


def study(sets: Mapping[str, Parts], scale: CareScale) -> Study[CareRun, CareScore]:
    """Return the study of a set of images."""
    return study_of_arms(ORDER, sets, scale, page)


def page(results: Mapping[CareRun, CareScore], scale: CareScale) -> PaperPage | None:
    """Return the page of what has been measured; None before the first trained arm."""
    scores = scores_of(results)
    if INFO_NCE not in scores.names:
        return None
    run = next(iter(results))
    readout = {name: scores.mean(name, attrgetter("probe")) for name in scores.names}
    return PaperPage(
        title="The terms of the equivariance loss",
        overview=dots(readout, {}, label="linear readout"),
        findings=findings(scores),
        figures=(_similarities(scores, run.epochs or scale.epochs),),
        numbers=_numbers(scores),
        remarks=REMARKS,
        settings=settings(run, scale),
    )


def findings(scores: Scores) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers."""

    def together(arm: str) -> Effect:
        known = arm in scores.scores
        over = scores.mean(arm, attrgetter("other")) - COLLAPSED if known else None
        return Effect(name=f"{arm}, cosine of different images above {COLLAPSED:g}", difference=over)

    def nearer(arm: str) -> Effect:
        difference = scores.difference(arm, UNTRAINED, attrgetter("other"))
        return Effect(name=f"{arm}, over the same cosine of untrained", difference=difference)

    alone = scores.difference(UNIFORMITY, UNTRAINED, attrgetter("probe"))
    like_random = Effect(name="uniformity", difference=None)
    if alone is not None:
        like_random = within("uniformity over untrained", alone, 0.0, LIKE_RANDOM)
    return (
        Finding(
            paper="Section 5.5.4: invariance and equivariance alone lead to collapse.",
            ours="Mean cosine of views of different images:",
            effects=tuple(together(arm) for arm in COLLAPSING),
            controls=tuple(nearer(arm) for arm in COLLAPSING),
        ),
        Finding(
            paper="Section 5.5.4: uniformity alone prevents collapse.",
            ours="Mean cosine of different images of the collapsing terms over that of uniformity:",
            effects=tuple(
                Effect(name=arm, difference=scores.difference(arm, UNIFORMITY, attrgetter("other")))
                for arm in COLLAPSING
            ),
            controls=(
                Effect(
                    name="cosine of different images, untrained over uniformity",
                    difference=scores.difference(UNTRAINED, UNIFORMITY, attrgetter("other")),
                ),
                *learned(scores, INFO_NCE),
            ),
        ),
        Finding(
            paper="Section 5.5.4: uniformity alone performs similarly to random initialization.",
            ours="Linear readout, as a share:",
            effects=(like_random,),
            controls=learned(scores, INFO_NCE),
        ),
        Finding(
            paper="Section 5.5.4: uniformity + equivariance yields non-trivial representations.",
            ours="Linear readout in points:",
            effects=(gain(scores, SPREAD, UNTRAINED), gain(scores, SPREAD, UNIFORMITY)),
            controls=learned(scores, INFO_NCE),
        ),
        Finding(
            paper="Section 5.5.4: it falls below invariance-based contrastive learning.",
            ours="Linear readout in points:",
            effects=(gain(scores, INFO_NCE, SPREAD),),
            controls=learned(scores, INFO_NCE),
        ),
        Finding(
            paper="Figure 5-2: the best performance is that of all three terms.",
            ours="Linear readout in points:",
            effects=tuple(gain(scores, CARE, arm) for arm in (INFO_NCE, SPREAD, UNIFORMITY)),
            controls=learned(scores, CARE),
        ),
    )


def _similarities(scores: Scores, epochs: int) -> Figure:
    places = [-(-epochs // 4), -(-epochs // 2), epochs]
    picks = [attrgetter("positive_quarter"), attrgetter("positive_half"), attrgetter("positive")]
    over = {
        arm: (places, [scores.mean(arm, pick) for pick in picks]) for arm in scores.names if arm != UNTRAINED
    }
    tenths = [tenth / 10 for tenth in range(11)]
    deciles = {
        arm: (tenths, [float(word) for word in next(iter(scores.scores[arm].values())).deciles.split()])
        for arm in scores.names
    }
    drawings = (
        (
            "cosine of the two views at the end",
            curves(deciles, across="share of the images", up="cosine", width=5.2),
        ),
        ("mean cosine over the epochs", curves(over, across="epoch", up="cosine", width=5.2)),
    )
    return Figure(
        title="Similarity of positive pairs (Figures C-1 to C-6)",
        words="Left: deciles of the cosine of the two views of test images, first seed. Right: its mean over "
        "the epochs, with 95 % intervals over the seeds.",
        panels=tuple(panel(drawn, f"{name}, for every arm.", name=name) for name, drawn in drawings),
        wide=True,
    )


def _numbers(scores: Scores) -> Numbers:
    rows = []
    for arm in scores.names:
        numbers = [scores.mean(arm, attrgetter(name)).text(3) for name in ("positive", "other", "invariance")]
        numbers += [scores.mean(arm, attrgetter("wahba")).text(2)]
        readouts = [scores.mean(arm, attrgetter(name)).percent for name in ("probe", "knn")]
        rows.append((arm, *readouts, *numbers, str(len(scores.scores[arm]))))
    return Numbers(
        header=("terms", "readout", "kNN", "cosine of views", "of others", "movement", "Wahba", "seeds"),
        rows=tuple(rows),
        note="Means over the seeds with 95 % intervals; readout and kNN are accuracies in percent from the "
        "features, all else is of the embeddings.",
    )
