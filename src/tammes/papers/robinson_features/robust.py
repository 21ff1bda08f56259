"""Robust and other features, by readouts that are trained on attacked images (Figure 4-8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import attrgetter

import torch
from matplotlib.figure import Figure as Drawing

from tammes.evaluation import LabeledFeatures, robust_sets
from tammes.papers.entry import Request
from tammes.papers.figures import dots
from tammes.papers.finding import Effect, Finding, within
from tammes.papers.image_sets import Parts, image_sets
from tammes.papers.page import Figure, PaperPage, panel
from tammes.papers.robinson_features.attacked import PROBE, features_of, pixels_of, places_of, readout_of
from tammes.papers.robinson_features.methods import IFM, SIMCLR, UNTRAINED, FeatureRun, arm_of
from tammes.papers.robinson_features.results import ArmScores
from tammes.papers.robinson_features.studies import SECONDS, number, page_of, percent, study_of
from tammes.papers.robinson_features.training import (
    FeatureScale,
    fitted,
    scale_of,
    untrained_run,
)
from tammes.papers.study import Study
from tammes.training import embed

EPSILON = 0.1
STEP, MOST = 0.01, 50
"""Change of a pixel by a step of FGSM, as in section 4.4.3, and the largest number of steps."""
SIMILAR = 0.03
"""D_NR counts as similar within three points; on average the paper has 56.7 % for SimCLR, 55.5 % for IFM."""
PLAIN, MODIFIED = arm_of(SIMCLR), arm_of(IFM, epsilon=EPSILON)
COLUMNS = {"D": "standard", "D_R": "robust", "D_NR": "fragile"}
REMARKS = (
    "For each encoder f, a linear readout h of f is trained on the training images. Each training image is "
    "then changed by repeated FGSM until h takes it for a random class. New readouts are trained on these "
    "images with the old labels (D_R) and with the labels of the target (D_NR), and tested on unchanged "
    "test images.",
    "The attack is on the encoder itself: SimCLR and IFM have their own sets. Pixels stay between 0 and 1.",
    "The paper shows bars without numbers, but gives the average of D_NR over four sets of images: 56.7 % "
    "for SimCLR and 55.5 % for IFM.",
)


@dataclass(frozen=True, kw_only=True)
class RobustScore:
    """Accuracy of three readouts of an encoder on test images.

    Args:
        standard: trained on the training images, D.
        robust: trained on D_R.
        fragile: trained on D_NR.
        reached: share of the training images that were taken for their target.
        steps: mean number of steps that it took.
        seconds: processor time of the training of the encoder.
    """

    standard: float
    robust: float
    fragile: float
    reached: float
    steps: float
    seconds: float


def run(request: Request) -> None:
    """Train and measure every encoder."""
    scale = scale_of(request)
    study(image_sets(request.required_data(), size=scale.side), scale).run(request)


def study(sets: Mapping[str, Parts], scale: FeatureScale) -> Study[FeatureRun, RobustScore]:
    """Return the study of sets of images.

    Args:
        sets: sets by name.
        scale: size of the study.
    """
    return study_of(sets, scale, arms=arms, scores=RobustScore, measure=scored, page=page)


def arms(base: FeatureRun) -> list[FeatureRun]:
    """Return the untrained encoder, SimCLR, and IFM."""
    return [untrained_run(base), base, replace(base, method=IFM, epsilon=EPSILON)]


def scored(run: FeatureRun, scale: FeatureScale, parts: Parts) -> RobustScore:
    """Train an encoder, make D_R and D_NR by attacks on it, and measure the three readouts."""
    (fit,) = fitted(run, scale, parts[0])
    readout, classify = readout_of(fit.model, parts[0])
    labels = places_of(readout, parts[0].required_labels())
    sets = robust_sets(
        classify,
        pixels_of(parts[0]),
        labels,
        classes=len(readout.classes),
        step=STEP,
        most=MOST,
        seed=run.seed,
    )
    attacked = features_of(fit.model, sets.images[sets.reached])
    tried = LabeledFeatures(
        features=embed(fit.model, parts[1])[0], labels=places_of(readout, parts[1].required_labels())
    )
    standard = readout.predict(tried.features) == readout.classes[tried.labels]

    def learned_from(labels: torch.Tensor) -> float:
        named = labels[sets.reached]
        if len(named.unique()) < 2:  # nothing to tell apart: chance
            return 1 / len(readout.classes)
        return PROBE.accuracy(LabeledFeatures(features=attacked, labels=named), tried)

    return RobustScore(
        standard=float(standard.double().mean()),
        robust=learned_from(sets.labels),
        fragile=learned_from(sets.targets),
        reached=float(sets.reached.double().mean()),
        steps=float(sets.steps[sets.reached].double().mean()) if bool(sets.reached.any()) else 0.0,
        seconds=fit.seconds,
    )


def page(results: Mapping[FeatureRun, RobustScore], scale: FeatureScale) -> PaperPage | None:
    """Return the page of what has been measured; None before both encoders of a seed are there."""
    return page_of(
        results,
        scale,
        title="Robust features, and others",
        needed=lambda data: {UNTRAINED, PLAIN, MODIFIED},
        overview=_readouts,
        findings=findings,
        figures=_figures,
        columns={
            **{name: percent(attrgetter(column)) for name, column in COLUMNS.items()},
            "attacked with success": percent(attrgetter("reached")),
            "steps": number(attrgetter("steps"), 1),
            "seconds": number(SECONDS, 0),
        },
        note="Accuracy in percent on test images, means over the seeds with 95 % intervals; the share of the "
        f"training images that reach their target in at most {MOST} steps of {STEP:g}.",
        remarks=REMARKS,
    )


def _readouts(scores: ArmScores[RobustScore]) -> Drawing:
    shown = {
        f"{name}, {arm.partition(',')[0]}": scores.mean(arm, attrgetter(column))
        for name, column in COLUMNS.items()
        for arm in scores.names
    }
    return dots(shown, {}, label="accuracy on test images")


def _figures(measured: Mapping[str, ArmScores[RobustScore]]) -> list[Figure]:
    return [
        Figure(
            title="Readouts trained on D, D_R and D_NR (Figure 4-8)",
            words="On unchanged test images, mean and 95 % interval over the seeds.",
            panels=tuple(
                panel(_readouts(scores), f"Accuracy of the three readouts on {data}.", name=data)
                for data, scores in measured.items()
            ),
            wide=True,
        )
    ]


def findings(scores: ArmScores[RobustScore]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers on one set."""
    controls = scores.learned(attrgetter("standard"), PLAIN, MODIFIED)
    gains = {
        name: scores.points(f"{name}, in points", MODIFIED, PLAIN, attrgetter(column))
        for name, column in COLUMNS.items()
    }
    fragile = gains["D_NR"].difference
    similar = (
        Effect(name="D_NR", difference=None)
        if fragile is None
        else within("D_NR, IFM over SimCLR", fragile, 0.0, SIMILAR)
    )
    return (
        Finding(
            paper=f"Figure 4-8, {scores.data}: IFM generalizes better (D) by better robust features (D_R).",
            ours="IFM over SimCLR:",
            effects=(gains["D"], gains["D_R"]),
            controls=controls,
        ),
        Finding(
            paper=f"Figure 4-8, {scores.data}: features that are not robust are represented similarly "
            "(D_NR; on average over the paper's sets 55.5 % for IFM and 56.7 % for SimCLR).",
            ours="As a share:",
            effects=(similar,),
            controls=controls,
        ),
    )
