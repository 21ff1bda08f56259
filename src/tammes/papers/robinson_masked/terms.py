"""CAN without each of its terms, and parts of its denoising (Tables 6.4 and 6.5)."""

from __future__ import annotations

from operator import attrgetter

from matplotlib.figure import Figure as Drawing

from tammes.papers.entry import Request
from tammes.papers.figures import dots
from tammes.papers.finding import Finding
from tammes.papers.page import Figure, panel
from tammes.papers.robinson_masked.bases import Bases
from tammes.papers.robinson_masked.runs import AN, CA, CAN, CN, NOISE, UNTOLD, MaskedRun
from tammes.papers.robinson_masked.studies import MaskedPlan, Scores, number, percent

PROBE = attrgetter("probe")
PAPER = {AN: 0.428, CN: 0.685, CA: 0.679, NOISE: 0.686, UNTOLD: 0.684, CAN: 0.689}
"""Linear readout of ViT-B after 100 epochs of ImageNet."""
REMARKS = (
    "All arms have the schedule, the learning rate and the views of CAN, so that differences are taken "
    "seed by seed. A weight of zero takes a term out, and the others stay.",
    "Without contrast a step has one view of each image. That arm has batches and epochs twice as large: as "
    "many steps, and as many views in each.",
    "CA has no noise in the input (the None of Table 6.4, and the CA of Table 6.5, with one number in both).",
)


def run(request: Request) -> None:
    """Train and measure CAN and its ablations on every set."""
    PLAN.run(request)


def arms(bases: Bases) -> list[MaskedRun]:
    """Return the untrained encoder, CAN, and CAN without some of its parts."""
    return [bases.untrained(), *(bases.run(method) for method in (CAN, AN, CN, CA, NOISE, UNTOLD))]


def findings(scores: Scores, bases: Bases) -> tuple[Finding, ...]:
    """Return the thesis's statements beside our numbers on one set."""
    data = scores.data
    arm = {method: bases.run(method).arm for method in PAPER}
    learned = scores.learned(PROBE, arm[CAN])
    return (
        Finding(
            paper=f"Table 6.5, {data}: each of the three terms adds to the linear readout "
            "(26.1, 0.4 and 1.0 points).",
            ours="CAN in points over itself:",
            effects=tuple(
                scores.points(words, arm[CAN], arm[method], PROBE)
                for words, method in (
                    ("without contrast", AN),
                    ("without reconstruction", CN),
                    ("without noise", CA),
                )
            ),
            controls=learned,
        ),
        Finding(
            paper=f"Table 6.5, {data}: leaving out the contrast does the most harm.",
            ours="Over CAN without contrast, in points:",
            effects=(
                scores.points("without reconstruction", arm[CN], arm[AN], PROBE),
                scores.points("without noise", arm[CA], arm[AN], PROBE),
            ),
            controls=scores.learned(PROBE, arm[CN], arm[CA]),
        ),
        Finding(
            paper=f"Table 6.4, {data}: noise in the input alone is better than none (0.7 points).",
            ours="In points:",
            effects=(scores.points("", arm[NOISE], arm[CA], PROBE),),
            controls=scores.learned(PROBE, arm[NOISE]),
        ),
        Finding(
            paper=f"Table 6.4, {data}: denoising with the level adds to it (0.3 points).",
            ours="CAN in points:",
            effects=(scores.points("over noise alone", arm[CAN], arm[NOISE], PROBE),),
            controls=learned,
        ),
        Finding(
            paper=f"Table 6.4, {data}: without the level, denoising is worse than noise alone (0.2 points) "
            "and than with it (0.5 points).",
            ours="Over CAN without the level, in points:",
            effects=(
                scores.points("noise alone", arm[NOISE], arm[UNTOLD], PROBE),
                scores.points("CAN", arm[CAN], arm[UNTOLD], PROBE),
            ),
            controls=scores.learned(PROBE, arm[NOISE], arm[CAN]),
        ),
    )


def _readouts(scores: Scores, bases: Bases) -> Drawing:
    paper = {bases.run(method).arm: readout for method, readout in PAPER.items()}
    shown = {arm: scores.mean(arm, PROBE) for arm in scores.names}
    return dots(shown, paper, label="linear readout (rings: the thesis's ViT-B)")


def _figures(scores: Scores, bases: Bases) -> list[Figure]:
    return [
        Figure(
            title=f"{scores.data}: terms of CAN (Tables 6.4 and 6.5)",
            words="Accuracy of the linear readout on test images, mean and 95 % interval over the seeds.",
            panels=(panel(_readouts(scores, bases), f"Readout of CAN and its ablations on {scores.data}."),),
            wide=True,
        )
    ]


PLAN = MaskedPlan(
    title="The terms of CAN",
    searched=(CAN,),
    arms=arms,
    findings=findings,
    overview=_readouts,
    figures=_figures,
    columns={
        "linear": percent(PROBE),
        "contrastive loss": number(attrgetter("contrastive"), 3),
        "reconstruction loss": number(attrgetter("reconstruction"), 4),
        "denoising loss": number(attrgetter("denoising"), 5),
        "seconds": number(attrgetter("seconds"), 0),
    },
    note="Accuracy in percent on test images, means over the seeds with 95 % intervals; losses are means "
    "over the last epoch, before their weights.",
    remarks=REMARKS,
)
