"""What every encoder is: a module from images or sentences to feature vectors."""

from torch import nn


class Encoder(nn.Module):
    """A network to (batch, features), from images (batch, channels, size, size) in [0, 1] or `Tokens`.

    Features are neither normalized nor projected: a projection head follows in training only, and what is
    evaluated is what comes out here. A subclass sets `features` to the width of its output.

    Example:
        >>> from tammes.encoders import ConvNetConfig, Encoder
        >>> encoder = ConvNetConfig(width=8).build(channels=1, size=8)
        >>> isinstance(encoder, Encoder), encoder.features
        (True, 32)
    """

    features: int


def check_images(channels: int, size: int, smallest: int) -> None:
    """Refuse an image shape that no encoder is built for.

    Raises:
        ValueError: If there is no channel, or the images are smaller than `smallest` pixels a side.
    """
    if channels < 1:
        raise ValueError(f"expected at least one image channel, got channels={channels}")
    if size < smallest:
        raise ValueError(
            f"expected images of at least {smallest} pixels a side for this encoder, got size={size}; "
            "enlarge the images, or take an encoder that shrinks them less"
        )
