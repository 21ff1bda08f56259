"""Which features temperature and hard negatives trade off (Figures 4-2, 4-3, B-3 and B-4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import attrgetter

from matplotlib.figure import Figure as Drawing

from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.figures import curves, dots
from tammes.papers.finding import Effect, Finding, effect_in_points
from tammes.papers.image_sets import Parts
from tammes.papers.page import Figure, PaperPage, panel
from tammes.papers.robinson_features.methods import HARD, SIMCLR, UNTRAINED, USUAL, FeatureRun, arm_of
from tammes.papers.robinson_features.readouts import (
    FeatureScore,
    average,
    each_readout,
    features_of,
    measured,
    readout,
)
from tammes.papers.robinson_features.results import ArmScores
from tammes.papers.robinson_features.studies import page_of, percent, study_of
from tammes.papers.robinson_features.training import (
    DIGITS_OVER,
    TRIFEATURE,
    FeatureScale,
    feature_sets,
    scale_of,
    untrained_run,
)
from tammes.papers.study import Study

GRID: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    TRIFEATURE: ((0.05, 0.07, 0.1, 0.2, 0.3, USUAL, 1.0), (0.5, 1.0, 2.0, 4.0)),
    DIGITS_OVER: ((0.05, 0.1, 0.2, USUAL), (0.5, 1.0, 2.0)),
}
"""Temperatures, and betas of hard negatives at temperature 0.5. With three seeds these are 33 encoders of
Trifeature, as in the paper, and 7 settings of digits over objects. Its text does not list its values."""
LOSS = attrgetter("loss")
REMARKS = (
    "Readouts are of one view of each image, augmented as in training (B.2.2); the loss is InfoNCE of two "
    "views of the test images at temperature 0.5, whatever the training had.",
    "Seeds of one setting are no independent encoders. The interval of a correlation is therefore Fisher's "
    "for the number of settings, not of encoders: it is wider than that of all encoders would be.",
    "The paper shows the correlations as colors and the readouts as curves, without numbers. Its encoders "
    "are ResNet-18 on images of 128 pixels; digits are over STL-10 there.",
)


def run(request: Request) -> None:
    """Train and measure every encoder."""
    scale = scale_of(request)
    study(feature_sets(request.data, scale), scale).run(request)


def study(sets: Mapping[str, Parts], scale: FeatureScale) -> Study[FeatureRun, FeatureScore]:
    """Return the study of sets with several features."""
    return study_of(sets, scale, arms=arms, scores=FeatureScore, measure=measured, page=page)


def arms(base: FeatureRun) -> list[FeatureRun]:
    """Return the untrained encoder, then one run for each temperature and each beta."""
    temperatures, betas = GRID[base.data]
    base = replace(base, method=SIMCLR, temperature=USUAL, beta=0.0)
    return [
        untrained_run(base),
        *(replace(base, temperature=temperature) for temperature in temperatures),
        *(replace(base, method=HARD, beta=beta) for beta in betas),
    ]


def page(results: Mapping[FeatureRun, FeatureScore], scale: FeatureScale) -> PaperPage | None:
    """Return the page of what has been measured; None before the arms of a seed are complete."""
    return page_of(
        results,
        scale,
        title="What temperature and hard negatives trade off",
        needed=lambda data: {UNTRAINED, *settings_of(data)},
        overview=_correlations,
        findings=findings,
        figures=lambda measured: [_figure(scores) for scores in measured.values()],
        columns={
            "readout, %": each_readout,
            "mean over features": percent(average),
            "separation": _separations,
            "loss": lambda scores, arm: scores.mean(arm, LOSS).text(3),
        },
        note="Means over the seeds with 95 % intervals. Separation: bounds of a number that is 0 for a "
        "suppressed feature and 1 for a distinguished one.",
        remarks=REMARKS,
    )


def settings_of(data: str) -> list[str]:
    """Return the arms of a set that are trained."""
    temperatures, betas = GRID[data]
    return [
        *(arm_of(SIMCLR, temperature=temperature) for temperature in temperatures),
        *(arm_of(HARD, beta=beta) for beta in betas),
    ]


def correlation(scores: ArmScores[FeatureScore], first: str, second: str) -> Estimate | None:
    """Return the correlation over trained encoders of two errors, or of an error with the "loss".

    None where one of them is the same for all encoders, so that there is no correlation.
    """
    trained = [score for arm in scores.names if arm != UNTRAINED for score in scores.scores[arm].values()]
    series = [
        [score.loss if name == "loss" else 1 - score.of(name) for score in trained]
        for name in (first, second)
    ]
    if len(trained) < 2 or any(min(each) == max(each) for each in series):
        return None
    return Estimate.of_correlation(*series, independent=len(scores.names) - 1)


def findings(scores: ArmScores[FeatureScore]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers on one set."""
    *hard, easy = features_of(scores)
    others = " and ".join(hard)
    controls = (_learned(scores),)
    temperatures, betas = GRID[scores.data]
    cold, soft, warm = (
        arm_of(SIMCLR, temperature=each) for each in (min(temperatures), USUAL, max(temperatures))
    )
    sharp = arm_of(HARD, beta=max(betas))
    found = (
        Finding(
            paper=f"Figure 4-2, {scores.data}: lower loss goes with lower error of {easy}, and with larger "
            f"error of {others}.",
            ours="Correlation of the loss with the error over all encoders:",
            effects=(_signed(scores, "loss", easy, 1), *(_signed(scores, "loss", name, -1) for name in hard)),
            controls=controls,
        ),
        Finding(
            paper=f"Figure 4-2, {scores.data}: the error of {easy} is negatively correlated with that of "
            f"{others}.",
            effects=tuple(_signed(scores, easy, name, -1) for name in hard),
            controls=controls,
        ),
        Finding(
            paper=f"Figures 4-3 and B-4, {scores.data}: at a large temperature {easy} is represented "
            f"better, and {others} worse.",
            ours="Readout in points:",
            effects=_traded(scores, warm, cold),
            controls=controls,
        ),
        Finding(
            paper=f"Figures 4-3 and B-4, {scores.data}: with a large beta {easy} is represented worse, and "
            f"{others} better.",
            ours="Readout in points:",
            effects=_traded(scores, soft, sharp),
            controls=controls,
        ),
    )
    if not {"texture", "shape"} <= set(hard):
        return found
    over = _over_settings(scores, lambda score: score.of("texture") - score.of("shape"))
    return (
        *found,
        Finding(
            paper="Section 4.2.3: texture is always predicted better than shape.",
            ours="Readout in points, over all settings:",
            effects=(effect_in_points("texture over shape", over),),
            controls=controls,
        ),
    )


def _over_settings(
    scores: ArmScores[FeatureScore], pick: Callable[[FeatureScore], float], *, over: str | None = None
) -> Estimate | None:
    """Return the mean of a measurement over all settings, less that of one arm, seed by seed.

    None if no seed has all of them.
    """
    arms = [scores.scores[arm] for arm in settings_of(scores.data)]
    less = {} if over is None else scores.scores[over]
    seeds = [seed for seed in scores.scores[UNTRAINED] if all(seed in arm for arm in arms)]
    values = [
        sum(pick(arm[seed]) for arm in arms) / len(arms) - (pick(less[seed]) if less else 0.0)
        for seed in seeds
    ]
    return Estimate.over_seeds(values) if values else None


def _learned(scores: ArmScores[FeatureScore]) -> Effect:
    """Return by how much training has lowered the loss.

    A feature that training suppresses may have a worse readout than before, and with it the mean over
    features. The loss falls by whatever features are learned.
    """
    change = _over_settings(scores, LOSS, over=UNTRAINED)
    return Effect(
        name="loss untrained over trained", difference=None if change is None else -change, digits=2
    )


def _signed(scores: ArmScores[FeatureScore], first: str, second: str, sign: int) -> Effect:
    found = correlation(scores, first, second)
    name = f"{'' if sign > 0 else 'minus the '}correlation of {first} and {second}"
    return Effect(name=name, difference=found if found is None or sign > 0 else -found, digits=2)


def _traded(scores: ArmScores[FeatureScore], simple: str, difficult: str) -> tuple[Effect, ...]:
    """Return the easy feature of one arm over another, and the others of the other arm over it."""
    *hard, easy = features_of(scores)
    return (
        scores.points(f"{easy}, {simple} over {difficult}", simple, difficult, readout(easy)),
        *(
            scores.points(f"{name}, {difficult} over {simple}", difficult, simple, readout(name))
            for name in hard
        ),
    )


def _correlations(scores: ArmScores[FeatureScore]) -> Drawing:
    names = ["loss", *reversed(features_of(scores))]
    pairs = {
        f"{first}, {second}": found
        for place, first in enumerate(names)
        for second in names[place + 1 :]
        if (found := correlation(scores, first, second)) is not None
    }
    shown = pairs or {"no correlation is defined": Estimate(mean=0.0)}
    return dots(shown, {}, label="correlation over encoders", limits=(-1.0, 1.0))


def _figure(scores: ArmScores[FeatureScore]) -> Figure:
    names, (temperatures, betas) = features_of(scores), GRID[scores.data]
    by_temperature = {each: arm_of(SIMCLR, temperature=each) for each in temperatures}
    soft = by_temperature[USUAL]
    by_beta = {0.0: soft, **{beta: arm_of(HARD, beta=beta) for beta in betas}}

    def over(places: Mapping[float, str], across: str, *, logarithmic: bool) -> Drawing:
        each = {name: [scores.mean(arm, readout(name)) for arm in places.values()] for name in names}
        return curves(
            {name: (list(places), numbers) for name, numbers in each.items()},
            across=across,
            up="linear readout",
            logarithmic=logarithmic,
        )

    stages = ("quarter", "half", "readouts")
    dynamics = {
        name: (
            [0.0, 0.25, 0.5, 1.0],
            [
                scores.mean(UNTRAINED, readout(name)),
                *(scores.mean(soft, readout(name, stage)) for stage in stages),
            ],
        )
        for name in names
    }
    untrained = {name: scores.mean(UNTRAINED, readout(name)) for name in names}
    drawings = {
        "correlations (Figure 4-2)": _correlations(scores),
        "temperature": over(by_temperature, "temperature", logarithmic=True),
        "beta at temperature 0.5": over(by_beta, "beta", logarithmic=False),
        "during the training (Figure B-3)": curves(
            dynamics, across="part of the epochs", up="linear readout"
        ),
        "untrained encoder": dots(untrained, {}, label="untrained"),
    }
    return Figure(
        title=f"{scores.data}: correlations, readouts over temperature and beta (Figures 4-3 and B-4)",
        words="Mean and 95 % interval over the seeds; of a correlation, Fisher's over the settings.",
        panels=tuple(panel(drawn, f"{scores.data}: {name}.", name=name) for name, drawn in drawings.items()),
        wide=True,
    )


def _separations(scores: ArmScores[FeatureScore], arm: str) -> str:
    return "; ".join(
        f"{name} {scores.mean(arm, readout(name, 'at_least')).mean:.2f} to "
        f"{scores.mean(arm, readout(name, 'at_most')).mean:.2f}"
        for name in features_of(scores)
    )
