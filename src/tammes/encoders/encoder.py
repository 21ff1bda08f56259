"""The base class of all encoders: a module from images, sentences or graphs to feature vectors."""

from typing import cast

import torch
from torch import Tensor, nn

from tammes.checks import check_integer


class Encoder(nn.Module):
    """Encoder to (batch, features) from images (batch, channels, size, size) in [0, 1], tokens or graphs.

    Sentences come as `Tokens`, graphs as a `GraphBatch`.

    Features are neither normalized nor projected: a projection head follows in training only, and evaluation
    uses the features. A subclass sets `features` to the width of its output.

    Example:
        >>> from tammes.encoders import ConvNetConfig, Encoder
        >>> encoder = ConvNetConfig(width=8).build(channels=1, size=8)
        >>> isinstance(encoder, Encoder), encoder.features
        (True, 32)
    """

    features: int


def maps_of(layers: nn.Sequential, images: Tensor) -> Tensor:
    """Return the maps that a convolutional network computes, laid out with channels last from the first on.

    A CPU is quicker so, and a GPU in 16 bits. The weights keep torch's usual layout, as
    `parameters_to_vector` and DDP expect.

    Args:
        layers: a convolution, then layers that keep the layout of their input.
        images: (batch, channels, height, width), or volumes (batch, channels, d, h, w).

    Example:
        >>> layers = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU())
        >>> maps_of(layers, torch.rand(2, 1, 8, 8)).is_contiguous(memory_format=torch.channels_last)
        True
    """
    layout = torch.channels_last if images.ndim == 4 else torch.channels_last_3d
    first, *others = layers
    # With one channel both layouts are the same memory, and torch takes the usual one: hence the second call.
    maps = first(images.contiguous(memory_format=layout)).contiguous(memory_format=layout)
    for layer in others:
        maps = layer(maps)
    return cast(Tensor, maps)


def check_images(channels: int, size: int, smallest: int) -> None:
    """Raise ValueError unless images have a channel and at least `smallest` pixels a side."""
    check_integer("channels", channels)
    if size < smallest:
        raise ValueError(
            f"expected images of at least {smallest} pixels a side for this encoder, got size={size}; "
            "enlarge the images, or choose an encoder that shrinks them less"
        )
