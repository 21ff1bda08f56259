"""The two parts that a published set of images comes in."""

from typing import Literal, get_args

Split = Literal["train", "test"]
"""The part to learn from, or the part to be tried on."""


def check_split(split: Split) -> None:
    """Raise ValueError for anything but one of the two parts.

    >>> check_split("train")
    """
    if split not in get_args(Split):
        raise ValueError(f'expected the split "train" or "test", got {split!r}')
