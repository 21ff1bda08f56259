"""Pictures as data that the page carries within itself."""

import base64
import io

import numpy as np
import numpy.typing as npt
from markupsafe import Markup
from PIL import Image

LARGEST = 96
"""Pixels of the longer side beyond which a picture is made smaller: the page shows it no larger."""


def data_uri(image: npt.NDArray[np.uint8]) -> str:
    """A picture, (channels, height, width) uint8 of one or three channels, as a base64 PNG.

    >>> data_uri(np.zeros((1, 8, 8), np.uint8))[:22]
    'data:image/png;base64,'
    """
    plane = image[0] if image.shape[0] == 1 else np.moveaxis(image, 0, -1)
    picture = Image.fromarray(np.ascontiguousarray(plane))
    if max(picture.size) > LARGEST:
        picture.thumbnail((LARGEST, LARGEST), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def is_small(image: npt.NDArray[np.uint8]) -> bool:
    """Whether a picture has so few pixels that, enlarged, they should stay squares.

    >>> is_small(np.zeros((1, 8, 8), np.uint8)), is_small(np.zeros((3, 64, 64), np.uint8))
    (True, False)
    """
    return max(image.shape[1:]) <= 32


def picture(image: npt.NDArray[np.uint8], words: str) -> Markup:
    """A picture as it stands on the page, with words about it.

    >>> picture(np.zeros((1, 8, 8), np.uint8), "all black")[:31]
    Markup('<img src="data:image/png;base64')
    """
    small = Markup(' class="small"') if is_small(image) else ""
    return Markup('<img src="{}" alt="{}" title="{}"{}>').format(data_uri(image), words, words, small)
