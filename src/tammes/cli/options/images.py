"""Images on the command line: their usual size and channels, and the views that suit them."""

from pathlib import Path
from typing import Literal

from tammes.data import Images, Published, digits, published_at
from tammes.data.published_files import Split
from tammes.positives.augmentation import Handwriting, Photographs

DIGITS = "digits"
DIGITS_SIZE = 8
FOLDER_SIZE = 32


def has_own_test_images(data: str) -> bool:
    """Return whether the data have training and test images, as the digits and published sets do."""
    return data == DIGITS or _published(data) is not None


def size_and_channels(
    data: str, size: int | None, channels: Literal[1, 3] | None
) -> tuple[int, Literal[1, 3]]:
    """Return the given size and channels, or else those of the data: the digits are 8x8 and gray."""
    usual: tuple[int, Literal[1, 3]] = (DIGITS_SIZE, 1) if data == DIGITS else (FOLDER_SIZE, 3)
    published = _published(data)
    if published is not None:
        usual = published.size, published.channels
    return usual[0] if size is None else size, channels or usual[1]


def usual_augmentation(data: str) -> Photographs | Handwriting:
    """Return the augmentation that suits the data; a digit must not be mirrored."""
    published = _published(data)
    if data == DIGITS or (published is not None and published.channels == 1):
        return Handwriting()
    return Photographs() if published is None or published.mirrors else Photographs(flip_probability=0.0)


def load_parts(data: str, size: int, channels: int) -> tuple[Images, Images]:
    """Load both parts of data that have test images.

    Raises:
        ValueError: for another size or number of channels than they have.
    """
    parts = _part(data, "train"), _part(data, "test")
    has = parts[0]
    if (size, channels) != (has.size, has.channels):
        what = "the digits" if data == DIGITS else f"the images of {data}"
        color = "gray" if has.channels == 1 else "in color"
        raise ValueError(
            f"{what} are {has.size}x{has.size} pixels and {color}: leave --size and --channels out, "
            f"or evaluate a run that was trained on such images (got size {size}, {channels} channels)"
        )
    return parts


def _published(data: str) -> Published | None:
    return None if data == DIGITS else published_at(data)


def _part(data: str, split: Split) -> Images:
    published = _published(data)
    return digits(split) if published is None else published.load(Path(data), split)
