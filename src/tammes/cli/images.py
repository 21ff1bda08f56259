"""Images on the command line: which have test images, and their size and channels."""

from pathlib import Path
from typing import Literal

from tammes.data import Images, Published, digits, published_at, usual_shape
from tammes.data.published_files import Split
from tammes.data.shards import shape_of_shards
from tammes.data.stream_files import is_stream, shape_of_stream
from tammes.data.tar_files import holds_shards

DIGITS = "digits"
DIGITS_SIZE = 8


def has_own_test_images(data: str) -> bool:
    """Return whether the data have training and test images, as the digits and published sets do."""
    return data == DIGITS or _published(data) is not None


def size_and_channels(
    data: str,
    size: int | None,
    channels: Literal[1, 3] | None,
    largest: int | None = None,
    split: str | None = None,
) -> tuple[int, Literal[1, 3]]:
    """Return the given size and channels, or else those of the data: the digits are 8x8 and gray.

    Args:
        data: the data as named on the command line.
        size: height and width of the images in pixels, if it was given.
        channels: channels of the images, if they were given.
        largest: size to which the images of a folder, shards or a stream may go; None for 64.
        split: part of a stream that has several.
    """
    published = _published(data)
    if data == DIGITS:
        usual: tuple[int, Literal[1, 3]] = (DIGITS_SIZE, 1)
    elif published is not None:
        usual = published.size, published.channels
    elif size is not None and channels is not None:
        usual = size, channels
    elif holds_shards(data):
        usual = shape_of_shards(data, largest=largest)
    elif is_stream(data):
        usual = shape_of_stream(data, split=split, largest=largest)
    else:
        usual = usual_shape(data, largest=largest)
    return usual[0] if size is None else size, channels or usual[1]


def mirrors(data: str) -> bool:
    """Return whether a mirrored image of the data means the same; a digit must not be mirrored."""
    published = _published(data)
    return published is None or published.mirrors


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
