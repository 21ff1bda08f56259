"""Images kept for measuring where a set has no test part: every fifth of each class."""

import torch
from jaxtyping import Int64
from torch import Tensor

from tammes.data.images import Images

HELD_OUT = 5
"""One image in five of each class is kept."""


def every_fifth_apart(images: Images, *, at: int = HELD_OUT - 1) -> tuple[Images, Images]:
    """Return the images without every fifth of each class, and these fifths, the same ones every time.

    Args:
        images: images with classes.
        at: place of the kept image among five of its class, from 0 to 4.

    Example:
        >>> from tammes.data import digits
        >>> [len(part) for part in every_fifth_apart(digits("test"))]
        [290, 70]
    """
    kept = place_in_class(images.required_labels()) % HELD_OUT == at
    rest, fifths = (rows.nonzero()[:, 0].tolist() for rows in (~kept, kept))
    return images.subset(rest), images.subset(fifths)


def place_in_class(labels: Int64[Tensor, " n"]) -> Int64[Tensor, " n"]:
    """Return the number of each row within its class, from 0.

    Example:
        >>> place_in_class(torch.tensor([7, 2, 7, 7])).tolist()
        [0, 0, 1, 2]
    """
    place = torch.zeros_like(labels)
    for label in labels.unique():
        rows = (labels == label).nonzero()[:, 0]
        place[rows] = torch.arange(len(rows))
    return place
