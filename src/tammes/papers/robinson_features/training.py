"""Training of one encoder of the studies of features, and the size of these studies."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from tammes.data import Images, digits_over, trifeature
from tammes.encoders import ResNet9Config, ResNetConfig
from tammes.papers.entry import Request
from tammes.papers.image_sets import Parts
from tammes.papers.robinson_features.methods import (
    MOCO,
    MOCO_TEMPERATURE,
    QUEUED,
    SIMCLR,
    UNTRAINED,
    FeatureRun,
    method_of,
)
from tammes.training import (
    Adam,
    ImagesSummary,
    Machine,
    Model,
    RunConfig,
    RunFolder,
    TrainingConfig,
    build_model,
    train,
)
from tammes.training.suited import suited_augmentation

TRIFEATURE, DIGITS_OVER = "Trifeature", "digits over objects"
SEEDS, MEASURED_HERE = 3, 0.1
"""Paired seeds of every verdict, as in section 4.4.1; the budget of the docs."""
SIDE = 32
"""Height and width that the images of a folder are scaled to, in pixels."""
ENCODERS: Mapping[str, ResNet9Config | ResNetConfig] = {
    "ResNet-9, width 16": ResNet9Config(width=16),
    "ResNet-18": ResNetConfig(depth=18),
}


@dataclass(frozen=True, kw_only=True)
class FeatureScale:
    """Size of a study.

    Args:
        encoder: name of the encoder, in `ENCODERS`.
        images: largest number of training images.
        test_images: largest number of test images.
        side: height and width of the images that are drawn or come from a folder, in pixels.
        epochs: epochs of training.
        seeds: random seeds of every arm.
        learning: whether encoders are trained; else all keep their first weights.
    """

    encoder: str = "ResNet-9, width 16"
    images: int = 4000
    test_images: int = 1000
    side: int = SIDE
    epochs: int = 10
    seeds: Sequence[int] = range(SEEDS)
    learning: bool = True

    @property
    def learning_rate(self) -> float:
        """Learning rate of Adam: the paper's, or what a small network learns from in few epochs."""
        return 1e-3 if self.encoder == "ResNet-18" else 3e-3


def scale_of(request: Request) -> FeatureScale:
    """Return ResNet-18 for 200 epochs for the whole budget, else a small network on some of the images.

    Images and epochs grow like the square root of the budget.

    Raises:
        ValueError: the whole budget without a GPU.
    """
    if request.budget == 1:
        if not torch.cuda.is_available():
            raise ValueError(
                "the whole budget trains ResNet-18 for 200 epochs, many times, and PyTorch finds no GPU "
                f"here: choose budget {MEASURED_HERE:g}, which all entries of the chapter do in about three "
                "hours of two cores, or less"
            )
        return FeatureScale(
            encoder="ResNet-18",
            images=50_000,
            test_images=10_000,
            side=64,
            epochs=200,
            seeds=request.seed_range(SEEDS),
            learning=request.learning,
        )
    size, whole = math.sqrt(request.budget / MEASURED_HERE), request.budget >= 0.01
    return FeatureScale(
        images=max(120, round(4000 * size)),
        test_images=1000 if whole else 300,
        epochs=max(1, round(10 * size)),
        seeds=request.seed_range(SEEDS, fewest=SEEDS if whole else 1),
        learning=request.learning,
    )


def feature_sets(data: Path | None, scale: FeatureScale) -> dict[str, Parts]:
    """Draw Trifeature, and place digits over objects if there are data for it.

    Args:
        data: folder of MNIST and photographs; None for Trifeature alone.
        scale: size of the study.

    Raises:
        ValueError: data without either, or that cannot be read.
    """
    examples = max(1, math.ceil(scale.images / 1000))
    drawn = [trifeature(part, size=scale.side, examples=examples) for part in ("train", "test")]
    sets = {TRIFEATURE: (drawn[0], drawn[1])}
    if data is not None:
        sets[DIGITS_OVER] = digits_over(data, "train"), digits_over(data, "test")
    return sets


def base_run(data: str, parts: Parts, scale: FeatureScale) -> FeatureRun:
    """Return the run of SimCLR that all arms of a set are changes of."""
    images = min(scale.images, len(parts[0]))
    largest = 256 if scale.encoder == "ResNet-18" else 128
    return FeatureRun(
        data=data,
        method=SIMCLR,
        images=images,
        epochs=scale.epochs if scale.learning else 0,
        batch_size=max(8, min(largest, 2 ** int(math.log2(max(8, images // 4))))),
        encoder=scale.encoder,
        seed=scale.seeds[0],
    )


def untrained_run(base: FeatureRun) -> FeatureRun:
    """Return the run of the encoder with its first weights."""
    return replace(base, method=UNTRAINED, epochs=0)


def queued_run(base: FeatureRun) -> FeatureRun:
    """Return the run of MoCo on the same images."""
    queue = min(QUEUED, 16 * base.batch_size)
    return replace(base, method=MOCO, temperature=MOCO_TEMPERATURE, queue=queue)


def over_seeds(runs: Sequence[FeatureRun], scale: FeatureScale) -> list[FeatureRun]:
    """Return the runs with each seed, seed by seed."""
    return [replace(run, seed=seed) for seed in scale.seeds for run in runs]


def config_of(run: FeatureRun, scale: FeatureScale, images: Images) -> TrainingConfig:
    """Return the settings of a run: Adam at a constant rate, as in B.2.2.

    Args:
        run: the run.
        scale: size of the study.
        images: training images, which decide the augmentation.
    """
    method = method_of(run)
    return TrainingConfig(
        objective=method.objective(run),
        encoder=ENCODERS[run.encoder],
        augmentation=suited_augmentation(images),
        optimizer=Adam(learning_rate=scale.learning_rate),
        batch_size=run.batch_size,
        epochs=max(1, run.epochs),
        seed=run.seed,
        negatives=method.negatives(run),
        attack=method.attack,
    )


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A trained encoder.

    Args:
        model: encoder and head.
        config: settings of its training.
        epochs: epochs so far; 0 of the untrained one.
        loss: mean training loss of the last epoch.
        seconds: processor time of the training.
    """

    model: Model
    config: TrainingConfig
    epochs: int
    loss: float = 0.0
    seconds: float = 0.0


def fitted(
    run: FeatureRun, scale: FeatureScale, images: Images, *, parts: Sequence[int] = (1,)
) -> Iterator[Fitted]:
    """Train an encoder, and yield it after parts of its epochs.

    Args:
        run: the training.
        scale: size of the study.
        images: training images.
        parts: divisors of the epochs after which the encoder is measured, the last one 1.
    """
    config = config_of(run, scale, images)
    if run.epochs == 0:
        model = build_model(RunConfig(training=config, data=ImagesSummary.of(images, source="data")))
        yield from (Fitted(model=model, config=config, epochs=0) for _ in parts)
        return
    seconds = 0.0
    with tempfile.TemporaryDirectory() as path:
        kept = RunFolder(path=Path(path, "run"))
        for part in parts:
            # No setting depends on the number of epochs, so resuming is the longer run from its beginning.
            epochs, start = -(-run.epochs // part), time.process_time()
            trained = train(replace(config, epochs=epochs), images, folder=kept, machine=Machine())
            seconds += time.process_time() - start
            loss = trained.metrics[-1].loss or 0.0
            yield Fitted(model=trained.model, config=config, epochs=epochs, loss=loss, seconds=seconds)
            kept = replace(kept, resume=True)
