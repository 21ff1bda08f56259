"""The base class of all encoders: a module from images, sentences or graphs to feature vectors."""

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


def with_channels_last(images: Tensor) -> Tensor:
    """Return images in new memory with channels last, in which convolutions keep their maps.

    Those of one channel too, of which `contiguous` takes both layouts for one. The weights keep torch's usual
    layout, as `parameters_to_vector` and DDP expect.
    """
    return images.clone(memory_format=torch.channels_last)


def check_images(channels: int, size: int, smallest: int) -> None:
    """Raise ValueError unless images have a channel and at least `smallest` pixels a side."""
    check_integer("channels", channels)
    if size < smallest:
        raise ValueError(
            f"expected images of at least {smallest} pixels a side for this encoder, got size={size}; "
            "enlarge the images, or choose an encoder that shrinks them less"
        )
