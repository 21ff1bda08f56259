"""Encoders that are built by other people's code: a factory that can be imported, or timm's models."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tammes.checks import check_integer, in_a_line
from tammes.encoders.encoder import Encoder

_TRIED = 2
"""Images with which a network is tried once, for the width of its features."""


class ModuleEncoder(Encoder):
    """Any `nn.Module` from images `(batch, channels, size, size)` in [0, 1] to features `(batch, features)`.

    Args:
        module: the network.
        channels: channels of the images.
        size: height and width of the images in pixels.
        name: name of the network in messages.

    Raises:
        ValueError: a network that does not take these images, or returns something else than one vector of
            floating-point numbers for each.

    Example:
        >>> encoder = ModuleEncoder(nn.Flatten(), channels=3, size=4, name="nn.Flatten")
        >>> encoder.features
        48
    """

    def __init__(self, module: nn.Module, *, channels: int, size: int, name: str) -> None:
        super().__init__()
        self.module = module
        self.features = _width(module, channels, size, name)

    def forward(self, images: Float[Tensor, "batch channels size size"]) -> Float[Tensor, "batch features"]:
        """Return the features of images."""
        features: Tensor = self.module(images)
        return features


@dataclass(frozen=True, kw_only=True)
class ModuleConfig:
    """Network that a function in your own code builds.

    The function is called with `channels` and `size` of the images, if it has parameters of these names, and
    returns an `nn.Module` from images `(batch, channels, size, size)` in [0, 1] to features
    `(batch, features)`. It must build the same network each time, and is called again when the run is loaded:
    that executes its code, so `load` asks for `trust=True`.

    Args:
        factory: The function, as "my_package.nets:build"; `ModuleConfig.of(build)` finds the name.

    Raises:
        ValueError: a name of another form.

    Example:
        >>> ModuleConfig.of(nn.Flatten).factory
        'torch.nn.modules.flatten:Flatten'
        >>> ModuleConfig(factory="torch.nn:Flatten").build(channels=1, size=8).features
        64
    """

    factory: str

    def __post_init__(self) -> None:
        module, _, name = self.factory.partition(":") if isinstance(self.factory, str) else ("", "", "")
        if not all(part.isidentifier() for part in [*module.split("."), *name.split(".")]):
            raise ValueError(
                f'factory must name a function as "my_package.nets:build", got {self.factory!r}; '
                "ModuleConfig.of(build) finds the name of a function"
            )

    @classmethod
    def of(cls, factory: Callable[..., nn.Module]) -> ModuleConfig:
        """Return the settings with the name of this function or class.

        Raises:
            ValueError: a function that could not be imported again: a lambda, one inside a function, one of
                the program that is being run; or a network instead of a function.
        """
        return cls(factory=_name_of(factory))

    def build(self, channels: int, size: int) -> ModuleEncoder:
        """Build the encoder for images (batch, channels, size, size); this executes the factory.

        Raises:
            ValueError: a factory that cannot be imported, or that returns no network for these images.
        """
        factory = imported(self.factory)
        given = {"channels": channels, "size": size}
        parameters = _parameters(factory)
        others = [
            name
            for name, each in parameters.items()
            if name not in given and each.default is each.empty and each.kind not in _VARIADIC
        ]
        if others:
            raise ValueError(
                f"{self.factory} must be callable with channels and size alone, but needs "
                f"{', '.join(others)} too: name a function that fills them in"
            )
        module = factory(**{name: value for name, value in given.items() if name in parameters})
        if not isinstance(module, nn.Module):
            raise ValueError(f"{self.factory} must return an nn.Module, got {type(module).__name__}")
        return ModuleEncoder(module, channels=channels, size=size, name=self.factory)


@dataclass(frozen=True, kw_only=True)
class TimmConfig:
    """Network of timm (which must be installed), without its classifier.

    Args:
        name: Name of the model, such as "resnet18" or "vit_tiny_patch16_224".
        pretrained: Whether to start from published weights, which timm downloads.

    Raises:
        ValueError: an empty name; when built, a name that timm does not know.

    Example:
        >>> TimmConfig(name="resnet18")
        TimmConfig(name='resnet18', pretrained=False)
    """

    name: str
    pretrained: bool = False

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError('name must be that of a model of timm, such as "resnet18"')

    def build(self, channels: int, size: int) -> ModuleEncoder:
        """Build the encoder for images (batch, channels, size, size).

        Raises:
            ImportError: timm is not installed.
            ValueError: a name that timm does not know, or a model that does not take these images.
        """
        check_integer("channels", channels)
        try:
            timm = importlib.import_module("timm")
        except ImportError as error:
            raise ImportError("encoder:timm needs timm: python -m pip install timm") from error
        known = {"in_chans": channels, "num_classes": 0, "pretrained": self.pretrained}
        try:
            # Transformers are made for one size of image; other models do not take the argument.
            try:
                module = timm.create_model(self.name, img_size=size, **known)
            except TypeError:
                module = timm.create_model(self.name, **known)
        except (RuntimeError, AssertionError) as error:
            raise ValueError(
                f"timm cannot build {self.name!r} for images of {size} pixels: {error}"
            ) from error
        return ModuleEncoder(module, channels=channels, size=size, name=f"timm's {self.name}")


def imported(factory: str) -> Callable[..., Any]:
    """Return what a name such as "my_package.nets:build" stands for.

    Raises:
        ValueError: nothing of this name can be imported or called.
    """
    module, _, name = factory.partition(":")
    try:
        found = functools.reduce(getattr, name.split("."), importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"the factory {factory} cannot be imported ({error}): is its package installed, or its file in "
            "the current folder or on PYTHONPATH?"
        ) from error
    if not callable(found):
        raise ValueError(f"the factory {factory} must be a function, got {type(found).__name__}")
    return found


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _parameters(factory: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(factory).parameters)
    except ValueError:  # a builtin without a signature
        return {}


def _name_of(factory: Callable[..., nn.Module]) -> str:
    if not callable(factory):
        raise ValueError(f"factory must be a function that builds a network, or its name, got {factory!r}")
    if isinstance(factory, nn.Module):
        raise ValueError(
            "factory must be a function that builds a network, got a network, which a run could not build "
            "again when it is loaded: give the function or the class that built it"
        )
    module, name = getattr(factory, "__module__", None), getattr(factory, "__qualname__", "")
    if module in (None, "__main__") or not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(
            f"factory must be a function that can be imported again, got {factory!r}: move it into a file "
            "that can be imported, outside other functions"
        )
    result = f"{module}:{name}"
    if imported(result) is not factory:
        raise ValueError(f"factory must be what {result} stands for, got {factory!r}")
    return result


def _width(module: nn.Module, channels: int, size: int, name: str) -> int:
    was_training = module.training
    module.eval()  # BatchNorm keeps its statistics
    try:
        with torch.no_grad():
            found = module(torch.zeros(_TRIED, channels, size, size))
    except (RuntimeError, TypeError, ValueError, AssertionError) as error:
        reason = in_a_line(error)
        raise ValueError(
            f"{name} does not take images of shape (batch, {channels}, {size}, {size}): {reason}"
        ) from error
    finally:
        module.train(was_training)
    if not (isinstance(found, Tensor) and found.ndim == 2 and len(found) == _TRIED):
        got = f"shape {tuple(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
        raise ValueError(
            f"{name} must return features (batch, features) for images (batch, {channels}, {size}, {size}), "
            f"got {got} for a batch of {_TRIED}"
        )
    if not found.is_floating_point() or found.shape[1] < 1:
        raise ValueError(
            f"{name} must return floating-point features, got {found.dtype} {tuple(found.shape)}"
        )
    return found.shape[1]
