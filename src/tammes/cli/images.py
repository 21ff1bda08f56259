"""Images from the shell: what shape they are brought to, and which views suit them."""

from typing import Literal

from tammes.data import Images, digits
from tammes.positives.augmentation import Handwriting, Photographs

DIGITS = "digits"
DIGITS_SIZE = 8
FOLDER_SIZE = 32


def size_and_channels(
    data: str, size: int | None, channels: Literal[1, 3] | None
) -> tuple[int, Literal[1, 3]]:
    """What was asked for, or else what suits the data: the digits are 8x8 and gray."""
    usual: tuple[int, Literal[1, 3]] = (DIGITS_SIZE, 1) if data == DIGITS else (FOLDER_SIZE, 3)
    return usual[0] if size is None else size, channels or usual[1]


def usual_augmentation(data: str) -> Photographs | Handwriting:
    """The views that suit the data: a mirrored digit is none."""
    return Handwriting() if data == DIGITS else Photographs()


def load_digits(size: int, channels: int) -> tuple[Images, Images]:
    """Both parts of the digits.

    Raises:
        ValueError: for another size or number of channels than they have.
    """
    parts = (digits("train"), digits("test"))
    has = parts[0]
    if (size, channels) != (has.size, has.channels):
        raise ValueError(
            f"the digits are {has.size}x{has.size} pixels and gray: leave --size and --channels out, "
            f"or evaluate a run that was trained on such images (got size {size}, {channels} channels)"
        )
    return parts
