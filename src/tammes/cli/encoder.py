"""The encoders from the shell."""

from typing import Annotated

import tyro

from tammes.encoders import ConvNetConfig, ResNetConfig


def resnet18(small_image_stem: bool = True, zero_init_residual: bool = False) -> ResNetConfig:
    """A residual network of 18 layers.

    Args:
        small_image_stem: 3x3 stem without pooling, for images up to about 64 pixels; else the usual one.
        zero_init_residual: Start every block as the identity.
    """
    return ResNetConfig(depth=18, small_image_stem=small_image_stem, zero_init_residual=zero_init_residual)


def resnet34(small_image_stem: bool = True, zero_init_residual: bool = False) -> ResNetConfig:
    """A residual network of 34 layers.

    Args:
        small_image_stem: 3x3 stem without pooling, for images up to about 64 pixels; else the usual one.
        zero_init_residual: Start every block as the identity.
    """
    return ResNetConfig(depth=34, small_image_stem=small_image_stem, zero_init_residual=zero_init_residual)


def resnet50(small_image_stem: bool = True, zero_init_residual: bool = False) -> ResNetConfig:
    """A residual network of 50 layers.

    Args:
        small_image_stem: 3x3 stem without pooling, for images up to about 64 pixels; else the usual one.
        zero_init_residual: Start every block as the identity.
    """
    return ResNetConfig(depth=50, small_image_stem=small_image_stem, zero_init_residual=zero_init_residual)


Encoder = (
    Annotated[
        ConvNetConfig,
        tyro.conf.subcommand(
            "convnet", description="A small convolutional network, for a CPU and small images."
        ),
    ]
    | Annotated[
        ResNetConfig,
        tyro.conf.subcommand(
            "resnet18", constructor=resnet18, description="A residual network of 18 layers."
        ),
    ]
    | Annotated[
        ResNetConfig,
        tyro.conf.subcommand(
            "resnet34", constructor=resnet34, description="A residual network of 34 layers."
        ),
    ]
    | Annotated[
        ResNetConfig,
        tyro.conf.subcommand(
            "resnet50", constructor=resnet50, description="A residual network of 50 layers."
        ),
    ]
)
