"""Where the time of a training step on small photographs goes: augmentation, and networks of several sizes.

    python benchmarks/images.py
    python benchmarks/images.py --size 64
    python benchmarks/images.py --smoke

The change of colors takes turns with kornia's, on the same images with the same random parameters. A network
is timed forward and backward, with the memory layout that it chooses and with the usual one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import kornia.augmentation as kornia
import torch
from torch import nn

from machine import description
from tammes.encoders import ConvNetConfig, ResNet9Config
from tammes.positives import Photographs
from tammes.positives.jitter import Jitter
from timing import side_by_side

STRENGTHS = {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1}


class Contiguous(nn.Module):
    """A network of which every layer has its channels first."""

    def __init__(self, layers: nn.Module) -> None:
        super().__init__()
        self.layers = layers.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the features of images."""
        return self.layers(images).mean(dim=(2, 3))


def passes(network: nn.Module, images: torch.Tensor) -> Callable[[], object]:
    """Return a forward and a backward pass."""

    def run() -> object:
        network.zero_grad()
        features = network(images)
        features.square().mean().backward()
        return features

    return run


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--budget", type=float, default=30.0, help="seconds for each table")
    parser.add_argument("--smoke", action="store_true", help="a tiny size; no result")
    choice = parser.parse_args()
    if choice.smoke:
        choice.size, choice.batch, choice.budget = 8, 4, 0.1
    images = torch.rand(choice.batch, 3, choice.size, choice.size, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    slow, quick = (make(**STRENGTHS, p=0.8) for make in (kornia.ColorJitter, Jitter))
    drawn = slow.forward_parameters(images.shape)
    whole = Photographs()
    print(f"{description()}\n{choice.batch} images of {choice.size}x{choice.size}\n")
    print("| augmentation | ms | times ours |\n|---|---|---|")
    works = {
        "colors": lambda: quick(images, params=drawn),
        "colors by kornia": lambda: slow(images, params=drawn),
        "all of Photographs": lambda: whole(images, seed=0),
    }
    times = side_by_side(works, choice.budget)
    for name, found in times.items():
        print(f"| {name} | {1e3 * found.median:.1f} | {found.over(times['colors']):.2f} |")
    print("\n| network, forward and backward | ms | times ConvNet |\n|---|---|---|")
    usual = ResNet9Config(width=32).build(3, choice.size)
    networks = {
        "ConvNet, width 32": ConvNetConfig().build(3, choice.size),
        "ConvNet, width 32, channels first": Contiguous(ConvNetConfig().build(3, choice.size).layers),
        "ResNet9, width 32": ResNet9Config(width=32).build(3, choice.size),
        "ResNet9, width 32, channels first": Contiguous(usual.layers),
        "ResNet9, width 48": ResNet9Config().build(3, choice.size),
    }
    times = side_by_side({name: passes(net, images) for name, net in networks.items()}, 2 * choice.budget)
    for name, found in times.items():
        print(f"| {name} | {1e3 * found.median:.0f} | {found.over(times['ConvNet, width 32']):.2f} |")


if __name__ == "__main__":
    main()
