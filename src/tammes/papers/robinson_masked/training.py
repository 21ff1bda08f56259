"""Training of one encoder of chapter 6."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

from tammes import recipes
from tammes.data import Images
from tammes.data.fifths import every_fifth_apart
from tammes.papers.arms import UNTRAINED
from tammes.papers.image_sets import Parts, balanced
from tammes.papers.robinson_masked.runs import CAN, METHODS, MaskedRun, masked_of
from tammes.papers.robinson_masked.scale import NETWORKS, SMALL, MaskedScale
from tammes.positives import Augmentation
from tammes.training import (
    ImagesSummary,
    Machine,
    Masked,
    Model,
    RunConfig,
    TrainingConfig,
    build_model,
    suited,
    train,
)
from tammes.training.environment import is_slower_in
from tammes.training.pretraining import with_masks
from tammes.training.run_folder import RunFolder
from tammes.training.suited import suited_augmentation

TEMPERATURE = 0.1
"""Section 6.2.2."""
POOL = 50
"""Images of a class from which shots are drawn, at most."""


def base_run(data: str, parts: Parts, scale: MaskedScale) -> MaskedRun:
    """Return the run of CAN with the short schedule, of which all others of a set are changes."""
    images = min(scale.images, len(parts[0]))
    # The search has four fifths of the images, and some methods have double batches.
    fitting = 2 ** int(math.log2(max(8, images // 5)))
    return MaskedRun(
        data=data,
        method=CAN,
        rate=METHODS[CAN].rate,
        noise=METHODS[CAN].noise,
        learning_rate=scale.rates[0],
        images=images,
        test_images=min(scale.test_images, len(parts[1])),
        epochs=scale.short if scale.learning else 0,
        batch_size=min(scale.batch_size, fitting),
        encoder=scale.encoder,
        seed=scale.seeds[0],
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """Images of a run.

    Args:
        train: images to train on.
        tried: images to measure on.
        pool: training images from which shots are drawn.
    """

    train: Images
    tried: Images
    pool: Images


def of_each(images: Images, count: int, *, seed: int) -> Images:
    """Draw `count` images, equally many of each class and at least one.

    Example:
        >>> from tammes.data import digits
        >>> of_each(digits("test"), 3, seed=0)
        Images(10 images, 1x8x8, 10 classes)
    """
    classes = len(images.required_labels().unique())
    return balanced(images, max(count, classes), seed=seed)


def drawer(sets: Mapping[str, Parts]) -> Callable[[MaskedRun], Drawn]:
    """Return the function that draws the images of a run by its seed.

    Args:
        sets: sets by name, whole.
    """

    @lru_cache(maxsize=2)
    def drawn(data: str, images: int, test_images: int, seed: int, measured_on: str) -> Drawn:
        learned, tried = sets[data]
        if measured_on != "test images":  # a fifth of the training images; the test part stays unseen
            learned, tried = every_fifth_apart(learned, at=0)
        classes = len(learned.required_labels().unique())
        return Drawn(
            train=of_each(learned, images, seed=seed),
            tried=of_each(tried, test_images, seed=seed),
            pool=balanced(learned, POOL * classes, seed=seed),
        )

    return lambda run: drawn(run.data, run.images, run.test_images, run.seed, run.measured_on)


def config_of(run: MaskedRun, images: Images) -> TrainingConfig:
    """Return the settings of a run: Tables D.2 and D.4 but for the learning rate, which is searched.

    Args:
        run: the run.
        images: training images, which decide patches and augmentation.
    """
    method = CAN if run.method == UNTRAINED else run.method
    network = NETWORKS[run.encoder]
    masked = replace(
        masked_of(replace(run, method=method)),
        decoder_width=network.decoder.width,
        decoder_depth=network.decoder.depth,
        decoder_heads=network.decoder.heads,
    )
    config = suited(
        recipes.simclr(temperature=TEMPERATURE),
        images,
        encoder=network.for_images(images.size),
        epochs=max(1, run.epochs),
        batch_size=run.batch_size,
        masked=masked,
        seed=run.seed,
    )
    # Without contrast, `suited` leaves the colors: so has MAE, and the ablations have the views of CAN.
    views = config.augmentation if METHODS[method].crops_alone else suited_augmentation(images)
    return replace(
        config,
        augmentation=views,
        optimizer=replace(config.optimizer, learning_rate=run.learning_rate),
        precision=precision_of(run.encoder),
    )


@cache
def precision_of(encoder: str) -> Literal["32-true", "bf16-mixed"]:
    """Return the precision in which a network is trained here.

    Args:
        encoder: name of the network.
    """
    if encoder == SMALL or is_slower_in("bf16-mixed", Machine().device):
        return "32-true"
    return "bf16-mixed"


def crops_of(config: TrainingConfig) -> Augmentation:
    """Return the augmentation of fine-tuning: crops and mirrors that keep their colors."""
    views = with_masks(config, Masked.mae()).augmentation
    assert isinstance(views, Augmentation)  # images have one
    return views


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A trained encoder.

    Args:
        model: encoder and head.
        config: settings of its training.
        losses: mean of each term over the last epoch, by name, before the weights.
        steps: number of steps.
        flops: floating-point operations of all steps.
        seconds: processor time of the training; of one that can be resumed, its wall-clock time.
    """

    model: Model
    config: TrainingConfig
    losses: Mapping[str, float]
    steps: int = 0
    flops: float = 0.0
    seconds: float = 0.0


def fitted(run: MaskedRun, images: Images, *, folder: RunFolder | None = None) -> Fitted:
    """Train an encoder.

    Args:
        run: the training.
        images: training images.
        folder: folder of the training, in which it resumes; None keeps it in memory.
    """
    config = config_of(run, images)
    if run.epochs == 0:
        model = build_model(RunConfig(training=config, data=ImagesSummary.of(images, source="data")))
        return Fitted(model=model, config=config, losses={})
    start = time.process_time()
    trained = train(config, images, folder=folder, machine=Machine())
    last = trained.metrics[-1]
    return Fitted(
        model=trained.model,
        config=config,
        losses={name.removesuffix("_loss"): value for name, value in last.last.items()},
        steps=last.step,
        flops=last.last["flops"],
        # The processor time of a resumed training is that of its last piece alone.
        seconds=time.process_time() - start if folder is None else trained.seconds or 0.0,
    )


def step_flops(run: MaskedRun, images: Images) -> float:
    """Return the floating-point operations of a step for each image of the batch."""
    some = images.subset(range(min(len(images), run.batch_size)))
    return fitted(replace(run, epochs=1, batch_size=len(some)), some).flops / len(some)
