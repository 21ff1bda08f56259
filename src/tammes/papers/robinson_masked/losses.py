"""The contrastive and the reconstruction loss, trained together and alone (Table 6.3)."""

from __future__ import annotations

from operator import attrgetter

from matplotlib.figure import Figure as Drawing

from tammes.papers.entry import Request
from tammes.papers.figures import dots
from tammes.papers.finding import Effect, Finding
from tammes.papers.page import Figure, panel
from tammes.papers.robinson_masked.bases import Bases
from tammes.papers.robinson_masked.runs import CA, CAN, MAE, RATE, SIMCLR, A, MaskedRun
from tammes.papers.robinson_masked.studies import MaskedPlan, Scores, number, percent

PROBE = attrgetter("probe")
CONTRASTIVE, RECONSTRUCTION = attrgetter("contrastive"), attrgetter("reconstruction")
PAPER = {"contrastive": {SIMCLR: 9.157, CAN: 9.143}, "reconstruction": {A: 0.1658, CAN: 0.1633}}
REMARKS = (
    "All arms hide half of the patches and have the short schedule and the same views. Reconstruction "
    "alone is MAE in this form: batches and epochs are twice as large, for as many steps and as many views "
    "in each. Each has the learning rate that was found for SimCLR, MAE or CAN.",
    "Losses are means over the last epoch of training, before their weights, as in the thesis. Each epoch has "
    "new views, masks and noise. The encoder of CAN sees noise, which the others do not; CA is CAN without "
    "noise and denoising.",
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
        contrast = scores.difference(simclr(bases).arm, arm, CONTRASTIVE)
        masked = scores.difference(bases.run(A).arm, arm, RECONSTRUCTION)
        return (
            Effect(name="contrastive loss", difference=contrast),
            Effect(name="reconstruction loss", difference=masked, digits=5),
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


def _losses(scores: Scores, bases: Bases) -> Drawing:
    shown = {
        run.method: scores.mean(run.arm, CONTRASTIVE)
        for run in (simclr(bases), bases.run(CAN), bases.run(CA))
    }
    ends = [end for each in shown.values() for end in (each.low, each.high) if each.is_known]
    ends = ends or [each.mean for each in shown.values()]
    return dots(shown, {}, label="contrastive loss", limits=(min(ends) - 0.02, max(ends) + 0.02))


def _reconstructions(scores: Scores, bases: Bases) -> Drawing:
    shown = {
        run.method: scores.mean(run.arm, RECONSTRUCTION)
        for run in (bases.run(A), bases.run(CAN), bases.run(CA))
    }
    ends = [end for each in shown.values() for end in (each.low, each.high) if each.is_known]
    ends = ends or [each.mean for each in shown.values()]
    return dots(shown, {}, label="reconstruction loss", limits=(min(ends) - 1e-3, max(ends) + 1e-3))


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
