"""Fine-tuned encoders on corrupted images (Figures 6-5, D-1, D-2 and D-8)."""

from __future__ import annotations

import math
from operator import attrgetter

from matplotlib.figure import Figure as Drawing

from tammes.papers.arms import UNTRAINED
from tammes.papers.entry import Request
from tammes.papers.figures import dots
from tammes.papers.finding import Effect, Finding
from tammes.papers.page import Figure, panel
from tammes.papers.robinson_masked.bases import Bases
from tammes.papers.robinson_masked.few_shot import arms
from tammes.papers.robinson_masked.measured import under
from tammes.papers.robinson_masked.methods import METHODS, TUNED, ahead
from tammes.papers.robinson_masked.runs import CAN, MAE, SIMCLR
from tammes.papers.robinson_masked.studies import MaskedPlan, Scores, percent

ROBUST, CLEAN = attrgetter("robust"), attrgetter("clean")
NEARLY_ALL = 0.8
"""Share of the shifts in which CAN must be above a rival, for "nearly all cases"."""
REMARKS = (
    "Fine-tuned encoders classify test images under corruptions at five severities, made by functions of our "
    "own that are close to those of CIFAR-10-C: accuracies must not be set beside published ones.",
    "The thesis has seven sets of photographs with the classes of ImageNet. `tammes evaluate RUN --protocol "
    "robustness` measures such sets, in folders of classes.",
)


def run(request: Request) -> None:
    """Train and fine-tune the methods, and measure them on corrupted images, on every set."""
    PLAN.run(request)


def findings(scores: Scores, bases: Bases) -> tuple[Finding, ...]:
    """Return the thesis's statements beside our numbers on one set."""
    data, can = scores.data, bases.long(CAN).arm
    names = list(next(iter(scores.scores[can].values())).by_corruption)
    return (
        *ahead(
            scores,
            bases,
            ROBUST,
            papers=(
                f"Figure 6-5, {data}: fine-tuned, CAN is more robust than SimCLR and MAE.",
                f"(Ours, {data}:) and after as many operations.",
            ),
            ours="CAN, mean over all corruptions",
        ),
        *(_nearly_all(scores, bases, rival, names) for rival in (SIMCLR, MAE)),
        Finding(
            paper=f"Figure D-2, {data}: CAN is more robust than the same network trained from scratch.",
            ours="Mean accuracy over all corruptions, in points:",
            effects=(scores.points("", can, UNTRAINED, ROBUST),),
            controls=scores.learned(attrgetter("probe"), can),
        ),
    )


def _nearly_all(scores: Scores, bases: Bases, rival: str, names: list[str]) -> Finding:
    can = bases.long(CAN).arm
    effects: tuple[Effect, ...] = tuple(
        scores.points(name, can, bases.long(rival).arm, under(name)) for name in names
    )
    return Finding(
        paper=f"Figure 6-5, {scores.data}: CAN is above {rival} under nearly all shifts.",
        ours=f"By corruption, mean over five severities, in points (at least {NEARLY_ALL:.0%} of them):",
        effects=effects,
        controls=scores.learned(ROBUST, can),
        required=math.ceil(NEARLY_ALL * len(names)),
    )


def _means(scores: Scores, bases: Bases) -> Drawing:
    shown = {arm: scores.mean(arm, ROBUST) for arm in scores.names}
    return dots(shown, {}, label="mean accuracy under corruption")


def _figures(scores: Scores, bases: Bases) -> list[Figure]:
    names = list(next(iter(scores.scores[bases.long(CAN).arm].values())).by_corruption)
    drawings = {
        method: dots(
            {name: scores.mean(bases.long(method).arm, under(name)) for name in names},
            {},
            label="accuracy",
        )
        for method in METHODS
    }
    return [
        Figure(
            title=f"{scores.data}: corrupted images (Figure 6-5)",
            words="Accuracy of the fine-tuned encoders over five severities, mean and 95 % interval over the "
            "seeds.",
            panels=(
                panel(_means(scores, bases), f"Mean over all corruptions on {scores.data}.", name="all"),
                *(
                    panel(drawn, f"Accuracy of {method} by corruption on {scores.data}.", name=method)
                    for method, drawn in drawings.items()
                ),
            ),
            wide=True,
        )
    ]


PLAN = MaskedPlan(
    title="Fine-tuned encoders on corrupted images",
    searched=METHODS,
    arms=arms,
    findings=findings,
    overview=_means,
    figures=_figures,
    columns={
        "all test images": percent(TUNED),
        "before corruption": percent(CLEAN),
        "corrupted": percent(ROBUST),
    },
    note="Accuracy in percent after fine-tuning, means over the seeds with 95 % intervals; the corrupted "
    "images are some of the test images.",
    remarks=REMARKS,
)
