"""CAN and SimCLR over the masking rate, and CAN over its weights and its noise (Figures 6-6 and 6-7)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from operator import attrgetter

from matplotlib.figure import Figure as Drawing

from tammes.papers.entry import Request
from tammes.papers.figures import curves
from tammes.papers.finding import Effect, Finding, within
from tammes.papers.page import Figure, panel
from tammes.papers.robinson_masked.bases import Bases
from tammes.papers.robinson_masked.runs import (
    CA,
    CAN,
    CN,
    CONTRAST,
    NOISE_LEVEL,
    RATE,
    SHARE,
    SIMCLR,
    MaskedRun,
)
from tammes.papers.robinson_masked.studies import MaskedPlan, Scores, number, percent

PROBE = attrgetter("probe")
RATES = (0.0, 0.25, 0.5, 0.75)
CONTRASTS = (0.003, CONTRAST, 0.3)
NOISES = (0.0, 0.02, NOISE_LEVEL, 0.2)
SHARES = (0.5, SHARE, 0.9)
SIMILAR = 0.01
"""Difference of accuracies that still counts as similar."""
REMARKS = (
    "All arms have the same schedule. CAN keeps the learning rate that was found for its usual settings, "
    "SimCLR that of whole images.",
    "With nothing hidden there is nothing to reconstruct: CAN at rate 0 is contrast and denoising. Without "
    "noise it is contrast and reconstruction.",
    "The figures of the thesis are drawn without numbers.",
)


def run(request: Request) -> None:
    """Train and measure every setting on every set."""
    PLAN.run(request)


def arms(bases: Bases) -> list[MaskedRun]:
    """Return the untrained encoder, and each setting with all others as usual."""
    series = (rates(bases), simclr_rates(bases), contrasts(bases), noises(bases), shares(bases))
    found = [run for each in series for run in each.values()]
    return [bases.untrained(), *dict.fromkeys(found)]


def rates(bases: Bases) -> dict[float, MaskedRun]:
    """Return CAN by masking rate."""
    return {rate: bases.run(CAN, rate=rate) if rate else bases.run(CN, rate=0.0) for rate in RATES}


def simclr_rates(bases: Bases) -> dict[float, MaskedRun]:
    """Return SimCLR by masking rate."""
    return {rate: bases.run(SIMCLR, rate=rate) for rate in RATES}


def contrasts(bases: Bases) -> dict[float, MaskedRun]:
    """Return CAN by lambda_InfoNCE."""
    return {weight: bases.run(CAN, contrast=weight) for weight in CONTRASTS}


def noises(bases: Bases) -> dict[float, MaskedRun]:
    """Return CAN by the largest level of the noise."""
    return {level: bases.run(CAN, noise=level) if level else bases.run(CA) for level in NOISES}


def shares(bases: Bases) -> dict[float, MaskedRun]:
    """Return CAN by lambda."""
    return {share: bases.run(CAN, share=share) for share in SHARES}


def findings(scores: Scores, bases: Bases) -> tuple[Finding, ...]:
    """Return the thesis's statements beside our numbers on one set."""
    data = scores.data

    def points(runs: Mapping[float, MaskedRun], more: float, less: float) -> Effect:
        return scores.points(f"{more:g} over {less:g}", runs[more].arm, runs[less].arm, PROBE)

    of_can, of_simclr, weights, levels = rates(bases), simclr_rates(bases), contrasts(bases), noises(bases)
    learned = scores.learned(PROBE, of_can[RATE].arm)
    return (
        Finding(
            paper=f"Figure 6-6, {data}: SimCLR becomes worse with the masking rate.",
            ours="Linear readout of SimCLR, by rate, in points:",
            effects=tuple(points(of_simclr, less, more) for less, more in pairwise(RATES)),
            controls=scores.learned(PROBE, of_simclr[0.0].arm),
        ),
        Finding(
            paper=f"Figure 6-6, {data}: CAN is best at a rate above 0.",
            ours="Linear readout of CAN, by rate, in points (one suffices):",
            effects=(points(of_can, 0.25, 0.0), points(of_can, RATE, 0.0)),
            controls=learned,
            required=1,
        ),
        Finding(
            paper=f"Figure 6-6, {data}: and below MAE's 0.75.",
            ours="Linear readout of CAN, by rate, in points (one suffices):",
            effects=(points(of_can, 0.25, 0.75), points(of_can, RATE, 0.75)),
            controls=learned,
            required=1,
        ),
        Finding(
            paper=f"Figure 6-7, left, {data}: the best weight of the contrast is small, 0.03.",
            ours="Linear readout of CAN, by lambda_InfoNCE, in points:",
            effects=tuple(points(weights, CONTRAST, other) for other in CONTRASTS if other != CONTRAST),
            controls=learned,
        ),
        Finding(
            paper=f"Figure 6-7, middle, {data}: many levels of noise are better than none.",
            ours="Linear readout of CAN, by sigma_max, in points:",
            effects=tuple(points(levels, level, 0.0) for level in NOISES if level),
            controls=learned,
        ),
        Finding(
            paper=f"Figure 6-7, right, {data}: the weight of the denoising hardly matters.",
            ours="Linear readout of CAN beside lambda = 0.7, as a share:",
            effects=tuple(_similar(scores, bases, share) for share in SHARES if share != SHARE),
            controls=learned,
        ),
    )


def _similar(scores: Scores, bases: Bases, share: float) -> Effect:
    runs = shares(bases)
    name = f"lambda {share:g}"
    difference = scores.difference(runs[share].arm, runs[SHARE].arm, PROBE)
    if difference is None:
        return Effect(name=name, difference=None)
    return within(name, difference, 0.0, SIMILAR)


def _over(scores: Scores, *named: tuple[str, Mapping[float, MaskedRun]], across: str) -> Drawing:
    series = {
        name: (list(runs), [scores.mean(run.arm, lambda score: 100 * score.probe) for run in runs.values()])
        for name, runs in named
    }
    return curves(series, across=across, up="linear readout, %")


def _rates(scores: Scores, bases: Bases) -> Drawing:
    both = (CAN, rates(bases)), (SIMCLR, simclr_rates(bases))
    return _over(scores, *both, across="masking rate")


def _figures(scores: Scores, bases: Bases) -> list[Figure]:
    drawings = {
        "masking rate": _rates(scores, bases),
        "lambda_InfoNCE": _over(scores, (CAN, contrasts(bases)), across="lambda_InfoNCE"),
        "noise": _over(scores, (CAN, noises(bases)), across="sigma_max"),
        "lambda": _over(scores, (CAN, shares(bases)), across="lambda"),
    }
    return [
        Figure(
            title=f"{scores.data}: settings of CAN (Figures 6-6 and 6-7)",
            words="Accuracy of the linear readout on test images in percent, mean and 95 % interval over the "
            "seeds.",
            panels=tuple(
                panel(drawn, f"Readout over {name} on {scores.data}.", name=name)
                for name, drawn in drawings.items()
            ),
            wide=True,
        )
    ]


PLAN = MaskedPlan(
    title="Masking rate, weights and noise",
    searched=(SIMCLR, CAN),
    arms=arms,
    findings=findings,
    overview=_rates,
    figures=_figures,
    columns={
        "linear": percent(PROBE),
        "operations, 10^12": number(attrgetter("flops"), 2, scale=1e-12),
        "seconds": number(attrgetter("seconds"), 0),
    },
    note="Accuracy in percent on test images, means over the seeds with 95 % intervals; seconds of processor "
    "time of the training, or where a training can be resumed, from budget 0.05 on, of time that passed.",
    remarks=REMARKS,
)
