"""Size of the studies of chapter 6: networks, images and epochs by budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from tammes.encoders import VisionTransformerConfig
from tammes.masked import DecoderConfig
from tammes.papers.entry import Request

SEEDS, MEASURED_HERE, MIDDLE = 3, 0.02, 0.1
"""Paired seeds of every verdict; the budget of the docs; the budget of the network of 6 blocks x 192."""
MINUTES_HERE = 45
"""Minutes of all trainings at the budget of the docs, on one core."""
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
