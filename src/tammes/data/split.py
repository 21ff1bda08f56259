"""The parts that a published data set comes in: two of most images, three of graphs."""

from typing import Literal, get_args

Split = Literal["train", "test"]
"""The part to learn from, or the part to be tried on."""
Part = Literal["train", "val", "test"]
"""The part to learn from, the part to choose settings on, or the part to be tried on."""


def check_split(split: Split) -> None:
    """Raise ValueError for anything but one of the two parts.

    >>> check_split("train")
    """
    if split not in get_args(Split):
        raise ValueError(f'expected the split "train" or "test", got {split!r}')


def check_part(part: Part) -> None:
    """Raise ValueError for anything but one of the three parts.

    >>> check_part("val")
    """
    if part not in get_args(Part):
        raise ValueError(f"expected the part train, val or test, got {part!r}")
