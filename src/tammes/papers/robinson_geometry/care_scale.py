"""Size and data of the studies on rotations: the paper's at the whole budget, else what a CPU can train."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from tammes.data.published import published_at
from tammes.encoders import ConvNetConfig, ResNetConfig
from tammes.papers.entry import Request
from tammes.papers.image_sets import Parts, class_folder

MEASURED_HERE = 0.1
"""Budget at which the numbers in the docs are made."""
MANY_IMAGES, ROWS_OF_GROUP = 50_000, 16
"""Images from which on batches have the paper's size, and rows of a group."""
SIDE = 64
"""Height and width that images of a folder are scaled to."""


@dataclass(frozen=True, kw_only=True)
class CareScale:
    """Size of a study.

    Args:
        encoder: name of the encoder in the table, in `ENCODERS`.
        images: largest number of training images; None for all.
        test_images: largest number of test images that classifiers are tested on.
        measured: number of test images under augmentations.
        augmentations: number of augmentations, 20 in the paper.
        epochs: epochs of training.
        seeds: random seeds of every arm.
        learning: whether encoders are trained; else all keep their first weights.
    """

    encoder: str = "ConvNet, width 16"
    images: int | None = 10_000
    test_images: int = 2000
    measured: int = 500
    augmentations: int = 20
    epochs: int = 10
    seeds: Sequence[int] = range(3)
    learning: bool = True


ENCODERS: Mapping[str, ConvNetConfig | ResNetConfig] = {
    "ConvNet, width 16": ConvNetConfig(width=16),
    "ResNet-18": ResNetConfig(depth=18),
}


def scale_of(request: Request) -> CareScale:
    """Return the paper's scale for the whole budget, else that of a small network on some of the images.

    Images and epochs grow like the square root of the budget. The paper has ResNet-50, and ResNet-18 for
    Figures 5-3 and 5-7; 5 seeds of the linear readout.

    Raises:
        ValueError: the whole budget without a GPU.
    """
    if request.budget == 1:
        if not torch.cuda.is_available():
            raise ValueError(
                "the whole budget trains ResNet-18 on all images for 400 epochs, many times, and PyTorch "
                f"finds no GPU here: choose budget {MEASURED_HERE:g}, which takes about half an hour, or less"
            )
        return CareScale(
            encoder="ResNet-18",
            images=None,
            test_images=10_000,
            measured=2000,
            epochs=400,
            seeds=request.seed_range(5),
            learning=request.learning,
        )
    size = math.sqrt(request.budget / MEASURED_HERE)
    return CareScale(
        images=max(200, round(10_000 * size)),
        test_images=2000 if request.budget >= 0.01 else 300,
        measured=500 if request.budget >= 0.01 else 100,
        augmentations=20 if request.budget >= 0.01 else 4,
        epochs=max(1, round(10 * size)),
        seeds=request.seed_range(5, fewest=3 if request.budget >= 0.01 else 1),
        learning=request.learning,
    )


def image_set(data: Path) -> Mapping[str, Parts]:
    """Read one set of images, by its name: published files, those in a folder within, or a folder of classes.

    Of a folder of classes every fifth image of each class is kept for measuring.

    Raises:
        ValueError: images without classes, or that cannot be read.
    """
    places = [data, *sorted(data.iterdir())] if data.is_dir() else [data]
    found = [(published_at(place), place) for place in places]
    known = [(published, place) for published, place in found if published is not None]
    if known:
        published, place = known[0]
        return {published.name: (published.load(place, "train"), published.load(place, "test"))}
    return class_folder(data, size=SIDE)


def batch_of(images: int) -> tuple[int, int]:
    """Return the batch size and the number of groups: the paper's 256 and 16, or fewer for fewer images.

    Smaller batches make more steps of an epoch; groups keep the paper's 16 rows, and with them the weight of
    the loss.

    Example:
        >>> batch_of(50_000), batch_of(10_000), batch_of(40)
        ((256, 16), (128, 8), (8, 2))
    """
    largest = 256 if images >= MANY_IMAGES else 128
    size = max(8, min(largest, 2 ** int(math.log2(max(1, images // 4)))))
    return size, max(2, size // ROWS_OF_GROUP)
