"""Digits over objects: nine copies of an MNIST digit on each photograph, so that an image has two labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from tammes.checks import check_seed
from tammes.data.fifths import every_fifth_apart
from tammes.data.folder import LARGEST_SIZE, folder
from tammes.data.images import Images, Pixels
from tammes.data.labels import Labeling
from tammes.data.mnist import SOURCE, holds_mnist, mnist
from tammes.data.published import MNIST, Published, published_at
from tammes.data.published_files import Split, check_part

SECTORS = 3
"""Sectors of an image along each axis; a copy of the digit stands in the center of each."""
FAINT = 100
"""Pixels of a digit below this intensity, of 255, let the photograph through."""
PUBLISHED_SIZE = 96
"""Height and width of the paper's photographs, on which the digits have their own 28 pixels."""
SMALLEST = 16
"""Height and width of photographs on which a digit, of 5 pixels there, can still be read."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OverlaidPixels:
    """Pixels of photographs under copies of a digit, combined when they are read.

    Args:
        below: photographs.
        digits: scans of the digits, scaled to a sector.
        chosen: digit of each photograph.
    """

    below: Pixels
    digits: UInt8[Tensor, "digits side side"]
    chosen: Int64[Tensor, " n"]

    @property
    def channels(self) -> int:
        """Number of channels, 1 (gray) or 3 (red, green, blue)."""
        return self.below.channels

    @property
    def size(self) -> int:
        """Height and width in pixels."""
        return self.below.size

    def __len__(self) -> int:
        return len(self.chosen)

    def __getitem__(self, row: int) -> UInt8[Tensor, "channels size size"]:
        pixels, digit = self.below[row].clone(), self.digits[int(self.chosen[row])]
        side = len(digit)
        tops = [round((place + 0.5) * self.size / SECTORS - side / 2) for place in range(SECTORS)]
        for top in tops:
            for left in tops:
                sector = pixels[:, top : top + side, left : left + side]
                sector.copy_(torch.where(digit >= FAINT, digit, sector))
        return pixels

    def take(self, rows: Sequence[int]) -> "OverlaidPixels":
        """Return the pixels of these rows, in this order."""
        return OverlaidPixels(
            below=self.below.take(rows), digits=self.digits, chosen=self.chosen[torch.tensor(list(rows))]
        )


def over(objects: Images, digits: Images, *, seed: int) -> Images:
    """Return photographs with nine copies of a random digit on each: features "object" and "digit".

    A photograph is cut into 3 x 3 sectors. A copy of the digit stands in the center of each, in the size that
    MNIST's 28 pixels have on 96, and replaces the pixels where it is at least 100 of 255 bright. The digit is
    drawn independently of the photograph.

    Args:
        objects: photographs with classes.
        digits: gray scans with classes, white on black.
        seed: random seed of the digits.

    Raises:
        ValueError: If either has no classes, or photographs are too small for a digit in each sector.

    Source: Robinson (2023), appendix B.2.2. Differs: on photographs of another size than 96 pixels the digits
    are scaled with them.

    Example:
        >>> from tammes.data import digits, trifeature
        >>> images = over(trifeature("test"), digits("test"), seed=0)
        >>> {name: len(labeling.classes) for name, labeling in images.by_feature.items()}
        {'object': 10, 'digit': 10}
    """
    check_seed("seed", seed)
    (kinds, objects_named), (numbers, digits_named) = map(_labels, (objects, digits))
    side = round(MNIST.size * objects.size / PUBLISHED_SIZE)
    if objects.size < SMALLEST:
        raise ValueError(
            f"expected photographs that have room for 3 x 3 digits, of at least {SMALLEST} pixels, got "
            f"{objects.size}; scale them to a larger size"
        )
    scans = digits.batch(range(len(digits))).float().mean(dim=1)
    scaled = adaptive_avg_pool2d(scans, side).round().to(torch.uint8)
    drawn = np.random.default_rng(seed).integers(len(digits), size=len(objects))
    chosen = torch.from_numpy(drawn)
    labeling = Labeling(labels=kinds, classes=objects_named)
    return Images(
        pixels=OverlaidPixels(below=objects.pixels, digits=scaled, chosen=chosen),
        names=objects.names,
        labels=kinds,
        classes=objects.classes,
        skipped=objects.skipped,
        by_feature={"object": labeling, "digit": Labeling(labels=numbers[chosen], classes=digits_named)},
    )


def digits_over(path: str | Path, split: Split, *, size: int | None = None, seed: int = 0) -> Images:
    """Load MNIST and photographs from one folder, and place the digits over the photographs.

    The photographs are CIFAR-10 or SVHN in their published files, or a folder of images with a folder for
    each class (Tiny-ImageNet, STL-10), of which every fifth image of each class is for testing. Test digits
    are placed over test photographs.

    Args:
        path: path of a folder that holds the four files of MNIST and the photographs, each in a folder within
            it; MNIST's files may also lie in the folder itself.
        split: part of the set, "train" or "test".
        size: height and width that the photographs of a folder are scaled to, in pixels; None for 64, and for
            published files.
        seed: random seed of the digits.

    Raises:
        ValueError: If `split` is neither; if one of the two is not there, or cannot be read; if several
            folders could be the photographs, or a size is given for published files of another.

    Source: Robinson (2023), appendix B.2.2.
    """
    check_part("split", split)
    digits_at, objects_at, published = _places(Path(path))
    scans = mnist(digits_at, split)
    if published is None:
        parts = every_fifth_apart(folder(objects_at, size=LARGEST_SIZE if size is None else size))
        return over(parts[0 if split == "train" else 1], scans, seed=seed)
    if size not in (None, published.size):
        raise ValueError(
            f"{published.name} has images of {published.size} pixels: leave the size out, got {size}"
        )
    return over(published.load(objects_at, split), scans, seed=seed)


def size_of_objects(path: str | Path) -> int | None:
    """Return the size of the photographs if it is fixed, as in published files; None for those of a folder.

    Raises:
        ValueError: If MNIST or the photographs are not there.
    """
    published = _places(Path(path))[2]
    return None if published is None else published.size


def _labels(images: Images) -> tuple[Int64[Tensor, " n"], tuple[str, ...]]:
    """Return labels and classes of images.

    Raises:
        ValueError: If the images have none.
    """
    labels = images.required_labels() if images.labels is None else images.labels
    assert images.classes is not None  # labels and classes come together
    return labels, images.classes


def _places(path: Path) -> tuple[Path, Path, Published | None]:
    """Return the folder of MNIST, that of the photographs, and which published set these are, if any."""
    if not path.is_dir():
        raise ValueError(f"expected a folder that holds MNIST and photographs, got {path}")
    within = [place for place in sorted(path.iterdir()) if not place.name.startswith(".")]
    digits_at = next((place for place in (path, *within) if place.is_dir() and holds_mnist(place)), None)
    if digits_at is None:
        raise ValueError(
            f"expected the four files of MNIST in {path} or a folder in it, found none; they are published "
            f"at {SOURCE}"
        )
    others = [place for place in within if place != digits_at]
    known = [(place, found) for place in others if (found := published_at(place)) is not None]
    if known:
        return digits_at, *known[0]
    folders = [place for place in others if place.is_dir()]
    if len(folders) != 1:
        others_named = ", ".join(place.name for place in folders) or "no folder"
        raise ValueError(
            f"expected CIFAR-10, SVHN or one folder of photographs beside MNIST in {path}, found "
            f"{others_named}"
        )
    return digits_at, folders[0], None
