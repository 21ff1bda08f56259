"""Measurement of encoders by the features that they represent: Trifeature, and digits over objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tammes import recipes
from tammes.data import Images
from tammes.diagnostics import separation
from tammes.evaluation import LinearProbe, feature_readouts
from tammes.papers.image_sets import Parts
from tammes.papers.robinson_features.methods import USUAL, FeatureRun
from tammes.papers.robinson_features.results import ArmScores
from tammes.papers.robinson_features.training import DIGITS_OVER, TRIFEATURE, FeatureScale, Fitted, fitted
from tammes.positives import Augmentation
from tammes.training.embedding import evaluating
from tammes.training.examples import to_inputs
from tammes.training.seeds import Purpose, derive

PROBE = LinearProbe(iterations=500)
"""B.2.2: L-BFGS with at most 500 iterations."""
EASY: Mapping[str, str] = {TRIFEATURE: "color", DIGITS_OVER: "digit"}
"""Feature that the paper finds to be better where the loss is lower; the others are worse there."""
ROWS = 500
"""Images that are embedded at a time, and pairs of a batch whose loss is measured."""


@dataclass(frozen=True, kw_only=True)
class FeatureScore:
    """Measurements of an encoder on views of test images.

    Args:
        features: names of the features, separated by spaces.
        readouts: accuracy of the linear readout of each.
        half: the same after half of the epochs.
        quarter: the same after a quarter of them.
        at_least: lower bound, between 0 (suppressed) and 1 (distinguished), of the separation of each.
        at_most: upper bound of it.
        loss: InfoNCE loss of views of test images at temperature 0.5, whatever the training had.
        training_loss: mean training loss of the last epoch.
        seconds: processor time of the training.
    """

    features: str
    readouts: str
    half: str
    quarter: str
    at_least: str
    at_most: str
    loss: float
    training_loss: float
    seconds: float

    def of(self, name: str, column: str = "readouts") -> float:
        """Return the measurement of one feature."""
        return dict(zip(self.features.split(), map(float, vars(self)[column].split()), strict=True))[name]

    @property
    def average(self) -> float:
        """Mean of the readouts over the features."""
        numbers = [float(number) for number in self.readouts.split()]
        return sum(numbers) / len(numbers)


def readout(name: str, column: str = "readouts") -> Callable[[FeatureScore], float]:
    """Return the function that picks the readout of a feature, or another of its measurements."""
    return lambda score: score.of(name, column)


def features_of(scores: ArmScores[FeatureScore]) -> list[str]:
    """Return the names of the features, the easy one last."""
    first = next(iter(next(iter(scores.scores.values())).values()))
    easy = EASY[scores.data]
    return [*(name for name in first.features.split() if name != easy), easy]


def each_readout(scores: ArmScores[FeatureScore], arm: str) -> str:
    """Return the readouts of all features of an arm in words, in percent."""
    return "; ".join(f"{name} {scores.mean(arm, readout(name)).percent}" for name in features_of(scores))


def average(score: FeatureScore) -> float:
    """Return the mean of the readouts over the features."""
    return score.average


def measured(run: FeatureRun, scale: FeatureScale, parts: Parts) -> FeatureScore:
    """Train an encoder, and measure it after a quarter, half and all of the epochs."""
    quarter, half, end = (scored(each, parts) for each in fitted(run, scale, parts[0], parts=(4, 2, 1)))
    return replace(end, half=half.readouts, quarter=quarter.readouts)


def scored(fit: Fitted, parts: Parts) -> FeatureScore:
    """Measure an encoder on one view of each image, as it was trained (B.2.2).

    Args:
        fit: the encoder.
        parts: images to train the readout on, and images to measure on.
    """
    known, placed = views(fit, parts[0], Purpose.FIRST_VIEW)
    tried, first = views(fit, parts[1], Purpose.FIRST_VIEW)
    _, second = views(fit, parts[1], Purpose.SECOND_VIEW)
    learned, asked = ({name: labeling.labels for name, labeling in part.by_feature.items()} for part in parts)
    found = feature_readouts((known, learned), (tried, asked), PROBE)
    # Definition 1 is about embeddings; the features of a view that shows the background alone may be zero.
    neighbors = min(20, len(known) // 10)
    apart = {
        name: separation((placed, learned[name]), (first, asked[name]), neighbors=neighbors) for name in found
    }
    objective = recipes.simclr(temperature=USUAL)
    losses = [
        float(objective(a, b))
        for a, b in zip(first.split(ROWS), second.split(ROWS), strict=True)
        if len(a) > 1
    ]
    numbers = _numbers(found.values())
    return FeatureScore(
        features=" ".join(found),
        readouts=numbers,
        half=numbers,
        quarter=numbers,
        at_least=_numbers(each.at_least.mean for each in apart.values()),
        at_most=_numbers(each.at_most.mean for each in apart.values()),
        loss=sum(losses) / len(losses),
        training_loss=fit.loss,
        seconds=fit.seconds,
    )


def views(fit: Fitted, images: Images, purpose: Purpose) -> tuple[Tensor, Tensor]:
    """Return features and embeddings of a view of each image."""
    augmentation = fit.config.augmentation
    assert isinstance(augmentation, Augmentation)
    parts = []
    with torch.inference_mode(), evaluating(fit.model):
        for start in range(0, len(images), ROWS):
            pixels = to_inputs(images.batch(range(start, min(start + ROWS, len(images)))))
            assert isinstance(pixels, Tensor)
            parts.append(fit.model(augmentation(pixels, seed=derive(fit.config.seed, purpose, start))))
    features, embeddings = zip(*parts, strict=True)
    return torch.cat(features), torch.cat(embeddings)


def _numbers(values: Iterable[float]) -> str:
    return " ".join(f"{value:.5f}" for value in values)
