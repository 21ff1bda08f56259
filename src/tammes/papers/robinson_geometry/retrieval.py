"""What five nearest images change when the colors of a query do: CARE against SimCLR (Figure 5-6)."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from tammes.papers.arms import UNTRAINED
from tammes.papers.entry import Request
from tammes.papers.figures import dots
from tammes.papers.finding import Effect, Finding
from tammes.papers.image_sets import Parts
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.robinson_geometry.arms import CARE, IN_GROUPS, SIMCLR, STRONG, Scores, learned, scores_of
from tammes.papers.robinson_geometry.care_scale import CareScale, image_set, scale_of
from tammes.papers.robinson_geometry.care_training import CareRun, CareScore, study_of_arms
from tammes.papers.robinson_geometry.equivariance import settings
from tammes.papers.study import Study

ORDER = (UNTRAINED, SIMCLR, CARE, IN_GROUPS, STRONG)
REMARKS = (
    "Each query has its own change of color; its five nearest images are sought among the measured test "
    "images, without the query itself.",
    "The paper shows three queries. The slope here is over all queries: 0 if the colors of what is retrieved "
    "do not follow the query, 1 if they change as it does.",
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
    slopes = [scores.mean(name, attrgetter("followed")) for name in scores.names]
    ends = [0.0, 0.1, *(end for slope in slopes for end in (slope.low, slope.high) if slope.is_known)]
    drawings = {
        "neighbors that stay": dots(
            {name: scores.mean(name, attrgetter("kept")) for name in scores.names},
            {},
            label="share of the five nearest that stay",
            limits=(0.0, 1.0),
        ),
        "colors that follow": dots(
            dict(zip(scores.names, slopes, strict=True)),
            {},
            label="slope of the colors retrieved over those of the query",
            limits=(min(ends), max(ends)),
        ),
    }
    return PaperPage(
        title="Retrieval with a change of color",
        overview=drawings["colors that follow"],
        findings=findings(scores),
        figures=(
            Figure(
                title="What changes with the colors of the query (Figure 5-6)",
                words="On test images, mean and 95 % interval over the seeds.",
                panels=tuple(
                    panel(drawn, f"{name.capitalize()}, for every arm.", name=name)
                    for name, drawn in drawings.items()
                ),
                wide=True,
            ),
        ),
        numbers=Numbers(
            header=("arm", "stay, %", "follow", "readout", "kNN", "seeds"),
            rows=tuple(
                (
                    arm,
                    scores.mean(arm, attrgetter("kept")).percent,
                    scores.mean(arm, attrgetter("followed")).text(3),
                    scores.mean(arm, attrgetter("probe")).percent,
                    scores.mean(arm, attrgetter("knn")).percent,
                    str(len(scores.scores[arm])),
                )
                for arm in scores.names
            ),
            note="Means over the seeds with 95 % intervals; readout and kNN are accuracies in percent.",
        ),
        remarks=REMARKS,
        settings=settings(run, scale),
    )


def findings(scores: Scores) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers."""
    controls = learned(scores, CARE, SIMCLR)
    return (
        Finding(
            paper="Figure 5-6: retrieved images vary more with the query's color under CARE than SimCLR.",
            ours="Share of the five nearest that stay under SimCLR over that under CARE, in points:",
            effects=(scores.points("", SIMCLR, CARE, attrgetter("kept")),),
            controls=controls,
        ),
        Finding(
            paper="Figure 5-6: the color of what SimCLR retrieves stays, and that of CARE follows the query.",
            ours="Slope under CARE over that under SimCLR:",
            effects=(Effect(name="", difference=scores.difference(CARE, SIMCLR, attrgetter("followed"))),),
            controls=controls,
        ),
        Finding(
            paper="(Ours:) it is the loss, and not the views in groups.",
            ours="Slope over that of SimCLR in groups:",
            effects=tuple(
                Effect(name=arm, difference=scores.difference(arm, IN_GROUPS, attrgetter("followed")))
                for arm in (CARE, STRONG)
            ),
            controls=learned(scores, CARE, STRONG, IN_GROUPS),
        ),
    )
