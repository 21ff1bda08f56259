"""Sets of images that experiments train and measure on, and balanced draws from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from jaxtyping import Int64
from torch import Tensor

from tammes.data import Images, digits, folder, glyphs
from tammes.data.fifths import every_fifth_apart
from tammes.data.glyphs import CHARACTERS
from tammes.data.images import TensorPixels
from tammes.data.published import published_at
from tammes.training.seeds import Purpose, derive

DIGITS, GLYPHS = "digits", "glyphs"
"""Sets that need no file."""
Parts = tuple[Images, Images]
"""Images to train on, and images to measure on."""


def class_folder(data: Path, *, size: int) -> Mapping[str, Parts]:
    """Read a folder with a folder of images for each class, under its name, and keep a fifth for measuring.

    Images are decoded once, since each arm and seed of a study reads them in every epoch.

    Args:
        data: path of the folder.
        size: height and width that images are scaled to, in pixels.

    Raises:
        ValueError: images without classes, or that cannot be read.
    """
    images = folder(data, size=size)
    decoded = replace(images, pixels=TensorPixels(images.batch(range(len(images)))))
    return {data.resolve().name: every_fifth_apart(decoded)}


def image_sets(data: Path, *, size: int) -> dict[str, Parts]:
    """Read sets of images: published files or folders of classes, at the path or in the folders within it.

    Of a folder of classes every fifth image of each class is kept for measuring.

    Args:
        data: path of a set, or of a folder with several; `digits` or `glyphs:N` where there is no such file.
        size: height and width that the images of a folder are scaled to, in pixels.

    Raises:
        ValueError: images without classes, or that cannot be read; a number of glyphs that is none.

    Example:
        >>> {name: len(train) for name, (train, test) in image_sets(Path("glyphs:30"), size=32).items()}
        {'glyphs:30': 3180}
    """
    if not data.exists():
        return {str(data): _drawn(str(data))}
    published = published_at(data)
    if published is not None:
        return {published.name: (published.load(data, "train"), published.load(data, "test"))}
    within = [place for place in sorted(data.iterdir()) if place.is_dir()] if data.is_dir() else []
    if any(published_at(place) or any(inner.is_dir() for inner in place.iterdir()) for place in within):
        return {name: parts for place in within for name, parts in image_sets(place, size=size).items()}
    return dict(class_folder(data, size=size))


def of_classes(images: Images, classes: Int64[Tensor, " classes"]) -> Images:
    """Return the images of some classes."""
    return _rows(images, torch.isin(images.required_labels(), classes))


def balanced(images: Images, count: int | None, *, seed: int) -> Images:
    """Draw `count` of the images, equally many of each class; all images if `count` is None or not fewer.

    Of more classes than `count` one image each is drawn, so that no class is lost.

    Example:
        >>> from tammes.data import digits
        >>> balanced(digits("train"), 50, seed=0).labels.bincount().tolist()
        [5, 5, 5, 5, 5, 5, 5, 5, 5, 5]
    """
    labels = images.required_labels()
    if count is None or count >= len(images):
        return images
    classes = labels.unique().tolist()
    rows = []
    for label in classes:
        of_class = (labels == label).nonzero()[:, 0]
        generator = torch.Generator().manual_seed(derive(seed, Purpose.HOLDOUT, label))
        chosen = torch.randperm(len(of_class), generator=generator)[: max(1, count // len(classes))]
        rows += of_class[chosen].tolist()
    return images.subset(sorted(rows))


def _drawn(data: str) -> Parts:
    """Return the digits, or a number of glyphs."""
    name, _, characters = data.partition(":")
    if name == DIGITS and not characters:
        return digits("train"), digits("test")
    if name != GLYPHS or not (characters or "0").isdecimal():
        raise ValueError(f"expected {DIGITS}, {GLYPHS} or {GLYPHS}:N with a number of characters, got {data}")
    count = int(characters or CHARACTERS)
    return glyphs("train", characters=count), glyphs("test", characters=count)


def _rows(images: Images, chosen: Tensor) -> Images:
    return images.subset(chosen.nonzero()[:, 0].tolist())
