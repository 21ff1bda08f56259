"""The images of a command at another size: read again, or scaled where their size is fixed."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch.nn.functional import interpolate

from tammes.cli.images import has_own_test_images
from tammes.cli.loading import load_split
from tammes.cli.options.data import Split
from tammes.data import Images, TensorPixels

BATCH = 1_000


def at_size(source: Split, train: Images, test: Images, size: int) -> tuple[Images, Images]:
    """Return the training and the test images of a command at another size.

    Images in folders, shards and streams are read again; those of published sets are scaled.

    Args:
        source: data as the command line names them.
        train: training images.
        test: test images.
        size: height and width in pixels.
    """
    if has_own_test_images(source.data):
        return scaled(train, size), scaled(test, size)
    again, tested = load_split(source, (size, train.channels))
    assert isinstance(again, Images)
    assert isinstance(tested, Images)
    return again, tested


def scaled(images: Images, size: int) -> Images:
    """Return images scaled to a size (bicubic, smoothed where they shrink), in memory.

    Example:
        >>> from tammes.data import digits
        >>> scaled(digits("test"), 12)
        Images(360 images, 1x12x12, 10 classes)
    """
    parts = []
    for start in range(0, len(images), BATCH):
        pixels = images.batch(range(start, min(start + BATCH, len(images)))).float()
        larger = interpolate(pixels, size=(size, size), mode="bicubic", antialias=True)
        parts.append(larger.round().clamp(0, 255).to(torch.uint8))  # a cubic overshoots at edges
    return replace(images, pixels=TensorPixels(torch.cat(parts)))
