"""Measurement of one encoder of chapter 6: linear readout, few shots, fine-tuning, corrupted images."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from tammes.data import Images
from tammes.evaluation import FewShot, FineTuned, FineTuning, LabeledFeatures, LinearProbe, Robustness
from tammes.papers.robinson_masked.runs import MaskedRun
from tammes.papers.robinson_masked.training import Drawn, Fitted, config_of, crops_of, fitted, of_each
from tammes.papers.unfinished import Unfinished
from tammes.training import Model, embed

SHOTS = (1, 5, 10, 25)
"""Images of a class in Figures 6-4 and D-3 to D-9."""
DRAWS = 5
"""Draws of the shots, over which the accuracy of an encoder is averaged."""


@dataclass(frozen=True, kw_only=True)
class MaskedScore:
    """Measurements of an encoder; NaN for what was not measured.

    Args:
        probe: accuracy of a linear readout of the frozen features.
        shots: numbers of images of a class, separated by spaces.
        few_shot: accuracy with each of these numbers; NaN where a class has fewer images.
        tuned: accuracy after fine-tuning.
        corruptions: names of the corruptions.
        corrupted: accuracy after fine-tuning under each corruption, mean over five severities.
        clean: accuracy after fine-tuning on the images that are corrupted, before they are.
        contrastive: contrastive loss of the last epoch, before its weight.
        reconstruction: mean squared error of a hidden pixel in the last epoch.
        denoising: mean squared error of a visible pixel in the last epoch, against the noise.
        steps: number of training steps.
        flops: floating-point operations of the training.
        seconds: processor time of the training; of one that can be resumed, its wall-clock time.
    """

    probe: float
    shots: str = ""
    few_shot: str = ""
    tuned: float = math.nan
    corruptions: str = ""
    corrupted: str = ""
    clean: float = math.nan
    contrastive: float = math.nan
    reconstruction: float = math.nan
    denoising: float = math.nan
    steps: int = 0
    flops: float = 0.0
    seconds: float = 0.0

    @property
    def frozen(self) -> MaskedScore:
        """What is measured of the same encoder if it is not fine-tuned."""
        unshot = replace(self, shots="", few_shot="")
        return replace(unshot, tuned=math.nan, corruptions="", corrupted="", clean=math.nan)

    @property
    def by_shots(self) -> dict[int, float]:
        """Accuracy by the number of images of a class."""
        return dict(zip(map(int, self.shots.split()), map(float, self.few_shot.split()), strict=True))

    @property
    def by_corruption(self) -> dict[str, float]:
        """Accuracy after fine-tuning by corruption."""
        return dict(zip(self.corruptions.split(), map(float, self.corrupted.split()), strict=True))

    @property
    def robust(self) -> float:
        """Mean accuracy after fine-tuning over all corruptions."""
        found = self.by_corruption.values()
        return sum(found) / len(found) if found else math.nan


def with_shots(shots: int) -> Callable[[MaskedScore], float]:
    """Return the function that picks the accuracy with a number of images of a class."""
    return lambda score: score.by_shots[shots]


def under(corruption: str) -> Callable[[MaskedScore], float]:
    """Return the function that picks the accuracy under a corruption."""
    return lambda score: score.by_corruption[corruption]


def measured(run: MaskedRun, drawn: Drawn, *, unfinished: Unfinished | None = None) -> MaskedScore:
    """Train and measure one encoder.

    Args:
        run: the training.
        drawn: its images.
        unfinished: place of the training, which resumes there; None keeps it in memory.
    """
    if unfinished is None or run.epochs == 0:
        return _score(fitted(run, drawn.train), run, drawn)
    with unfinished.training(run, config_of(run, drawn.train)) as folder:
        return _score(fitted(run, drawn.train, folder=folder), run, drawn)


def _score(fit: Fitted, run: MaskedRun, drawn: Drawn) -> MaskedScore:
    learned, tried, pool = (_features(fit.model, part) for part in (drawn.train, drawn.tried, drawn.pool))
    score = MaskedScore(
        probe=LinearProbe().accuracy(learned, tried),
        contrastive=fit.losses.get("contrastive", math.nan),
        reconstruction=fit.losses.get("reconstruction", math.nan),
        denoising=fit.losses.get("denoising", math.nan),
        steps=fit.steps,
        flops=fit.flops,
        seconds=fit.seconds,
    )
    if not run.corrupted_images:
        return score
    few = {shots: _few_shot(pool, tried, shots, run.seed) for shots in SHOTS}
    score = replace(score, shots=" ".join(map(str, few)), few_shot=_numbers(few.values()))
    return _tuned(score, fit, run, drawn)


def _tuned(score: MaskedScore, fit: Fitted, run: MaskedRun, drawn: Drawn) -> MaskedScore:
    settings = FineTuning.suited(
        len(drawn.train),
        epochs=run.tuned_epochs,
        augmentation=crops_of(fit.config),
        precision=fit.config.precision,
        seed=run.seed,
    )
    classifier = settings.fit(fit.model.encoder, drawn.train)
    found = Robustness(seed=run.seed).measure(
        classifier, of_each(drawn.tried, run.corrupted_images, seed=run.seed)
    )
    return replace(
        score,
        tuned=_accuracy(classifier, drawn.tried),
        corruptions=" ".join(found.corrupted),
        corrupted=_numbers(found.of(name).mean for name in found.corrupted),
        clean=found.clean.mean,
    )


def _few_shot(pool: LabeledFeatures, tried: LabeledFeatures, shots: int, seed: int) -> float:
    if int(pool.labels.unique(return_counts=True)[1].min()) < shots:
        return math.nan
    return FewShot(shots=shots, draws=DRAWS, seed=seed).accuracy(pool, tried).mean


def _features(model: Model, images: Images) -> LabeledFeatures:
    return LabeledFeatures(features=embed(model, images)[0], labels=images.required_labels())


def _accuracy(classifier: FineTuned, images: Images) -> float:
    named = classifier.classes.cpu()[classifier.logits(images).argmax(dim=1)]
    return float((named == images.required_labels()).double().mean())


def _numbers(values: Iterable[float]) -> str:
    return " ".join(f"{value:.5f}" for value in values)
