"""What implicit feature modification does to each feature (Figures 4-6 and B-5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from matplotlib.figure import Figure as Drawing

from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.figures import dots
from tammes.papers.finding import Effect, Finding
from tammes.papers.image_sets import Parts
from tammes.papers.page import Figure, PaperPage, panel
from tammes.papers.robinson_features.methods import IFM, SIMCLR, UNTRAINED, FeatureRun, arm_of
from tammes.papers.robinson_features.readouts import (
    EASY,
    FeatureScore,
    average,
    each_readout,
    features_of,
    measured,
    readout,
)
from tammes.papers.robinson_features.results import ArmScores
from tammes.papers.robinson_features.studies import SECONDS, number, page_of, percent, study_of
from tammes.papers.robinson_features.training import (
    DIGITS_OVER,
    TRIFEATURE,
    FeatureScale,
    feature_sets,
    scale_of,
    untrained_run,
)
from tammes.papers.study import Study

TEMPERATURES = (0.05, 0.2, 0.5)
EPSILON = 0.1
ALPHA: Mapping[str, float] = {TRIFEATURE: 1.0, DIGITS_OVER: 0.5}
"""Weight of the loss on modified features: 1 unless noted otherwise, and 0.5 in Figure B-5."""
HARMED = 0.01
"""A feature counts as harmed if its readout falls by a point."""
REMARKS = (
    "Runs of one seed have the same images, first weights and order, so that differences are taken seed by "
    "seed.",
    "Readouts are of one view of each image, augmented as in training (B.2.2). The paper shows bars without "
    "numbers, over three seeds of ResNet-18 after 200 epochs.",
    "The loss is (L + alpha L_epsilon) / (1 + alpha); the paper divides by 2, which is the same at alpha = "
    "1 and another learning rate at 0.5, to which Adam is blind.",
)


def run(request: Request) -> None:
    """Train and measure every encoder."""
    scale = scale_of(request)
    study(feature_sets(request.data, scale), scale).run(request)


def study(sets: Mapping[str, Parts], scale: FeatureScale) -> Study[FeatureRun, FeatureScore]:
    """Return the study of sets with several features."""
    return study_of(sets, scale, arms=arms, scores=FeatureScore, measure=measured, page=page)


def arms(base: FeatureRun) -> list[FeatureRun]:
    """Return the untrained encoder, then SimCLR and IFM at each temperature."""
    plain = [replace(base, temperature=temperature) for temperature in TEMPERATURES]
    return [
        untrained_run(base),
        *(
            arm
            for each in plain
            for arm in (each, replace(each, method=IFM, epsilon=EPSILON, alpha=ALPHA[base.data]))
        ),
    ]


def pair(temperature: float) -> tuple[str, str]:
    """Return the arm of IFM at a temperature, and its baseline."""
    return (
        arm_of(IFM, temperature=temperature, epsilon=EPSILON),
        arm_of(SIMCLR, temperature=temperature),
    )


def page(results: Mapping[FeatureRun, FeatureScore], scale: FeatureScale) -> PaperPage | None:
    """Return the page of what has been measured; None before the arms of a seed are complete."""
    return page_of(
        results,
        scale,
        title="What implicit feature modification does to each feature",
        needed=lambda data: {UNTRAINED, *(arm for temperature in TEMPERATURES for arm in pair(temperature))},
        overview=_gains,
        findings=findings,
        figures=_figures,
        columns={
            "readout, %": each_readout,
            "mean over features": percent(average),
            "seconds": number(SECONDS, 0),
        },
        note="Means over the seeds with 95 % intervals; seconds of processor time of a training.",
        remarks=REMARKS,
    )


def _figures(measured: Mapping[str, ArmScores[FeatureScore]]) -> list[Figure]:
    return [
        Figure(
            title=f"{data} (Figures 4-6 and B-5)",
            words="Readout of IFM over that of SimCLR at the same temperature, in points, and the readouts "
            "themselves: mean and 95 % interval over the seeds.",
            panels=(
                panel(_gains(scores), f"{data}: gain of each feature.", name="IFM over SimCLR"),
                panel(_readouts(scores), f"{data}: readout of each feature.", name="linear readout"),
            ),
            wide=True,
        )
        for data, scores in measured.items()
    ]


def findings(scores: ArmScores[FeatureScore]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers on one set."""
    names, pairs = features_of(scores), {temperature: pair(temperature) for temperature in TEMPERATURES}
    controls = scores.learned(average, *(arm for both in pairs.values() for arm in both))

    def gains(chosen: list[str]) -> tuple[Effect, ...]:
        return tuple(
            scores.points(f"{name}, temperature {temperature:g}", more, less, readout(name))
            for name in chosen
            for temperature, (more, less) in pairs.items()
        )

    if scores.data == TRIFEATURE:
        return (
            Finding(
                paper="Figure 4-6: IFM improves the readout of all three features at every temperature.",
                ours="IFM over SimCLR in points:",
                effects=gains(names),
                controls=controls,
            ),
            Finding(
                paper="Figure 4-6, in the mean over the features: IFM improves it at every temperature.",
                ours="IFM over SimCLR in points:",
                effects=tuple(
                    scores.points(f"temperature {temperature:g}", more, less, average)
                    for temperature, (more, less) in pairs.items()
                ),
                controls=controls,
            ),
        )
    easy = EASY[scores.data]
    return (
        Finding(
            paper=f"Figure B-5, {scores.data}: IFM improves the suppressed feature, slightly.",
            ours="IFM over SimCLR in points:",
            effects=gains([name for name in names if name != easy]),
            controls=controls,
        ),
        Finding(
            paper=f"Figure B-5, {scores.data}: IFM does not harm the readout of the {easy}.",
            ours="IFM over SimCLR, plus the one point that counts as harm, in points:",
            effects=tuple(
                replace(
                    effect, difference=None if effect.difference is None else effect.difference - (-HARMED)
                )
                for effect in gains([easy])
            ),
            controls=controls,
        ),
    )


def _gains(scores: ArmScores[FeatureScore]) -> Drawing:
    shown = {}
    for name in features_of(scores):
        for temperature in TEMPERATURES:
            difference = scores.difference(*pair(temperature), readout(name))
            if difference is not None:
                values = [100 * value for value in difference.values]
                shown[f"{name}, temperature {temperature:g}"] = Estimate.over_seeds(values)
    ends = [
        0.0,
        *(
            end
            for each in shown.values()
            for end in ((each.low, each.high) if each.is_known else (each.mean,))
        ),
    ]
    return dots(shown, {}, label="IFM over SimCLR, points", limits=(min(ends) - 1, max(ends) + 1))


def _readouts(scores: ArmScores[FeatureScore]) -> Drawing:
    shown = {
        f"{name}, {arm}": scores.mean(arm, readout(name))
        for name in features_of(scores)
        for arm in scores.names
    }
    return dots(shown, {}, label="linear readout")
