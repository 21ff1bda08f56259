"""Linear readout with and without the equivariance loss, on SimCLR and on MoCo (Figure 5-8)."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from tammes.papers.arms import UNTRAINED
from tammes.papers.entry import Request
from tammes.papers.figures import dots
from tammes.papers.finding import Finding
from tammes.papers.image_sets import Parts
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.robinson_geometry.arms import (
    CARE,
    IN_GROUPS,
    MOCO,
    MOCO_CARE,
    MOCO_IN_GROUPS,
    SIMCLR,
    Scores,
    gain,
    learned,
    scores_of,
)
from tammes.papers.robinson_geometry.care_scale import CareScale, image_set, scale_of
from tammes.papers.robinson_geometry.care_training import CareRun, CareScore, study_of_arms
from tammes.papers.robinson_geometry.equivariance import settings
from tammes.papers.study import Study

ORDER = (UNTRAINED, SIMCLR, IN_GROUPS, CARE, MOCO, MOCO_IN_GROUPS, MOCO_CARE)
HOSTS = ((CARE, SIMCLR), (MOCO_CARE, MOCO))
LOSS_ALONE = ((CARE, IN_GROUPS), (MOCO_CARE, MOCO_IN_GROUPS))
REMARKS = (
    "Runs of one seed have the same images, first weights and order, so that differences are taken seed by "
    "seed. SimCLR and MoCo in groups have the views of CARE, without its loss.",
    "With MoCo the second views come from the momentum encoder, so that the equivariance loss turns the "
    "first views alone. The paper has ResNet-50 for 400 epochs and shows bars without numbers; its five "
    "seeds are of the linear readout, ours of the whole training.",
)


def run(request: Request) -> None:
    """Train and measure every arm."""
    scale, sets = scale_of(request), image_set(request.required_data())
    study(sets, scale).run(request)


def study(sets: Mapping[str, Parts], scale: CareScale) -> Study[CareRun, CareScore]:
    """Return the study of a set of images."""
    return study_of_arms(ORDER, sets, scale, page)


def page(results: Mapping[CareRun, CareScore], scale: CareScale) -> PaperPage | None:
    """Return the page of what has been measured; None before the first trained arm."""
    scores = scores_of(results)
    if SIMCLR not in scores.names:
        return None
    run = next(iter(results))
    drawings = {
        title: dots(
            {name: scores.mean(name, attrgetter(pick)) for name in scores.names},
            {},
            label=title,
        )
        for title, pick in (("linear readout", "probe"), ("nearest neighbors", "knn"))
    }
    return PaperPage(
        title="Linear readout with the equivariance loss",
        overview=drawings["linear readout"],
        findings=findings(scores),
        figures=(
            Figure(
                title="Accuracy (Figure 5-8)",
                words="On test images, mean and 95 % interval over the seeds.",
                panels=tuple(
                    panel(drawn, f"Accuracy of every arm, {name}.", name=name)
                    for name, drawn in drawings.items()
                ),
                wide=True,
            ),
        ),
        numbers=Numbers(
            header=("arm", "readout", "kNN", "seconds", "seeds"),
            rows=tuple(
                (
                    arm,
                    scores.mean(arm, attrgetter("probe")).percent,
                    scores.mean(arm, attrgetter("knn")).percent,
                    f"{scores.mean(arm, attrgetter('seconds')).mean:.0f}",
                    str(len(scores.scores[arm])),
                )
                for arm in scores.names
            ),
            note="Accuracy in percent from the features, means over the seeds with 95 % intervals; seconds "
            "of processor time of a training.",
        ),
        remarks=REMARKS,
        settings=settings(run, scale),
    )


def findings(scores: Scores) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers."""
    return (
        *(
            Finding(
                paper=f"Figure 5-8: the readout of {host} improves with CARE.",
                ours="Linear readout in points:",
                effects=(gain(scores, care, host),),
                controls=learned(scores, care, host),
            )
            for care, host in HOSTS
        ),
        *(
            Finding(
                paper=f"(Ours:) {care} improves by the loss, and not by the views in groups.",
                ours="Linear readout in points:",
                effects=(gain(scores, care, grouped),),
                controls=learned(scores, care, grouped),
            )
            for care, grouped in LOSS_ALONE
        ),
    )
