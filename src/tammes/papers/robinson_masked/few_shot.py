"""Classification from a few images of each class (Figures 6-4 and D-3 to D-9)."""

from __future__ import annotations

import math

from matplotlib.figure import Figure as Drawing

from tammes.papers.entry import Request
from tammes.papers.figures import curves
from tammes.papers.finding import Finding
from tammes.papers.page import Figure, panel
from tammes.papers.robinson_masked import methods
from tammes.papers.robinson_masked.bases import Bases
from tammes.papers.robinson_masked.measured import SHOTS, with_shots
from tammes.papers.robinson_masked.methods import METHODS, PROBE, ahead
from tammes.papers.robinson_masked.runs import MAE, SIMCLR, MaskedRun
from tammes.papers.robinson_masked.studies import MaskedPlan, Scores, percent

STATED = (10, 25)
"""Images of a class in Figure 6-4."""
REMARKS = (
    "Ridge regression on frozen features, with 1 to 25 images of each class out of 50 of the training part, "
    "mean over five draws. The penalty is chosen by leaving out shots.",
    "The shots are of the set that the encoder was trained on; the thesis trains on JFT-300M and measures on "
    "nine other sets. Its Figure 6-4 shows bars without numbers.",
)


def run(request: Request) -> None:
    """Train the methods, and measure them with few images of each class, on every set."""
    PLAN.run(request)


def arms(bases: Bases) -> list[MaskedRun]:
    """Return the arms of masked-methods that have all measurements."""
    return [bases.untrained(tuned=True), *methods.tuned_arms(bases)]


def findings(scores: Scores, bases: Bases) -> tuple[Finding, ...]:
    """Return the thesis's statements beside our numbers on one set."""
    return tuple(finding for shots in _known(scores) for finding in _with(scores, bases, shots))


def _with(scores: Scores, bases: Bases, shots: int) -> tuple[Finding, ...]:
    data, pick = scores.data, with_shots(shots)
    long = {method: bases.long(method).arm for method in METHODS}
    return (
        *ahead(
            scores,
            bases,
            pick,
            papers=(
                f"Figure 6-4, {data}: with {shots} images of a class CAN is above SimCLR and MAE.",
                f"(Ours, {data}:) and after as many operations.",
            ),
            ours=f"CAN with {shots} images of a class",
        ),
        Finding(
            paper=f"Appendix D.1, {data}: MAE is comparatively poor with {shots} images of a class.",
            ours="SimCLR in points:",
            effects=(scores.points("over MAE", long[SIMCLR], long[MAE], pick),),
            controls=scores.learned(pick, long[SIMCLR]),
        ),
    )


def _known(scores: Scores) -> list[int]:
    """Return the stated numbers of images that every class has."""
    first = next(iter(next(iter(scores.scores.values())).values()))
    return [shots for shots in STATED if not math.isnan(first.by_shots[shots])]


def _over_shots(scores: Scores, bases: Bases) -> Drawing:
    first = next(iter(next(iter(scores.scores.values())).values()))
    places = [shots for shots, accuracy in first.by_shots.items() if not math.isnan(accuracy)]
    series = {
        arm: (
            places,
            [scores.mean(arm, with_shots(shots)) for shots in places],
        )
        for arm in scores.names
    }
    return curves(series, across="images of a class", up="accuracy", logarithmic=True, width=5.2)


def _figures(scores: Scores, bases: Bases) -> list[Figure]:
    return [
        Figure(
            title=f"{scores.data}: few shots (Figures 6-4 and D-3)",
            words="Accuracy on test images, mean and 95 % interval over the seeds.",
            panels=(
                panel(_over_shots(scores, bases), f"Accuracy over the number of shots on {scores.data}."),
            ),
            wide=True,
        )
    ]


PLAN = MaskedPlan(
    title="A few images of each class",
    searched=METHODS,
    arms=arms,
    findings=findings,
    overview=_over_shots,
    figures=_figures,
    columns={
        **{f"{shots} of a class": percent(with_shots(shots)) for shots in SHOTS},
        "all, linear": percent(PROBE),
    },
    note="Accuracy in percent on test images, means over the seeds with 95 % intervals.",
    remarks=REMARKS,
)
