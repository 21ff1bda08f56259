"""The base class of all encoders: a module from images, sentences or graphs to feature vectors."""

import torch
from torch import nn

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


def put_channels_last(network: nn.Module) -> None:
    """Lay out the weights of convolutions with channels last, so that their maps are laid out so, too.

    Weights of one channel stay: both layouts are the same memory there, but their gradients would have
    strides of the other, of which DDP warns.
    """
    for module in network.modules():
        if isinstance(module, nn.Conv2d) and module.in_channels > 1:
            module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # missing in torch 2.13


def check_images(channels: int, size: int, smallest: int) -> None:
    """Raise ValueError unless images have a channel and at least `smallest` pixels a side."""
    check_integer("channels", channels)
    if size < smallest:
        raise ValueError(
            f"expected images of at least {smallest} pixels a side for this encoder, got size={size}; "
            "enlarge the images, or choose an encoder that shrinks them less"
        )
