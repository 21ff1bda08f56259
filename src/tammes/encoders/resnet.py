"""Residual networks of 18, 34 and 50 layers, with the usual stem or the one for small images."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from tammes.encoders.encoder import Encoder, check_images, maps_of

BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}
WIDTHS = (64, 128, 256, 512)


def convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    """Return a convolution that keeps the image size up to its stride, without bias before normalization."""
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)


def layer(inputs: int, outputs: int, kernel: int, stride: int = 1) -> list[nn.Module]:
    """Return a convolution, its normalization and a ReLU."""
    normalization = nn.BatchNorm2d(outputs)
    return [convolution(inputs, outputs, kernel, stride), normalization, nn.ReLU(inplace=True)]


class Residual(nn.Module):
    """Residual block relu(shortcut(x) + branch(x)); the shortcut is the identity if the shapes match."""

    def __init__(self, branch: nn.Sequential, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.branch = branch
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Return the output of the block."""
        return (self.shortcut(x) + self.branch(x)).relu()


def basic_block(inputs: int, width: int, stride: int) -> Residual:
    """Return a block of two 3x3 convolutions (depths 18 and 34)."""
    branch = nn.Sequential(
        *layer(inputs, width, 3, stride),
        convolution(width, width, 3),
        nn.BatchNorm2d(width),
    )
    return Residual(branch, inputs, width, stride)


def bottleneck_block(inputs: int, width: int, stride: int) -> Residual:
    """Return a block of 1x1, 3x3, 1x1 convolutions that ends with four times the width (depth 50)."""
    branch = nn.Sequential(
        *layer(inputs, width, 1),
        # The stride sits on the 3x3 convolution ("v1.5"), where it discards no input.
        *layer(width, width, 3, stride),
        convolution(width, 4 * width, 1),
        nn.BatchNorm2d(4 * width),
    )
    return Residual(branch, inputs, 4 * width, stride)


def stem(channels: int, small: bool) -> nn.Sequential:
    """Return the layers before the first block, which shrink all but small images by a factor of four."""
    kernel, stride = (3, 1) if small else (7, 2)
    layers = layer(channels, WIDTHS[0], kernel, stride)
    return nn.Sequential(*layers) if small else nn.Sequential(*layers, nn.MaxPool2d(3, 2, padding=1))


def initialize(network: nn.Module, *, zero_init_residual: bool) -> None:
    """Draw the convolutions' weights; blocks start as the identity where `zero_init_residual` says so."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, Residual) and zero_init_residual:
            last = module.branch[-1]
            assert isinstance(last, nn.BatchNorm2d)
            nn.init.zeros_(last.weight)


class ResNet(Encoder):
    """Residual network without its classifier, averaged over the image: 512 features, or 2048 at depth 50.

    All maps are laid out with channels last, in which a GPU multiplies in 16 bits without converting them.

    The arguments are those of `ResNetConfig`, and `channels` of the images.

    Source: He et al., Deep Residual Learning for Image Recognition, 2016, Table 1; the small-image stem
    (3x3, stride 1, no pooling) is that of Chen et al., A Simple Framework for Contrastive Learning, 2020,
    B.9.

    Example:
        >>> import torch
        >>> encoder = ResNet(channels=3, depth=18, small_image_stem=True)
        >>> encoder(torch.rand(2, 3, 32, 32)).shape
        torch.Size([2, 512])
    """

    def __init__(
        self,
        *,
        channels: int,
        depth: int,
        small_image_stem: bool,
        zero_init_residual: bool = False,
    ) -> None:
        super().__init__()
        block = bottleneck_block if depth == 50 else basic_block
        expansion = 4 if depth == 50 else 1
        layers: list[nn.Module] = []
        inputs = WIDTHS[0]
        for stage, (width, count) in enumerate(zip(WIDTHS, BLOCKS[depth], strict=True)):
            for position in range(count):
                stride = 2 if stage > 0 and position == 0 else 1
                layers.append(block(inputs, width, stride))
                inputs = expansion * width
        self.features = inputs
        self.stem = stem(channels, small_image_stem)
        self.blocks = nn.Sequential(*layers)
        initialize(self, zero_init_residual=zero_init_residual)

    def forward(self, images: Float[Tensor, "batch channels size size"]) -> Float[Tensor, "batch features"]:
        """Return the features of images."""
        # (batch, features, height, width) -> (batch, features)
        return self.blocks(maps_of(self.stem, images)).mean(dim=(2, 3))


@dataclass(frozen=True, kw_only=True)
class ResNetConfig:
    """Settings of a `ResNet`.

    Raises:
        ValueError: the depth is none of 18, 34, 50.

    Example:
        >>> ResNetConfig(depth=50).build(channels=3, size=32).features
        2048
    """

    depth: int = 18
    """Number of layers: 18, 34 or 50."""

    small_image_stem: bool = True
    """Whether to use a 3x3 stem without pooling, for images up to about 64 pixels; else 7x7, shrinking 4x."""

    zero_init_residual: bool = False
    """Whether every block starts as the identity (Goyal et al., 2017)."""

    def __post_init__(self) -> None:
        if self.depth not in BLOCKS:
            raise ValueError(f"depth must be 18, 34 or 50, got {self.depth}")

    def build(self, channels: int, size: int) -> ResNet:
        """Build the encoder for images (batch, channels, size, size), with weights from torch's generator."""
        # The stages halve the image three times, the usual stem twice more.
        check_images(channels, size, smallest=8 if self.small_image_stem else 32)
        return ResNet(
            channels=channels,
            depth=self.depth,
            small_image_stem=self.small_image_stem,
            zero_init_residual=self.zero_init_residual,
        )
