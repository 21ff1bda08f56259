"""MAE, SimCLR and CAN over epochs and operations (Figure 6-1, Tables 6.1 and 6.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

from matplotlib.figure import Figure as Drawing

from tammes.estimate import Estimate
from tammes.papers.arms import UNTRAINED
from tammes.papers.entry import Request
from tammes.papers.figures import curves, dots
from tammes.papers.finding import Check, Effect, Finding, effect_in_points
from tammes.papers.page import Figure, panel
from tammes.papers.robinson_masked.bases import Bases
from tammes.papers.robinson_masked.measured import MaskedScore
from tammes.papers.robinson_masked.runs import CAN, MAE, SIMCLR, MaskedRun
from tammes.papers.robinson_masked.studies import MaskedPlan, Scores, number, percent

METHODS = (MAE, SIMCLR, CAN)
PROBE, TUNED = attrgetter("probe"), attrgetter("tuned")
RATIO, ABOUT = 1.7, 0.2
"""Operations of SimCLR over those of CAN (section 6.3.1), and the distance that still agrees with it."""
REMARKS = (
    "SimCLR and CAN see two views of an image in an epoch, MAE one, as in the thesis. At equal operations "
    "each method has as many epochs as SimCLR's long schedule pays for.",
    "Operations are those of the forward and the backward pass, attention included; views cost none.",
    "The linear readout is logistic regression on the frozen features and not the thesis's LARS; fine-tuning "
    "has its settings (Table D.6) scaled to the data. From scratch is the same fine-tuning of first weights.",
    "The thesis trains ViT-L on JFT-300M and ImageNet: linear readout 64.1 % (MAE), 73.4 % (SimCLR) and "
    "75.4 % (CAN) after 5,000 epochs, fine-tuned 85.4 %, 85.5 % and 86.1 %.",
)


def run(request: Request) -> None:
    """Train and measure the methods on every set."""
    PLAN.run(request)


def arms(bases: Bases) -> list[MaskedRun]:
    """Return each method with the short and the long schedule, and at SimCLR's operations."""
    return [
        bases.untrained(tuned=True),
        *(bases.short(method) for method in METHODS),
        *tuned_arms(bases),
    ]


def tuned_arms(bases: Bases) -> list[MaskedRun]:
    """Return the arms that are fine-tuned: equal epochs, and equal operations."""
    return [
        *(bases.long(method, tuned=True) for method in METHODS),
        *(bases.at_equal_flops(method, tuned=True) for method in METHODS if method != SIMCLR),
    ]


def beyond(
    scores: Scores, bases: Bases, pick: Callable[[MaskedScore], float], *, equal_flops: bool
) -> tuple[Effect, ...]:
    """Return by how much CAN is above SimCLR and above MAE, in points.

    Args:
        scores: scores of a set.
        bases: its runs.
        pick: function from a score to an accuracy.
        equal_flops: whether all have the operations of SimCLR; else the same epochs.
    """
    at = bases.at_equal_flops if equal_flops else bases.long
    return tuple(scores.points(f"over {rival}", at(CAN).arm, at(rival).arm, pick) for rival in (SIMCLR, MAE))


def ahead(
    scores: Scores,
    bases: Bases,
    pick: Callable[[MaskedScore], float],
    *,
    papers: tuple[str, str],
    ours: str,
    learned: Sequence[str] = (CAN,),
) -> tuple[Finding, Finding]:
    """Return whether CAN is above SimCLR and MAE, after as many epochs and after as many operations.

    Args:
        scores: scores of a set.
        bases: its runs.
        pick: function from a score to an accuracy.
        papers: the two statements.
        ours: what is compared, in words.
        learned: methods that must be above the untrained encoder for a verdict.
    """
    first, second = (
        Finding(
            paper=paper,
            ours=f"{ours} after as many {spent}, in points:",
            effects=beyond(scores, bases, pick, equal_flops=spent == "operations"),
            controls=scores.learned(pick, *(at(method).arm for method in learned)),
        )
        for paper, spent, at in zip(
            papers, ("epochs", "operations"), (bases.long, bases.at_equal_flops), strict=True
        )
    )
    return first, second


def findings(scores: Scores, bases: Bases) -> tuple[Finding | Check, ...]:
    """Return the thesis's statements beside our numbers on one set."""
    data = scores.data
    long = {method: bases.long(method).arm for method in METHODS}
    learned = scores.learned(PROBE, *long.values())
    return (
        *_operations(bases),
        *ahead(
            scores,
            bases,
            PROBE,
            papers=(
                f"Table 6.1, {data}: in linear readout CAN is above SimCLR and MAE after as many epochs.",
                f"Figure 6-1, {data}: and after as many operations.",
            ),
            ours="CAN",
            learned=METHODS,
        ),
        Finding(
            paper=f"Tables 6.1 and 6.2, {data}: the linear readout of MAE is far behind SimCLR's.",
            ours="SimCLR in points:",
            effects=(scores.points("over MAE", long[SIMCLR], long[MAE], PROBE),),
            controls=scores.learned(PROBE, long[SIMCLR]),
        ),
        *ahead(
            scores,
            bases,
            TUNED,
            papers=(
                f"Figure 6-1, {data}: CAN is above both after fine-tuning, too, after as many epochs.",
                f"Figure 6-1, {data}: and after as many operations.",
            ),
            ours="CAN, fine-tuned,",
        ),
        Finding(
            paper=f"Table 6.2, {data}: fine-tuning is better than training from scratch.",
            ours="Over the same fine-tuning of first weights, in points:",
            effects=tuple(scores.points(method, long[method], UNTRAINED, TUNED) for method in METHODS),
            controls=learned,
        ),
        Finding(
            paper=f"Section 6.3.1, {data}: CAN gains more from a longer schedule than SimCLR and MAE.",
            ours=f"Gain of CAN from {bases.scale.short} to {bases.scale.epochs} epochs, in points:",
            effects=tuple(_more_gained(scores, bases, rival) for rival in (SIMCLR, MAE)),
            controls=learned,
        ),
    )


def _operations(bases: Bases) -> tuple[Check, ...]:
    if not bases.flops:
        return ()
    ratio, of_mae = (bases.flops[SIMCLR] / bases.flops[method] for method in (CAN, MAE))
    return (
        Check(
            paper=f"Section 6.2.6: SimCLR takes {RATIO:g} times the operations of CAN.",
            ours=f"{ratio:.2f} times, and {of_mae:.2f} times those of MAE with one view.",
            passed=abs(ratio - RATIO) <= ABOUT,
        ),
    )


def _more_gained(scores: Scores, bases: Bases, rival: str) -> Effect:
    name = f"over that of {rival}"
    seeds = [scores.scores.get(bases.long(method).arm, {}) for method in (CAN, rival)]
    seeds += [scores.scores.get(bases.short(method).arm, {}) for method in (CAN, rival)]
    ours, theirs, ours_short, theirs_short = seeds
    shared = [seed for seed in ours if all(seed in each for each in seeds)]
    if not shared:
        return effect_in_points(name, None)
    gained = Estimate.of_difference(
        [ours[seed].probe - ours_short[seed].probe for seed in shared],
        [theirs[seed].probe - theirs_short[seed].probe for seed in shared],
    )
    return effect_in_points(name, gained)


def _over(scores: Scores, bases: Bases, place: Callable[[MaskedScore], float], across: str) -> Drawing:
    """Draw the linear readout of each method over its epochs, or its operations."""
    series = {}
    for method in METHODS:
        runs = {
            run.epochs: run.arm
            for run in (bases.short(method), bases.long(method), bases.at_equal_flops(method))
        }
        names = [name for _, name in sorted(runs.items()) if name in scores.scores]
        places = [next(iter(scores.scores[name].values())) for name in names]
        series[method] = (
            [place(score) for score in places],
            [scores.mean(name, lambda score: 100 * score.probe) for name in names],
        )
    return curves(series, across=across, up="linear readout, %", width=5.2)


def _figures(scores: Scores, bases: Bases) -> list[Figure]:
    steps = bases.base.images // bases.base.batch_size or 1
    drawings = {
        "epochs": _over(scores, bases, lambda score: score.steps / steps, "epochs"),
        "operations": _over(scores, bases, lambda score: score.flops / 1e12, "operations, 10^12"),
    }
    tuned = {arm: scores.mean(arm, TUNED) for arm in [UNTRAINED, *(run.arm for run in tuned_arms(bases))]}
    return [
        Figure(
            title=f"{scores.data}: linear readout (Figure 6-1)",
            words="Accuracy on test images over the epochs and over the operations of the training, mean and "
            "95 % interval over the seeds.",
            panels=tuple(
                panel(drawn, f"Linear readout over {name} on {scores.data}.", name=name)
                for name, drawn in drawings.items()
            ),
            wide=True,
        ),
        Figure(
            title=f"{scores.data}: fine-tuned",
            words="Accuracy on test images after fine-tuning.",
            panels=(
                panel(
                    dots(tuned, {}, label="accuracy, fine-tuned"),
                    f"Accuracy after fine-tuning on {scores.data}.",
                ),
            ),
            wide=True,
        ),
    ]


PLAN = MaskedPlan(
    title="MAE, SimCLR and CAN over epochs and operations",
    searched=METHODS,
    arms=arms,
    findings=findings,
    overview=lambda scores, bases: _over(
        scores, bases, lambda score: score.flops / 1e12, "operations, 10^12"
    ),
    figures=_figures,
    columns={
        "linear": percent(PROBE),
        "fine-tuned": percent(TUNED),
        "operations, 10^12": number(attrgetter("flops"), 2, scale=1e-12),
        "steps": number(attrgetter("steps"), 0),
        "seconds": number(attrgetter("seconds"), 0),
    },
    note="Accuracy in percent on test images, means over the seeds with 95 % intervals; seconds of processor "
    "time of the training, or where a training can be resumed, from budget 0.05 on, of time that passed.",
    remarks=REMARKS,
)
