"""Which features temperature and hard negatives trade off (Figures 4-2, 4-3, B-3 and B-4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from matplotlib.figure import Figure as Drawing

from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.figures import curves, dots
from tammes.papers.finding import Effect, Finding
from tammes.papers.image_sets import Parts
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.robinson_features.methods import HARD, SIMCLR, UNTRAINED, USUAL, FeatureRun
from tammes.papers.robinson_features.readouts import FeatureScore, average, readout, study_of
from tammes.papers.robinson_features.results import ArmScores, settings
from tammes.papers.robinson_features.training import (
    DIGITS_OVER,
    TRIFEATURE,
    FeatureScale,
    base_run,
    feature_sets,
    over_seeds,
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
EASY: Mapping[str, str] = {TRIFEATURE: "color", DIGITS_OVER: "digit"}
"""Feature that the paper finds to be better where the loss is lower; the others are worse there."""
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
    """Return the study of sets with several features.

    Args:
        sets: sets by name.
        scale: size of the study.
    """
    cells = [
        cell for data, parts in sets.items() for cell in over_seeds(arms(base_run(data, parts, scale)), scale)
    ]
    return study_of(cells, sets, scale, page)


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
    bases = {run.data: run for run in results if run.method != UNTRAINED}
    measured = {
        data: scores
        for data, scores in ArmScores.by_set(results).items()
        if data in bases and {run.arm for run in arms(bases[data])} <= set(scores.names)
    }
    if not measured:
        return None
    figures = [figure for data, scores in measured.items() for figure in _figures(scores, arms(bases[data]))]
    return PaperPage(
        title="What temperature and hard negatives trade off",
        overview=_correlations(next(iter(measured.values()))),
        findings=tuple(
            finding for data, scores in measured.items() for finding in findings(scores, arms(bases[data]))
        ),
        figures=tuple(figures),
        numbers=_numbers(measured),
        remarks=REMARKS,
        settings=settings(results, scale),
    )


def features_of(scores: ArmScores[FeatureScore]) -> list[str]:
    """Return the names of the features, the easy one last."""
    first = next(iter(next(iter(scores.scores.values())).values()))
    easy = EASY[scores.data]
    return [*(name for name in first.features.split() if name != easy), easy]


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


def findings(scores: ArmScores[FeatureScore], runs: list[FeatureRun]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers on one set."""
    *hard, easy = features_of(scores)
    seeds = scores.scores[UNTRAINED]
    common = [seed for seed in seeds if all(seed in scores.scores[run.arm] for run in runs)]
    # Over all settings: a single one may suppress a feature below the first weights.
    gain = (
        Estimate.over_seeds(
            [
                sum(scores.scores[run.arm][seed].average for run in runs[1:]) / (len(runs) - 1)
                - seeds[seed].average
                for seed in common
            ]
        )
        if common
        else None
    )
    controls = (Effect(name="mean readout over untrained, in points", difference=gain, digits=1, scale=100),)

    def signed(first: str, second: str, sign: int) -> Effect:
        found = correlation(scores, first, second)
        name = f"{'' if sign > 0 else 'minus the '}correlation of {first} and {second}"
        return Effect(name=name, difference=found if found is None or sign > 0 else -found, digits=2)

    temperatures = [run for run in runs[1:] if run.method != HARD]
    cold, warm = (edge(temperatures, key=lambda run: run.temperature).arm for edge in (min, max))
    soft = next(run.arm for run in temperatures if run.temperature == USUAL)
    sharp = max(runs, key=lambda run: run.beta).arm

    def traded(simple: str, difficult: str) -> tuple[Effect, ...]:
        return (
            scores.points(f"{easy}, {simple} over {difficult}", simple, difficult, readout(easy)),
            *(
                scores.points(f"{name}, {difficult} over {simple}", difficult, simple, readout(name))
                for name in hard
            ),
        )

    found = [
        Finding(
            paper=f"Figure 4-2, {scores.data}: lower loss goes with lower error of {easy}, and with larger "
            f"error of {' and '.join(hard)}.",
            ours="Correlation of the loss with the error over all encoders:",
            effects=(signed("loss", easy, 1), *(signed("loss", name, -1) for name in hard)),
            controls=controls,
        ),
        Finding(
            paper=f"Figure 4-2, {scores.data}: the error of {easy} is negatively correlated with that of "
            f"{' and '.join(hard)}.",
            effects=tuple(signed(easy, name, -1) for name in hard),
            controls=controls,
        ),
        Finding(
            paper=f"Figures 4-3 and B-4, {scores.data}: at a large temperature {easy} is represented "
            f"better, and {' and '.join(hard)} worse.",
            ours="Readout in points:",
            effects=traded(warm, cold),
            controls=controls,
        ),
        Finding(
            paper=f"Figures 4-3 and B-4, {scores.data}: with a large beta {easy} is represented worse, and "
            f"{' and '.join(hard)} better.",
            ours="Readout in points:",
            effects=traded(soft, sharp),
            controls=controls,
        ),
    ]
    if {"texture", "shape"} <= set(hard):
        over = [
            sum(
                scores.scores[run.arm][seed].of("texture") - scores.scores[run.arm][seed].of("shape")
                for run in runs[1:]
            )
            / (len(runs) - 1)
            for seed in common
        ]
        found.append(
            Finding(
                paper="Section 4.2.3: texture is always predicted better than shape.",
                ours="Readout in points, over all settings:",
                effects=(
                    Effect(
                        name="texture over shape",
                        difference=Estimate.over_seeds(over) if over else None,
                        digits=1,
                        scale=100,
                    ),
                ),
                controls=controls,
            )
        )
    return tuple(found)


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


def _figures(scores: ArmScores[FeatureScore], runs: list[FeatureRun]) -> list[Figure]:
    names = features_of(scores)
    by_temperature = {run.temperature: run.arm for run in runs[1:] if run.method != HARD}
    by_beta = {run.beta: run.arm for run in runs[1:] if run.method == HARD or run.temperature == USUAL}

    def over(places: Mapping[float, str], across: str, *, logarithmic: bool) -> Drawing:
        ordered = sorted(places)
        return curves(
            {
                name: (ordered, [scores.mean(places[place], readout(name)) for place in ordered])
                for name in names
            },
            across=across,
            up="linear readout",
            logarithmic=logarithmic,
        )

    soft = next(arm for temperature, arm in by_temperature.items() if temperature == USUAL)
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
    first = dots(
        {name: scores.mean(UNTRAINED, readout(name)) for name in names},
        {},
        label="untrained",
        limits=(0.0, 1.0),
    )
    drawings = {
        "correlations (Figure 4-2)": _correlations(scores),
        "temperature": over(by_temperature, "temperature", logarithmic=True),
        "beta at temperature 0.5": over(by_beta, "beta", logarithmic=False),
        "during the training (Figure B-3)": curves(
            dynamics, across="part of the epochs", up="linear readout"
        ),
        "untrained encoder": first,
    }
    return [
        Figure(
            title=f"{scores.data}: correlations, readouts over temperature and beta (Figures 4-3 and B-4)",
            words="Mean and 95 % interval over the seeds; of a correlation, Fisher's over the settings.",
            panels=tuple(
                panel(drawn, f"{scores.data}: {name}.", name=name) for name, drawn in drawings.items()
            ),
            wide=True,
        )
    ]


def _numbers(measured: Mapping[str, ArmScores[FeatureScore]]) -> Numbers:
    rows = []
    for data, scores in measured.items():
        for arm in scores.names:
            each = "; ".join(
                f"{name} {scores.mean(arm, readout(name)).percent}" for name in features_of(scores)
            )
            apart = "; ".join(
                f"{name} {scores.mean(arm, readout(name, 'at_least')).mean:.2f} to "
                f"{scores.mean(arm, readout(name, 'at_most')).mean:.2f}"
                for name in features_of(scores)
            )
            rows.append(
                (
                    f"{data}, {arm}",
                    each,
                    scores.mean(arm, average).percent,
                    apart,
                    scores.mean(arm, lambda score: score.loss).text(3),
                    str(len(scores.scores[arm])),
                )
            )
    return Numbers(
        header=("encoder", "readout, %", "mean over features", "separation", "loss", "seeds"),
        rows=tuple(rows),
        note="Means over the seeds with 95 % intervals. Separation: bounds of a number that is 0 for a "
        "suppressed feature and 1 for a distinguished one.",
    )
