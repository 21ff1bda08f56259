"""Training of one encoder of chapter 6, and the size of its studies."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

import torch

from tammes import recipes
from tammes.data import Images
from tammes.data.fifths import every_fifth_apart
from tammes.encoders import VisionTransformerConfig
from tammes.masked import DecoderConfig
from tammes.papers.arms import UNTRAINED
from tammes.papers.entry import Request
from tammes.papers.image_sets import Parts, balanced
from tammes.papers.robinson_masked.runs import CAN, METHODS, MaskedRun, masked_of
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
from tammes.training.environment import is_slow_in_bfloat16
from tammes.training.pretraining import with_masks
from tammes.training.run_folder import RunFolder
from tammes.training.suited import suited_augmentation

SEEDS, MEASURED_HERE, MIDDLE = 3, 0.02, 0.1
"""Paired seeds of every verdict; the budget of the docs; the budget of the network of 6 blocks x 192."""
MINUTES_HERE = 45
"""Minutes of all trainings at the budget of the docs, on one core."""
TEMPERATURE = 0.1
"""Section 6.2.2."""
POOL = 50
"""Images of a class from which shots are drawn, at most."""
SMALL, MEDIUM, BASE = "ViT 3 x 64", "ViT 6 x 192", "ViT-B"


@dataclass(frozen=True, kw_only=True)
class Network:
    """Encoder and decoder of a study; a decoder costs about a twelfth of its encoder, as beside ViT-L in D.3.

    Args:
        encoder: the encoder, whose patches follow from the images.
        decoder: the decoder.
        patches: number of patches along a side of the image, at least.
    """

    encoder: VisionTransformerConfig
    decoder: DecoderConfig
    patches: int

    def for_images(self, size: int) -> VisionTransformerConfig:
        """Return the encoder for images of a size; both sides have an even number of patches.

        Example:
            >>> [NETWORKS[SMALL].for_images(size).patch for size in (8, 28, 32)]
            [2, 7, 8]
        """
        largest = max(1, size // self.patches)
        fitting = [patch for patch in range(1, largest + 1) if size % (2 * patch) == 0]
        return replace(self.encoder, patch=fitting[-1] if fitting else 1)


NETWORKS: Mapping[str, Network] = {
    SMALL: Network(
        encoder=VisionTransformerConfig(depth=3, width=64, heads=2),
        decoder=DecoderConfig(width=32, depth=1, heads=2),
        patches=4,
    ),
    MEDIUM: Network(
        encoder=VisionTransformerConfig(), decoder=DecoderConfig(width=96, depth=2, heads=3), patches=8
    ),
    BASE: Network(
        encoder=VisionTransformerConfig.of("base"),
        decoder=DecoderConfig(width=512, depth=8, heads=16),
        patches=14,
    ),
}
"""Networks by name."""


@dataclass(frozen=True, kw_only=True)
class MaskedScale:
    """Size of a study.

    Args:
        encoder: name of the encoder, in `NETWORKS`.
        images: largest number of training images.
        test_images: largest number of test images.
        side: height and width of the images of a folder, in pixels.
        epochs: epochs of the long schedule.
        short: epochs of the short one, with which learning rates are searched.
        ablation: epochs with which losses, terms and settings are compared.
        batch_size: largest number of images of a step.
        tuned_epochs: epochs of fine-tuning.
        corrupted_images: largest number of corrupted test images.
        rates: learning rates that the search tries for every method.
        seeds: random seeds of every arm.
        learning: whether encoders are trained; else all keep their first weights.
    """

    encoder: str = SMALL
    images: int = 4000
    test_images: int = 2000
    side: int = 32
    epochs: int = 10
    short: int = 5
    ablation: int = 10
    batch_size: int = 64
    tuned_epochs: int = 5
    corrupted_images: int = 100
    rates: Sequence[float] = (3e-4, 1e-3, 3e-3)
    seeds: Sequence[int] = range(SEEDS)
    learning: bool = True

    @property
    def resumes(self) -> bool:
        """Whether a training is long enough to be resumed where the study was stopped in it."""
        return self.encoder != SMALL


def scale_of(request: Request) -> MaskedScale:
    """Return the thesis's ViT-B for the whole budget, else a small network on some of the images.

    Images and epochs grow like the square root of the budget.

    Raises:
        ValueError: the whole budget without a GPU.
    """
    if request.budget == 1:
        if not torch.cuda.is_available():
            raise ValueError(
                "the whole budget trains ViT-B for 100 to 4,800 epochs, many times, and PyTorch finds no GPU "
                f"here: choose budget {MEASURED_HERE:g}, whose trainings for all entries of the chapter took "
                f"{MINUTES_HERE} minutes of one core, or {MIDDLE:g}, about 17 hours with bfloat16"
            )
        return MaskedScale(
            encoder=BASE,
            images=10_000_000,
            test_images=10_000,
            # All images are held in memory: ImageNet has 16 GB at 64 pixels, 193 GB at the paper's 224.
            side=64,
            epochs=800,
            short=100,
            ablation=100,
            batch_size=4096,
            tuned_epochs=100,
            corrupted_images=10_000,
            seeds=request.seed_range(SEEDS),
            learning=request.learning,
        )
    is_medium, whole = request.budget >= MIDDLE / 2, request.budget >= MEASURED_HERE / 10
    usual = 5120 if is_medium else 4000 if whole else 1800
    size = math.sqrt(request.budget / (MIDDLE if is_medium else MEASURED_HERE))
    epochs = max(2, round((20 if is_medium else 10) * size))
    return MaskedScale(
        encoder=MEDIUM if is_medium else SMALL,
        images=max(120, round(usual * size)),
        test_images=2000 if whole else 200,
        epochs=epochs,
        short=epochs // 2,
        # The thesis has its short one, after which a small CAN is hardly above its first weights.
        ablation=epochs,
        batch_size=128 if is_medium else 64,
        tuned_epochs=max(1, epochs // 2),
        corrupted_images=100 if whole else 5,
        seeds=request.seed_range(SEEDS, fewest=SEEDS if whole else 1),
        learning=request.learning,
    )


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
    if encoder == SMALL or (Machine().device_type == "cpu" and is_slow_in_bfloat16()):
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
