"""A small convolutional network that trains in seconds on a CPU, for images of 8 to 64 pixels."""

from dataclasses import dataclass

from torch import Tensor, nn

from tammes.encoders.encoder import Encoder

SMALLEST_MAP = 2


class ConvNet(Encoder):
    """Stages of two 3x3 convolutions, each of half the size and twice the width of the one before.

    Stages follow until the map is two to three pixels a side, which the last one flattens rather than
    averages: on images this small, where a stroke lies is most of what there is to know.
    """

    def __init__(
        self, *, channels: int, size: int, width: int, norm: str = "group", flatten: bool = True
    ) -> None:
        super().__init__()

        def N(c):
            return nn.GroupNorm(8, c) if norm == "group" else nn.BatchNorm2d(c)

        layers: list[nn.Module] = []
        inputs = channels
        outputs = width
        while True:
            layers += [
                nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
                N(outputs),
                nn.ReLU(inplace=True),
            ]
            if size < 4:
                break
            layers += [
                nn.Conv2d(outputs, 2 * outputs, 3, 2, padding=1, bias=False),
                N(2 * outputs),
                nn.ReLU(inplace=True),
            ]
            outputs *= 2
            inputs = outputs
            size = (size + 1) // 2
        self.layers = nn.Sequential(*layers)
        self.flatten = flatten
        self.features = outputs * (size * size if flatten else 1)

    def forward(self, images: Tensor) -> Tensor:
        maps = self.layers(images)
        return maps.flatten(1) if self.flatten else maps.mean(dim=(2, 3))


@dataclass(frozen=True, kw_only=True)
class ConvNetConfig:
    width: int = 32

    def build(self, channels: int, size: int) -> ConvNet:
        return ConvNet(channels=channels, size=size, width=self.width)
