"""A residual network of nine layers that learns within minutes on a CPU, for images of 8 to 64 pixels."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from tammes.checks import check_integer, check_multiple
from tammes.encoders.encoder import Encoder, check_images, maps_of
from tammes.encoders.resnet import basic_block, initialize, layer

# The stem shrinks an image to at most this size, so that larger images cost little more.
LARGEST_MAP = 16
# Matrix products of a processor or a tensor core work on this many numbers at a time, or more.
CHANNELS_AT_A_TIME = 8
# A training of minutes has few steps, so the running means that measurements use must follow within a few.
MOMENTUM = 0.3


class ResNet9(Encoder):
    """Residual network of nine convolutions: three that shrink the image, each before a block of two.

    For size 32 and width w that is w, w, w channels at 16 pixels a side, 2w, 2w, 2w at 8, 4w, 4w, 4w at 4,
    then the average. The first convolution shrinks images larger than 16 pixels to at most that. Memory is
    laid out with channels last, in which a CPU is quicker (`benchmarks/images.py`). Normalization is by the
    batch; the running mean and variance, which count outside a training, take in 0.3 of each batch.

    The arguments are those of `ResNet9Config`, and `channels` and `size` of the images.

    Source: after He et al. (2016); small networks with one block for each size are common where training must
    take minutes.

    Example:
        >>> import torch
        >>> encoder = ResNet9(channels=3, size=32, width=16)
        >>> encoder(torch.rand(2, 3, 32, 32)).shape
        torch.Size([2, 64])
    """

    def __init__(self, *, channels: int, size: int, width: int) -> None:
        super().__init__()
        stride = -(-size // LARGEST_MAP)
        self.features = 4 * width
        self.layers = nn.Sequential(
            *layer(channels, width, kernel=3 if stride <= 2 else 2 * stride + 1, stride=stride),
            basic_block(width, width, 1),
            *layer(width, 2 * width, kernel=3, stride=2),
            basic_block(2 * width, 2 * width, 1),
            *layer(2 * width, 4 * width, kernel=3, stride=2),
            basic_block(4 * width, 4 * width, 1),
        )
        initialize(self, zero_init_residual=True)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.momentum = MOMENTUM

    def forward(self, images: Float[Tensor, "batch channels size size"]) -> Float[Tensor, "batch features"]:
        """Return the features of images."""
        # (batch, features, height, width) -> (batch, features)
        return maps_of(self.layers, images).mean(dim=(2, 3))


@dataclass(frozen=True, kw_only=True)
class ResNet9Config:
    """Settings of a `ResNet9`.

    Raises:
        ValueError: the width is no positive multiple of 8.

    Example:
        >>> ResNet9Config(width=16).build(channels=3, size=32).features
        64
    """

    width: int = 48
    """Channels of the first convolution, a multiple of 8; the encoder has four times as many features."""

    def __post_init__(self) -> None:
        check_integer("width", self.width)
        check_multiple("width", self.width, "numbers of a product", CHANNELS_AT_A_TIME)

    def build(self, channels: int, size: int) -> ResNet9:
        """Build the encoder for images (batch, channels, size, size), with weights from torch's generator."""
        check_images(channels, size, smallest=8)
        return ResNet9(channels=channels, size=size, width=self.width)
