"""The encoders from the shell."""

from typing import Annotated, Any

import tyro

from tammes.encoders import BagOfWordsConfig, ConvNetConfig, ResNetConfig


def _resnet(depth: int) -> Any:
    def build(small_image_stem: bool = True, zero_init_residual: bool = False) -> ResNetConfig:
        """Settings of a residual network.

        Args:
            small_image_stem: 3x3 stem without pooling, for images up to about 64 pixels; else the usual one.
            zero_init_residual: Start every block as the identity.
        """
        return ResNetConfig(
            depth=depth, small_image_stem=small_image_stem, zero_init_residual=zero_init_residual
        )

    return tyro.conf.subcommand(
        f"resnet{depth}",
        default=ResNetConfig(depth=depth),
        constructor=build,
        description=f"A residual network of {depth} layers.",
    )


_CONVNET = tyro.conf.subcommand(
    "convnet",
    default=ConvNetConfig(),
    description="A small convolutional network, for a CPU and small images.",
)
_BAG_OF_WORDS = tyro.conf.subcommand(
    "bag-of-words",
    default=BagOfWordsConfig(),
    description="The mean of word embeddings, for texts.",
)
_USUAL = tyro.conf.subcommand("usual", default=None, description="What suits the data.")

Encoder = (
    Annotated[ConvNetConfig, _CONVNET]
    | Annotated[ResNetConfig, _resnet(18)]
    | Annotated[ResNetConfig, _resnet(34)]
    | Annotated[ResNetConfig, _resnet(50)]
    | Annotated[BagOfWordsConfig, _BAG_OF_WORDS]
    | Annotated[None, _USUAL]
)
