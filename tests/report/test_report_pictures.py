"""Pictures come through as they are, or smaller."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from tammes.report.pictures import LARGEST, data_uri


def decoded(uri: str) -> np.ndarray:
    head, _, data = uri.partition(",")
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))


@pytest.mark.parametrize("channels", [1, 3])
def test_pixels_survive(channels):
    image = np.random.default_rng(0).integers(0, 256, (channels, 9, 7), dtype=np.uint8)
    shown = decoded(data_uri(image))
    np.testing.assert_array_equal(shown, image[0] if channels == 1 else np.moveaxis(image, 0, -1))


def test_large_pictures_are_made_smaller_in_their_shape():
    shown = decoded(data_uri(np.zeros((3, 400, 200), np.uint8)))
    assert shown.shape == (LARGEST, LARGEST // 2, 3)
