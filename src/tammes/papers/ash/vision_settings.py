"""The settings of the vision study: the paper's Table 2, and what a smaller budget makes of it."""

import math
from dataclasses import dataclass, field
from itertools import product

from jaxtyping import Float
from torch import Tensor, nn

from tammes.encoders import Encoder, ResNetConfig
from tammes.training import Adam

LATENT = 128
"""Table 2: the dimension of f(x), whose raw inner products the logistic loss compares."""

BATCH_SIZES = (16, 64, 256)
COUNTS = (1, 4, 30, 126, 510)
"""Numbers of negatives k; the last three are all that a batch of each size has, 2 (B - 1)."""

ROUND = 1280
"""Images are counted in this: ten classes in equal numbers make whole batches of every size."""

MEASURED_HERE = 0.1
"""The budget of the numbers in the docs."""


class SmallNet(Encoder):
    """Four 3x3 convolutions that halve the image, with batch normalization: (batch, 8 width).

    It stands in for ResNet-18 where there is no GPU. The loss compares raw inner products, to which all
    features of a network without batch normalization add the same large number: such networks (`ConvNet`)
    stay for long near the constant map, whose loss is log(1 + k).

    Example:
        >>> import torch
        >>> SmallNet(channels=1, width=16)(torch.rand(2, 1, 28, 28)).shape
        torch.Size([2, 128])
    """

    def __init__(self, *, channels: int, width: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs = channels
        for outputs in (width, 2 * width, 4 * width, 8 * width):
            convolution = nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False)
            layers += [convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
            inputs = outputs
        self.features = inputs
        self.layers = nn.Sequential(*layers)

    def forward(self, images: Float[Tensor, "batch channels size size"]) -> Float[Tensor, "batch features"]:
        # (batch, features, height, width) -> (batch, features)
        return self.layers(images).mean(dim=(2, 3))


@dataclass(frozen=True, kw_only=True)
class SmallNetConfig:
    """Settings of a `SmallNet`."""

    width: int = 16

    def build(self, channels: int, size: int) -> SmallNet:
        """Build it for images (batch, channels, size, size), with weights from torch's generator."""
        return SmallNet(channels=channels, width=self.width)


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How large the study is.

    Args:
        encoder: what stands before the linear map to f(x).
        encoder_name: what the table calls it.
        optimizer: Adam; the paper names no weight decay.
        images: the most to train on of each set; None for all.
        test_images: the most to try on.
        epochs: of training.
        seeds: how often every setting is trained.
    """

    encoder: ResNetConfig | SmallNetConfig
    encoder_name: str
    optimizer: Adam = field(default_factory=lambda: Adam(learning_rate=1e-3, weight_decay=0.0))
    images: int | None
    test_images: int | None
    epochs: int
    seeds: int


# Table 2 of the paper, and sec. 4 for the epochs. Sec. 4 has a learning rate of 1e-3, Table 2 one of 1e-4;
# the table is said to be what the experiments were run with. No number of seeds is named: 5 is that of the
# experiments on text. Temperature 1 and no gradient clipping, so neither appears here.
PAPER = Scale(
    encoder=ResNetConfig(depth=18),
    encoder_name="ResNet-18",
    optimizer=Adam(learning_rate=1e-4, weight_decay=0.0),
    images=None,
    test_images=None,
    epochs=400,
    seeds=5,
)


def scale_of(budget: float) -> Scale:
    """The paper's scale for the whole budget; for a part of it, a small network on a part of the images.

    Images and epochs grow like the square root of the budget.

    >>> scale_of(1.0).encoder_name, scale_of(0.1).images, scale_of(0.1).epochs, scale_of(0.1).seeds
    ('ResNet-18', 1280, 24, 3)
    >>> scale_of(0.01).images, scale_of(0.01).epochs, scale_of(0.01).seeds
    (1280, 8, 1)
    """
    if budget == 1:
        return PAPER
    work = budget / MEASURED_HERE
    return Scale(
        encoder=SmallNetConfig(),
        encoder_name="SmallNet",
        images=ROUND * max(1, round(math.sqrt(work))),
        test_images=5000,
        epochs=max(2, round(24 * math.sqrt(work))),
        seeds=min(3, max(1, round(3 * work))),
    )


def grid(images: int) -> tuple[tuple[int, int], ...]:
    """Every (batch size, k) that so many images allow: k is at most 2 (B - 1).

    >>> grid(40)
    ((16, 1), (16, 4), (16, 30))
    """
    return tuple(
        (batch_size, k)
        for batch_size, k in product(BATCH_SIZES, COUNTS)
        if batch_size <= images and k <= 2 * (batch_size - 1)
    )
