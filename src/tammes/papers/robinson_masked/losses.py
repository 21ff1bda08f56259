"""The contrastive and the reconstruction loss, trained together and alone (Table 6.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import attrgetter

from matplotlib.figure import Figure as Drawing

from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.figures import dots
from tammes.papers.finding import Effect, Finding
from tammes.papers.page import Figure, panel
from tammes.papers.robinson_masked.bases import Bases
from tammes.papers.robinson_masked.measured import MaskedScore
from tammes.papers.robinson_masked.runs import CA, CAN, MAE, RATE, SIMCLR, A, MaskedRun
from tammes.papers.robinson_masked.studies import MaskedPlan, Scores, number, percent

PROBE = attrgetter("probe")
CONTRASTIVE, RECONSTRUCTION = attrgetter("contrastive"), attrgetter("reconstruction")
Pick = Callable[[MaskedScore], float]
REMARKS = (
    "All arms hide half of the patches and have the same schedule and views. Reconstruction "
    "alone is MAE in this form: its batches and epochs are twice as large, for as many steps and views.",
    "Each has the learning rate that was found for SimCLR, MAE or CAN.",
    "Losses are means over the last epoch of training, before their weights, as in the thesis. Each epoch "
    "has new views, masks and noise. The encoder of CAN sees noise, which the others do not; CA is CAN "
    "without noise and denoising.",
)


def run(request: Request) -> None:
    """Train both losses together and alone on every set."""
    PLAN.run(request)


def arms(bases: Bases) -> list[MaskedRun]:
    """Return the untrained encoder, each loss alone, and both with and without noise."""
    return [bases.untrained(), simclr(bases), bases.run(A), bases.run(CAN), bases.run(CA)]


def simclr(bases: Bases) -> MaskedRun:
    """Return SimCLR with half of the patches hidden."""
    return bases.run(SIMCLR, rate=RATE)


def findings(scores: Scores, bases: Bases) -> tuple[Finding, ...]:
    """Return the thesis's statements beside our numbers on one set."""
    data = scores.data

    def lower(method: str) -> tuple[Effect, ...]:
        arm = bases.run(method).arm
        return (
            Effect(
                name="contrastive loss", difference=_difference(scores, simclr(bases).arm, arm, CONTRASTIVE)
            ),
            Effect(
                name="reconstruction loss",
                difference=_difference(scores, bases.run(A).arm, arm, RECONSTRUCTION),
                digits=5,
            ),
        )

    return (
        Finding(
            paper=f"Table 6.3, {data}: CAN lowers both losses below their values alone (9.157 to 9.143 and "
            "0.1658 to 0.1633).",
            ours="Alone over CAN:",
            effects=lower(CAN),
            controls=scores.learned(PROBE, bases.run(CAN).arm, simclr(bases).arm),
        ),
        Finding(
            paper=f"(Ours, {data}:) the same without noise.",
            ours="Alone over CA:",
            effects=lower(CA),
            controls=scores.learned(PROBE, bases.run(CA).arm, simclr(bases).arm),
        ),
    )


def _difference(scores: Scores, more: str, less: str, pick: Pick) -> Estimate | None:
    """Return by how much a loss is above another; None for encoders that are not trained, which have none."""
    if not all(_is_known(scores, arm, pick) for arm in (more, less)):
        return None
    return scores.difference(more, less, pick)


def _is_known(scores: Scores, arm: str, pick: Pick) -> bool:
    found = scores.scores.get(arm, {})
    return bool(found) and not any(math.isnan(pick(score)) for score in found.values())


def _losses(scores: Scores, bases: Bases) -> Drawing:
    return _drawn(scores, (simclr(bases), bases.run(CAN), bases.run(CA)), CONTRASTIVE, "contrastive loss")


def _reconstructions(scores: Scores, bases: Bases) -> Drawing:
    runs = bases.run(A), bases.run(CAN), bases.run(CA)
    return _drawn(scores, runs, RECONSTRUCTION, "reconstruction loss")


def _drawn(scores: Scores, runs: Sequence[MaskedRun], pick: Pick, label: str) -> Drawing:
    """Draw a loss of each run, with a margin of a tenth of their span; readouts if there are no losses."""
    shown = {run.method: scores.mean(run.arm, pick) for run in runs if _is_known(scores, run.arm, pick)}
    if not shown:
        readouts = {run.method: scores.mean(run.arm, PROBE) for run in runs}
        return dots(readouts, {}, label="linear readout")
    ends = [each.mean for each in shown.values()]
    ends += [end for each in shown.values() if each.is_known for end in (each.low, each.high)]
    margin = 0.1 * (max(ends) - min(ends)) or 0.01
    return dots(shown, {}, label=label, limits=(min(ends) - margin, max(ends) + margin))


def _figures(scores: Scores, bases: Bases) -> list[Figure]:
    drawings = {"contrast": _losses(scores, bases), "reconstruction": _reconstructions(scores, bases)}
    return [
        Figure(
            title=f"{scores.data}: losses alone and together (Table 6.3)",
            words="Mean over the last epoch, mean and 95 % interval over the seeds.",
            panels=tuple(
                panel(drawn, f"Loss of the {name} on {scores.data}.", name=name)
                for name, drawn in drawings.items()
            ),
            wide=True,
        )
    ]


PLAN = MaskedPlan(
    title="Contrast and reconstruction, together and alone",
    searched=(MAE, SIMCLR, CAN),
    arms=arms,
    findings=findings,
    overview=_losses,
    figures=_figures,
    columns={
        "contrastive loss": number(CONTRASTIVE, 4),
        "reconstruction loss": number(RECONSTRUCTION, 5),
        "linear": percent(PROBE),
        "seconds": number(attrgetter("seconds"), 0),
    },
    note="Losses are means over the last epoch, before their weights; accuracy in percent on test images. "
    "Means over the seeds, of the accuracy with 95 % intervals.",
    remarks=REMARKS,
)
