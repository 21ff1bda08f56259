"""Sets of images that experiments train and measure on, and balanced draws from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import torch
from jaxtyping import Int64
from torch import Tensor

from tammes.data import Images, digits, folder, glyphs
from tammes.data.fifths import every_fifth_apart
from tammes.data.glyphs import CHARACTERS
from tammes.data.published import CIFAR10, MNIST, SVHN, Published, published_at
from tammes.training.seeds import Purpose, derive

DIGITS, GLYPHS = "digits", "glyphs"
"""Sets that need no file."""
Parts = tuple[Images, Images]
"""Images to train on, and images to measure on."""
TRAIN, MEASURED = "train", ("test", "val", "valid", "validation")
"""Folders of the part to train on, and of the others; the first with labels is measured on."""
IMAGES, ANNOTATIONS = "images", "val_annotations.txt"
"""Names in Tiny-ImageNet."""


def class_folder(data: Path, *, size: int) -> Mapping[str, Parts]:
    """Read a folder with a folder of images for each class, under its name.

    Every fifth image of each class is kept for measuring, unless the set is published in parts: of `train`
    beside `test`, `val`, `valid` or `validation`, each with a folder for each class, `train` is trained on
    and the first of the others measured on. `val` may have `val_annotations.txt` in place of the folders, as
    Tiny-ImageNet has. Images are decoded once, since each arm and seed of a study reads them in every epoch.

    Args:
        data: path of the folder.
        size: height and width that images are scaled to, in pixels.

    Raises:
        ValueError: images without classes, that cannot be read, or of a class that `train` has not.
    """
    if not _has_parts(data):
        return {data.resolve().name: every_fifth_apart(folder(data, size=size).in_memory())}
    train = folder(data / TRAIN, size=size).in_memory()
    measured = next((data / name for name in MEASURED if _has_labels(data / name)), None)
    if measured is None:
        return {data.resolve().name: every_fifth_apart(train)}
    return {data.resolve().name: (train, _part(measured, train, size=size).in_memory())}


def published_sets(data: Path, *, wanted: str | None) -> dict[str, Parts]:
    """Read CIFAR-10 and SVHN, or MNIST in place of SVHN, from a folder or the folders in it.

    Args:
        data: path of a set, or of a folder with several.
        wanted: description of the data of the entry, for the error.

    Raises:
        ValueError: a folder without any of them, or a set that cannot be read.
    """
    places = [data, *sorted(data.iterdir())] if data.is_dir() else [data]
    at: dict[Published, Path] = {}
    for place in places:
        found = published_at(place)
        if found is not None:
            at.setdefault(found, place)
    chosen = (CIFAR10, SVHN if SVHN in at else MNIST)
    if not any(each in at for each in chosen):
        raise ValueError(f"expected in {data} or a folder in it {wanted}; found none of them")
    return {
        each.name: (each.load(at[each], "train"), each.load(at[each], "test"))
        for each in chosen
        if each in at
    }


def image_sets(data: Path, *, size: int) -> dict[str, Parts]:
    """Read sets of images: published files or folders of classes, at the path or in the folders within it.

    `class_folder` says which images of a folder of classes are kept for measuring. The images of a class may
    lie in a folder `images` within its own.

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
    within = [] if _has_parts(data) else _folders(data)
    if any(published_at(place) or _has_folders(place) for place in within):
        return {name: parts for place in within for name, parts in image_sets(place, size=size).items()}
    return dict(class_folder(data, size=size))


def _folders(place: Path) -> list[Path]:
    if not place.is_dir():
        return []
    return [each for each in sorted(place.iterdir()) if each.is_dir()]


def _has_folders(place: Path) -> bool:
    """Return whether there are folders in a folder, but for one named `images` that has files alone."""
    return any(each.name != IMAGES or _folders(each) for each in _folders(place))


def _has_parts(data: Path) -> bool:
    """Return whether a folder has a part to train on, with a folder for each class, beside another part.

    CIFAR-100 has a class of trains, whose folder has no folders.
    """
    return bool(_folders(data / TRAIN)) and any((data / name).is_dir() for name in MEASURED)


def _has_labels(part: Path) -> bool:
    return _has_folders(part) or (part / ANNOTATIONS).is_file()


def _part(part: Path, train: Images, *, size: int) -> Images:
    """Return the images of another part, with the numbers that the classes have in `train`."""
    if (part / ANNOTATIONS).is_file():
        images = folder(part / IMAGES, size=size)
        lines = (part / ANNOTATIONS).read_text().splitlines()
        of_file = dict(line.split("\t")[:2] for line in lines if "\t" in line)
    else:
        images = folder(part, size=size)
        of_file = {name: name.partition("/")[0] for name in images.names}
    missing = [name for name in images.names if name not in of_file]
    if missing:
        raise ValueError(
            f"expected a line with the class of {missing[0]} in {part / ANNOTATIONS}, found none: complete "
            "the file"
        )
    index = {name: label for label, name in enumerate(train.classes or ())}
    found = [of_file[name] for name in images.names]
    unknown = sorted(set(found) - set(index))
    if unknown:
        raise ValueError(
            f"expected classes of {part.parent / TRAIN} in {part}, got {unknown[0]}: leave its images out"
        )
    return replace(images, labels=torch.tensor([index[name] for name in found]), classes=train.classes)


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


class ImagesRun(Protocol):
    """Training on some images of a set, as far as they depend on it."""

    @property
    def data(self) -> str:
        """Name of the set."""

    @property
    def images(self) -> int:
        """Number of training images."""

    @property
    def seed(self) -> int:
        """Random seed of the images."""


def drawer(sets: Mapping[str, Parts], test_images: int) -> Callable[[ImagesRun], Parts]:
    """Return the function that draws the training images of a run's seed, and its test images.

    It keeps the last two draws, since the arms of a seed have the same images.

    Args:
        sets: sets by name, whole.
        test_images: largest number of test images.
    """

    @lru_cache(maxsize=2)
    def drawn(data: str, images: int, seed: int) -> Parts:
        train, test = sets[data]
        return balanced(train, images, seed=seed), balanced(test, test_images, seed=seed)

    return lambda run: drawn(run.data, run.images, run.seed)


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
