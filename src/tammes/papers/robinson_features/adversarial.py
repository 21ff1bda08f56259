"""Standard accuracy, and accuracy under l-infinity attacks on the input (Figure 4-5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter

from matplotlib.figure import Figure as Drawing

from tammes.evaluation import PGD, attacked_accuracy
from tammes.papers.entry import Request
from tammes.papers.figures import curves, dots
from tammes.papers.finding import Effect, Finding, within
from tammes.papers.image_sets import Parts, image_sets
from tammes.papers.page import Figure, PaperPage, panel
from tammes.papers.robinson_features.attacked import pixels_of, places_of, readout_of
from tammes.papers.robinson_features.methods import ACL, IFM, SIMCLR, UNTRAINED, FeatureRun, arm_of
from tammes.papers.robinson_features.results import ArmScores
from tammes.papers.robinson_features.studies import SECONDS, number, page_of, percent, study_of
from tammes.papers.robinson_features.training import (
    FeatureScale,
    fitted,
    scale_of,
    untrained_run,
)
from tammes.papers.study import Study

EPSILON = 0.1
RADII = (1 / 255, 2 / 255, 8 / 255)
"""Radii of the attack; the last is the usual one of networks that are trained against attacks."""
STEPS = 10
SLOWER = 0.1
"""IFM counts as free if a training takes at most a tenth longer."""
ACL_TIME, ABOUT = 6.0, 1.0
"""Time of an epoch of ACL(DS) over that of SimCLR (B.2.3), and the distance that still agrees with it."""
PLAIN, MODIFIED, RIVAL = arm_of(SIMCLR), arm_of(IFM, epsilon=EPSILON), arm_of(ACL[0])
STANDARD = attrgetter("standard")
REMARKS = (
    "The encoder is frozen, with a linear readout that is trained on unchanged images; PGD attacks encoder "
    "and readout together. The paper's robust accuracy is after finetuning the network against attacks "
    "(TRADES), so that its levels are higher and not comparable.",
    "All three have the same epochs, as in the paper; in equal time ACL stands beside IFM in "
    "features-classification. Settings of ACL(DS) are the published ones, those of IFM the thesis's; none "
    "was searched.",
    "Figure 4-5 shows bars without numbers. Its encoders are ResNet-18 after 1,000 epochs. That ACL takes "
    "twice the memory is not measured here.",
)


@dataclass(frozen=True, kw_only=True)
class AttackScore:
    """Accuracies of an encoder with a linear readout on test images.

    Args:
        standard: accuracy on unchanged images.
        attacked: accuracy under PGD of each radius, separated by spaces.
        seconds: processor time of the training of the encoder.
    """

    standard: float
    attacked: str
    seconds: float

    def under(self, place: int) -> float:
        """Return the accuracy under the attack of one of the radii."""
        return float(self.attacked.split()[place])


def under(place: int) -> Callable[[AttackScore], float]:
    """Return the function that picks the accuracy under the attack of one of the radii."""
    return lambda score: score.under(place)


def run(request: Request) -> None:
    """Train and measure every encoder."""
    scale = scale_of(request)
    study(image_sets(request.required_data(), size=scale.side), scale).run(request)


def study(sets: Mapping[str, Parts], scale: FeatureScale) -> Study[FeatureRun, AttackScore]:
    """Return the study of sets of images.

    Args:
        sets: sets by name.
        scale: size of the study.
    """
    return study_of(sets, scale, arms=arms, scores=AttackScore, measure=scored, page=page)


def arms(base: FeatureRun) -> list[FeatureRun]:
    """Return the untrained encoder, SimCLR, IFM, and ACL."""
    return [
        untrained_run(base),
        base,
        replace(base, method=IFM, epsilon=EPSILON),
        replace(base, method=ACL[0]),
    ]


def scored(run: FeatureRun, scale: FeatureScale, parts: Parts) -> AttackScore:
    """Train an encoder and its readout, and measure it under attacks."""
    (fit,) = fitted(run, scale, parts[0])
    readout, classify = readout_of(fit.model, parts[0])
    pixels, labels = pixels_of(parts[1]), places_of(readout, parts[1].required_labels())
    attacked = [
        attacked_accuracy(classify, pixels, labels, PGD(radius=radius, steps=STEPS, seed=run.seed))
        for radius in RADII
    ]
    return AttackScore(
        standard=attacked_accuracy(classify, pixels, labels),
        attacked=" ".join(f"{accuracy:.5f}" for accuracy in attacked),
        seconds=fit.seconds,
    )


def page(results: Mapping[FeatureRun, AttackScore], scale: FeatureScale) -> PaperPage | None:
    """Return the page of what has been measured; None before SimCLR and IFM of a seed are there."""
    return page_of(
        results,
        scale,
        title="Accuracy with and without an attack",
        needed=lambda data: {UNTRAINED, PLAIN, MODIFIED},
        overview=lambda scores: dots(
            {arm: scores.mean(arm, STANDARD) for arm in scores.names},
            {},
            label="standard accuracy",
        ),
        findings=findings,
        figures=_figures,
        columns={
            "standard": percent(STANDARD),
            **{f"radius {255 * radius:g}/255": percent(under(place)) for place, radius in enumerate(RADII)},
            "seconds": number(SECONDS, 0),
        },
        note=f"Accuracy in percent, means over the seeds with 95 % intervals; PGD of {STEPS} steps from a "
        "random start; seconds of processor time of a training.",
        remarks=REMARKS,
    )


def _figures(measured: Mapping[str, ArmScores[AttackScore]]) -> list[Figure]:
    return [
        Figure(
            title=f"{data} (Figure 4-5)",
            words="Accuracy of the linear readout on test images over the radius of the attack, mean and "
            "95 % interval over the seeds.",
            panels=(panel(_over_radius(scores), f"Accuracy under attack on {data}."),),
            wide=True,
        )
        for data, scores in measured.items()
    ]


def findings(scores: ArmScores[AttackScore]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers on one set."""
    controls = scores.learned(STANDARD, PLAIN, MODIFIED)
    slower = scores.difference(MODIFIED, PLAIN, SECONDS)
    usual = scores.mean(PLAIN, SECONDS).mean
    time = Effect(name="training time, IFM over SimCLR", difference=None)
    if slower is not None and usual > 0:
        time = within("training time in seconds, IFM over SimCLR", slower, 0.0, SLOWER * usual, digits=1)
    return (
        Finding(
            paper=f"Figure 4-5, {scores.data}: IFM improves standard accuracy.",
            ours="IFM over SimCLR in points:",
            effects=(scores.points("", MODIFIED, PLAIN, STANDARD),),
            controls=controls,
        ),
        Finding(
            paper=f"B.2.3, {scores.data}: IFM costs no time.",
            effects=(time,),
            controls=controls,
        ),
        Finding(
            paper=f"(Ours, {scores.data}:) IFM, which attacks embeddings, makes the input no more robust.",
            ours=f"Accuracy of SimCLR over IFM under PGD of radius {255 * RADII[0]:g}/255, in points:",
            effects=(scores.points("", PLAIN, MODIFIED, under(0)),),
            controls=controls,
        ),
        *_beside_acl(scores),
    )


def _beside_acl(scores: ArmScores[AttackScore]) -> tuple[Finding, ...]:
    times = scores.ratio(RIVAL, PLAIN, SECONDS)
    time = Effect(name="times the time", difference=None)
    if times is not None:
        time = within("times the time, ACL over SimCLR", times, ACL_TIME, ABOUT, digits=1)
    learned = scores.learned(STANDARD, PLAIN, RIVAL)
    return (
        Finding(
            paper=f"Figure 4-5, {scores.data}: ACL(DS) is more accurate under attack.",
            ours=f"ACL under PGD of radius {255 * RADII[0]:g}/255 in points:",
            effects=(
                scores.points("over SimCLR", RIVAL, PLAIN, under(0)),
                scores.points("over IFM", RIVAL, MODIFIED, under(0)),
            ),
            controls=scores.learned(under(0), RIVAL),
        ),
        Finding(
            paper=f"Figure 4-5, {scores.data}: ACL(DS) has worse standard accuracy.",
            ours="Over ACL in points:",
            effects=(
                scores.points("SimCLR", PLAIN, RIVAL, STANDARD),
                scores.points("IFM", MODIFIED, RIVAL, STANDARD),
            ),
            controls=scores.learned(STANDARD, PLAIN, MODIFIED),
        ),
        Finding(
            paper=f"B.2.3, {scores.data}: ACL(DS) takes six times the time of an epoch.",
            effects=(time,),
            controls=learned,
        ),
    )


def _over_radius(scores: ArmScores[AttackScore]) -> Drawing:
    places = [0.0, *(255 * radius for radius in RADII)]
    return curves(
        {
            arm.partition(",")[0]: (
                places,
                [
                    scores.mean(arm, STANDARD),
                    *(scores.mean(arm, under(place)) for place in range(len(RADII))),
                ],
            )
            for arm in scores.names
        },
        across="radius, in 255ths",
        up="accuracy",
    )
