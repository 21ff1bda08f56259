"""A small residual network of 3-D convolutions for volumes, which trains in minutes on a CPU."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from tammes.checks import check_integer, check_multiple
from tammes.encoders.encoder import Encoder, maps_of

# The stem shrinks a volume to at most this size along each axis.
LARGEST_MAP = 16
SMALLEST_SIZE = 8
CHANNELS_PER_GROUP = 8


def layer(inputs: int, outputs: int, kernel: int = 3, stride: int | tuple[int, ...] = 1) -> list[nn.Module]:
    """Return a convolution, its normalization and a ReLU."""
    return [
        nn.Conv3d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False),  # type: ignore[arg-type]
        nn.GroupNorm(outputs // CHANNELS_PER_GROUP, outputs),
        nn.ReLU(inplace=True),
    ]


class Block(nn.Module):
    """Residual block relu(x + branch(x)) of two convolutions; it starts as the identity."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.branch = nn.Sequential(*layer(width, width), *layer(width, width)[:2])
        last = self.branch[-1]
        assert isinstance(last, nn.GroupNorm)
        nn.init.zeros_(last.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Return the output of the block."""
        return (x + self.branch(x)).relu()


class ResNet3D(Encoder):
    """Residual network of nine 3-D convolutions: three that shrink the volume, each before a block of two.

    For 32 voxels a side and width w that is w, w, w channels at 16 voxels a side, 2w, 2w, 2w at 8 and 4w, 4w,
    4w at 4, then the average. The first convolution shrinks each axis to at most 16 voxels, so that longer
    axes cost little more.

    Normalization is by groups of channels of one volume, not by the batch: batches of volumes are small, and
    the features of a volume depend on it alone. Memory is laid out with channels last, in which a CPU is
    quicker (`benchmarks/volumes.py`).

    The arguments are those of `ResNet3DConfig`, and `size` of the volumes.

    Source: after He et al., Deep Residual Learning for Image Recognition, 2016, with the group normalization
    of Wu and He, 2018.

    Example:
        >>> import torch
        >>> encoder = ResNet3D(size=(16, 24, 24), width=8)
        >>> encoder(torch.rand(2, 1, 16, 24, 24)).shape
        torch.Size([2, 32])
    """

    def __init__(self, *, size: tuple[int, int, int], width: int) -> None:
        super().__init__()
        strides = tuple(-(-side // LARGEST_MAP) for side in size)
        self.features = 4 * width
        self.layers = nn.Sequential(
            *layer(1, width, kernel=2 * max(strides) + 1, stride=strides),
            Block(width),
            *layer(width, 2 * width, stride=2),
            Block(2 * width),
            *layer(2 * width, 4 * width, stride=2),
            Block(4 * width),
        )
        for module in self.modules():
            if isinstance(module, nn.Conv3d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, volumes: Float[Tensor, "batch 1 d h w"]) -> Float[Tensor, "batch features"]:
        """Return the features of volumes."""
        # (batch, features, d, h, w) -> (batch, features)
        return maps_of(self.layers, volumes).mean(dim=(2, 3, 4))


@dataclass(frozen=True, kw_only=True)
class ResNet3DConfig:
    """Settings of a `ResNet3D`, a small network for volumes of 8 voxels a side and more.

    Raises:
        ValueError: the width is no positive multiple of 8.

    Example:
        >>> ResNet3DConfig(width=16).build(size=(16, 16, 16)).features
        64
    """

    width: int = 16
    """Channels of the first convolution, a multiple of 8; the encoder has four times as many features."""

    def __post_init__(self) -> None:
        check_integer("width", self.width)
        check_multiple("width", self.width, "channels of a group", CHANNELS_PER_GROUP)

    def build(self, *, size: tuple[int, int, int]) -> ResNet3D:
        """Build the encoder for volumes (batch, 1, d, h, w), with weights from torch's generator."""
        if min(size) < SMALLEST_SIZE:
            raise ValueError(
                f"expected volumes of at least {SMALLEST_SIZE} voxels along each axis, got "
                f"{'x'.join(map(str, size))}: enlarge them"
            )
        return ResNet3D(size=size, width=self.width)
