"""A small convolutional network that trains in seconds on a CPU, for images of 8 to 64 pixels."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from tammes.checks import check_integer, check_multiple
from tammes.encoders.encoder import Encoder, check_images, maps_of

# The first convolution shrinks an image to at most this size, so that larger images cost little more.
LARGEST_MAP = 16
# Stages halve the map down to this size, at which every convolution sees all of it.
SMALLEST_MAP = 2
CHANNELS_PER_GROUP = 8


def layer(inputs: int, outputs: int, kernel: int = 3, stride: int = 1) -> list[nn.Module]:
    """Return a convolution, its normalization and a ReLU."""
    return [
        nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False),
        nn.GroupNorm(outputs // CHANNELS_PER_GROUP, outputs),
        nn.ReLU(inplace=True),
    ]


class ConvNet(Encoder):
    """Network of 3x3 convolutions that halve the image and double the width down to 2 pixels, then average.

    For size 8 and width w that is w, 2w, 2w, 4w, 4w channels at 8, 4, 4, 2, 2 pixels a side. The width does
    not exceed 4w. For images larger than 16 pixels, the first convolution has a larger kernel and stride, and
    shrinks them to 16. Memory is laid out with channels last, in which a CPU is quicker
    (`benchmarks/images.py`).

    Normalization is by groups of channels of one image, not by the batch: the features of an image depend on
    that image alone, in training as in evaluation. The two views of a pair then share no statistics, and no
    running averages exist.

    The arguments are those of `ConvNetConfig`, and `channels` and `size` of the images.

    Example:
        >>> import torch
        >>> encoder = ConvNet(channels=1, size=8, width=32)
        >>> encoder(torch.rand(2, 1, 8, 8)).shape
        torch.Size([2, 128])
    """

    def __init__(self, *, channels: int, size: int, width: int) -> None:
        super().__init__()
        stride = -(-size // LARGEST_MAP)
        layers = layer(channels, width, kernel=2 * stride + 1, stride=stride)
        side = -(-size // stride)
        outputs = width
        while side > SMALLEST_MAP:
            inputs, outputs = outputs, min(2 * outputs, 4 * width)
            layers += layer(inputs, outputs, stride=2) + layer(outputs, outputs)
            side = -(-side // 2)
        self.features = outputs
        self.layers = nn.Sequential(*layers)

    def forward(self, images: Float[Tensor, "batch channels size size"]) -> Float[Tensor, "batch features"]:
        """Return the features of images."""
        # (batch, features, height, width) -> (batch, features)
        return maps_of(self.layers, images).mean(dim=(2, 3))


@dataclass(frozen=True, kw_only=True)
class ConvNetConfig:
    """Settings of a `ConvNet`, a small network for images of 8 to 64 pixels.

    Raises:
        ValueError: the width is no positive multiple of 8.

    Example:
        >>> ConvNetConfig(width=16).build(channels=3, size=32).features
        64
    """

    width: int = 32
    """Channels of the first convolution, a multiple of 8; the encoder has four times as many features."""

    def __post_init__(self) -> None:
        check_integer("width", self.width)
        check_multiple("width", self.width, "channels of a group", CHANNELS_PER_GROUP)

    def build(self, channels: int, size: int) -> ConvNet:
        """Build the encoder for images (batch, channels, size, size), with weights from torch's generator."""
        check_images(channels, size, smallest=8)
        return ConvNet(channels=channels, size=size, width=self.width)
