"""Images on the command line: which have test images, and their size and channels."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from tammes.data import Images, Published, digits, glyphs, published_at, usual_shape
from tammes.data.glyphs import CHARACTERS, MOST_CHARACTERS
from tammes.data.glyphs import SIZE as GLYPHS_SIZE
from tammes.data.published_files import Split
from tammes.data.shards import shape_of_shards
from tammes.data.stream_files import is_stream, shape_of_stream
from tammes.data.tar_files import holds_shards

DIGITS, GLYPHS = "digits", "glyphs"
DIGITS_SIZE = 8


@dataclass(frozen=True, kw_only=True)
class Included:
    """Gray images that need no files.

    Args:
        what: what they are called in a message.
        load: function that returns one part of them.
        size: height and width in pixels.
    """

    what: str
    load: Callable[[Split], Images]
    size: int


def included(data: str) -> Included | None:
    """Return the images that the words `digits`, `glyphs` and `glyphs:N` name; None for other data.

    Raises:
        ValueError: for a number of glyphs that is none, or out of its range.

    Example:
        >>> included("glyphs:30").load("test")
        Images(1590 images, 1x12x12, 30 classes)
    """
    if data == DIGITS:
        return Included(what="the digits", load=digits, size=DIGITS_SIZE)
    name, colon, number = data.partition(":")
    if name != GLYPHS:
        return None
    characters = CHARACTERS if not colon else int(number) if number.isdecimal() else 0
    if not 2 <= characters <= MOST_CHARACTERS:
        raise ValueError(
            f"--data glyphs:N expected a number of characters from 2 to {MOST_CHARACTERS:,}, got {data}"
        )
    return Included(what="the glyphs", load=partial(glyphs, characters=characters), size=GLYPHS_SIZE)


def has_own_test_images(data: str) -> bool:
    """Return whether the data have training and test images, as the digits and published sets do."""
    return included(data) is not None or _published(data) is not None


def size_and_channels(
    data: str,
    size: int | None,
    channels: Literal[1, 3] | None,
    largest: int | None = None,
    split: str | None = None,
) -> tuple[int, Literal[1, 3]]:
    """Return the given size and channels, or else those of the data: digits and glyphs are gray.

    Args:
        data: the data as named on the command line.
        size: height and width of the images in pixels, if it was given.
        channels: channels of the images, if they were given.
        largest: size to which the images of a folder, shards or a stream may go; None for 64.
        split: part of a stream that has several.
    """
    own, published = included(data), _published(data)
    if own is not None:
        usual: tuple[int, Literal[1, 3]] = (own.size, 1)
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
    return included(data) is None and (published is None or published.mirrors)


def load_parts(data: str, size: int, channels: int) -> tuple[Images, Images]:
    """Load both parts of data that have test images.

    Raises:
        ValueError: for another size or number of channels than they have.
    """
    parts = _part(data, "train"), _part(data, "test")
    has = parts[0]
    if (size, channels) != (has.size, has.channels):
        own = included(data)
        what = f"the images of {data}" if own is None else own.what
        color = "gray" if has.channels == 1 else "in color"
        raise ValueError(
            f"{what} are {has.size}x{has.size} pixels and {color}: leave --size and --channels out, "
            f"or evaluate a run that was trained on such images (got size {size}, {channels} channels)"
        )
    return parts


def _published(data: str) -> Published | None:
    return None if included(data) is not None else published_at(data)


def _part(data: str, split: Split) -> Images:
    own, published = included(data), _published(data)
    if own is not None:
        return own.load(split)
    assert published is not None  # the data have test images
    return published.load(Path(data), split)
