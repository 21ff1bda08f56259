"""The images from the shell: the digits, or a folder, and what is held out of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from tammes.data import Images, digits, folder
from tammes.positives.augmentation import Handwriting, Photographs
from tammes.training.seeds import Purpose, derive

DIGITS = "digits"
DIGITS_SIZE = 8
FOLDER_SIZE = 32


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where images come from.

    Args:
        data: `digits` (scikit-learn's scans, nothing to download), or a folder of images; a folder in it
            for each class gives labels.
        strict: Refuse a folder that holds anything but images, instead of leaving it out.
    """

    data: str
    strict: bool = False

    def load(self, *, size: int, channels: int) -> tuple[Images, ...]:
        """All images: of the digits both parts, of a folder one."""
        if self.data == DIGITS:
            parts = (digits("train"), digits("test"))
            _expect_digits(parts[0], size, channels)
            return parts
        return (folder(self.data, size=size, channels=channels, strict=self.strict),)


@dataclass(frozen=True, kw_only=True)
class Split(Source):
    """Images to learn from, and images to measure on.

    Args:
        test: A folder of labeled images to measure on, with the same class folders.
        held_out: Without --test, the part of each class of a labeled folder that is kept for measuring and
            not trained on; 0 trains on everything and measures nothing.
    """

    test: Path | None = None
    held_out: float = 0.1

    def load_split(self, *, size: int, channels: int) -> tuple[Images, Images | None]:
        """The images to learn from, and those to measure on where there are labels.

        Raises:
            ValueError: where the images cannot be had or split like this.
        """
        parts = self.load(size=size, channels=channels)
        if self.data == DIGITS:
            if self.test is not None:
                raise ValueError("the digits have their own test images: leave --test out")
            return parts[0], parts[1]
        images = parts[0]
        if self.test is not None:
            test = folder(self.test, size=size, channels=channels, strict=self.strict)
            return images, _same_classes(images, test)
        if images.labels is None or self.held_out == 0:
            return images, None
        images.required_labels()
        return hold_out(images, self.held_out)


def size_and_channels(
    data: str, size: int | None, channels: Literal[1, 3] | None
) -> tuple[int, Literal[1, 3]]:
    """What was asked for, or else what suits the data: the digits are 8x8 and gray."""
    usual: tuple[int, Literal[1, 3]] = (DIGITS_SIZE, 1) if data == DIGITS else (FOLDER_SIZE, 3)
    return usual[0] if size is None else size, channels or usual[1]


def usual_augmentation(data: str) -> Photographs | Handwriting:
    """The views that suit the data: a mirrored digit is none."""
    return Handwriting() if data == DIGITS else Photographs()


def hold_out(images: Images, fraction: float) -> tuple[Images, Images]:
    """Split labeled images, class by class, in the same way every time.

    Args:
        images: with labels.
        fraction: of each class to hold out, rounded, at least one of each class that has two.

    Returns:
        The images to learn from, and those held out.

    Raises:
        ValueError: for a fraction outside (0, 1), or where one of the two would be empty.
    """
    if not 0 < fraction < 1:
        raise ValueError(f"held_out must be a fraction from 0 to below 1, got {fraction}")
    labels = images.required_labels()
    held: list[int] = []
    for label in labels.unique().tolist():
        rows = (labels == label).nonzero()[:, 0]
        generator = torch.Generator().manual_seed(derive(0, Purpose.HOLDOUT, label))
        count = min(max(1, round(fraction * len(rows))), len(rows) - 1)
        held += rows[torch.randperm(len(rows), generator=generator)[:count]].tolist()
    chosen = set(held)
    if len(labels[held].unique()) < 2:
        raise ValueError(
            "too few images to hold some out of each class: name a folder by --test, or use --held-out 0"
        )
    rest = [row for row in range(len(images)) if row not in chosen]
    return images.subset(rest), images.subset(sorted(held))


def _same_classes(images: Images, test: Images) -> Images:
    test.required_labels()
    if images.labels is not None and images.classes != test.classes:
        odd = sorted(set(images.classes or ()) ^ set(test.classes or ()))
        raise ValueError(f"the test images must have the same class folders; these differ: {', '.join(odd)}")
    return test


def _expect_digits(images: Images, size: int, channels: int) -> None:
    if (size, channels) != (images.size, images.channels):
        raise ValueError(
            f"the digits are {images.size}x{images.size} pixels and gray: leave --size and --channels out, "
            f"or evaluate a run that was trained on such images (got size {size}, {channels} channels)"
        )
