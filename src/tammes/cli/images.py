"""Images on the command line: which have test images, and their size and channels."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tammes.data import Images, Published, digits, digits_over, glyphs, published_at, trifeature, usual_shape
from tammes.data.digits_over import size_of_objects
from tammes.data.folder import LARGEST_SIZE
from tammes.data.glyphs import CHARACTERS, MOST_CHARACTERS
from tammes.data.glyphs import SIZE as GLYPHS_SIZE
from tammes.data.published_files import Split
from tammes.data.shards import shape_of_shards
from tammes.data.stream_files import is_stream, shape_of_stream
from tammes.data.tar_files import holds_shards
from tammes.data.trifeature import EXAMPLES, MOST_EXAMPLES
from tammes.data.trifeature import SIZE as TRIFEATURE_SIZE
from tammes.encoders import VisionTransformerConfig
from tammes.training.pretraining import fitting_size

DIGITS, GLYPHS, TRIFEATURE, DIGITS_OVER = "digits", "glyphs", "trifeature", "digits-over"
INCLUDED = (DIGITS, GLYPHS, TRIFEATURE, DIGITS_OVER)
"""Words that name images of the package."""
DIGITS_SIZE = 8


@dataclass(frozen=True, kw_only=True)
class Included:
    """Images that are named by a word: drawn, included, or combined from published files.

    Args:
        what: what they are called in a message.
        load: function that returns one part of them, in a size.
        size: height and width in pixels, if no other is given.
        any_size: whether they have any size that is given.
        channels: 1 (gray) or 3.
        mirrors: whether an image and its mirror image mean the same.
    """

    what: str
    load: Callable[[Split, int], Images]
    size: int
    any_size: bool = False
    channels: Literal[1, 3] = 1
    mirrors: bool = False


def included(data: str) -> Included | None:
    """Return the images that a word names: `digits`, `glyphs:N`, `trifeature:N`, `digits-over:FOLDER`.

    The numbers may be left out. None for other data.

    Raises:
        ValueError: for a number that is none or out of its range, or a folder without MNIST and photographs.

    Example:
        >>> included("glyphs:30").load("test", 12)
        Images(1590 images, 1x12x12, 30 classes)
    """
    if data == DIGITS:
        return Included(what="the digits", load=lambda split, size: digits(split), size=DIGITS_SIZE)
    name, colon, rest = data.partition(":")
    if name == GLYPHS:
        characters = _number(data, colon, rest, CHARACTERS, "characters", 2, MOST_CHARACTERS)
        return Included(
            what="the glyphs",
            load=lambda split, size: glyphs(split, characters=characters),
            size=GLYPHS_SIZE,
        )
    if name == TRIFEATURE:
        examples = _number(data, colon, rest, EXAMPLES, "drawings of each combination", 1, MOST_EXAMPLES)
        return Included(
            what="the images of trifeature",
            load=lambda split, size: trifeature(split, size=size, examples=examples),
            size=TRIFEATURE_SIZE,
            any_size=True,
            channels=3,
            mirrors=True,
        )
    if name != DIGITS_OVER or not colon:
        return None
    fixed = size_of_objects(rest)
    return Included(
        what=f"the images of {data}",
        load=lambda split, size: digits_over(rest, split, size=size),
        size=LARGEST_SIZE if fixed is None else fixed,
        any_size=fixed is None,
        channels=3,
    )


def _number(data: str, colon: str, rest: str, usual: int, what: str, smallest: int, largest: int) -> int:
    """Return the number behind a colon, or the usual one.

    Raises:
        ValueError: for anything else behind the colon, or a number out of its range.
    """
    number = usual if not colon else int(rest) if rest.isdecimal() else -1
    if not smallest <= number <= largest:
        raise ValueError(
            f"--data {data.partition(':')[0]}:N expected a number of {what} from {smallest} to {largest:,}, "
            f"got {data}"
        )
    return number


def has_own_test_images(data: str) -> bool:
    """Return whether the data have training and test images, as the digits and published sets do."""
    return included(data) is not None or _published(data) is not None


def size_and_channels(
    data: str,
    size: int | None,
    channels: Literal[1, 3] | None,
    largest: int | None = None,
    split: str | None = None,
    image: str | None = None,
) -> tuple[int, Literal[1, 3]]:
    """Return the given size and channels, or else those of the data.

    Args:
        data: the data as named on the command line.
        size: height and width of the images in pixels, if it was given.
        channels: channels of the images, if they were given.
        largest: size to which the images of a folder, shards or a stream may go; None for 64.
        split: part of a stream that has several.
        image: column of the images of a stream, if it was given.
    """
    own, published = included(data), _published(data)
    if own is not None:
        usual: tuple[int, Literal[1, 3]] = (own.size, own.channels)
    elif published is not None:
        usual = published.size, published.channels
    elif size is not None and channels is not None:
        usual = size, channels
    elif holds_shards(data):
        usual = shape_of_shards(data, largest=largest)
    elif is_stream(data):
        usual = shape_of_stream(data, image=image, split=split, largest=largest)
    else:
        usual = usual_shape(data, largest=largest)
    return usual[0] if size is None else size, channels or usual[1]


def size_in_patches(size: int, encoder: object, *, masks: bool) -> int:
    """Return the usual size of images, or the next smaller one into which patches fit.

    Args:
        size: usual height and width in pixels.
        encoder: settings of the network, or None.
        masks: whether patches are hidden, so that both sides need an even number of them.
    """
    if isinstance(encoder, VisionTransformerConfig):
        step = encoder.patch * (2 if masks else 1)
        return max(step, size // step * step)
    return fitting_size(size) if masks and encoder is None else size


def mirrors(data: str) -> bool:
    """Return whether a mirrored image of the data means the same; a digit must not be mirrored."""
    own, published = included(data), _published(data)
    return own.mirrors if own is not None else published is None or published.mirrors


def load_parts(data: str, size: int, channels: int) -> tuple[Images, Images]:
    """Load both parts of data that have test images.

    Raises:
        ValueError: for another size or number of channels than they have.
    """
    parts = _part(data, "train", size), _part(data, "test", size)
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


def _part(data: str, split: Split, size: int) -> Images:
    own, published = included(data), _published(data)
    if own is not None:
        return own.load(split, size if own.any_size else own.size)
    assert published is not None  # the data have test images
    return published.load(Path(data), split)
