"""Batch normalization in the projection head: accuracy over the epochs of a `ResNet9` with and without it.

    python benchmarks/heads.py --data cifar-10-batches-bin
    python benchmarks/heads.py --data cifar-100 --images 12000 --epochs 8      # a folder for each class
    python benchmarks/heads.py --smoke

Everything else is as `tammes train simclr --temperature 0.2` has it. Both heads have the seeds 0, 1, ... The
accuracy is that of 20 nearest neighbors among the images that were learned from, on images that were not: the
test images, or 10,000 others of a folder.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import torch

from encoders import noise
from machine import description
from tammes import recipes
from tammes.data import Images, folder, published_at
from tammes.encoders import ProjectionHeadConfig, ResNet9Config
from tammes.estimate import Estimate
from tammes.positives import Photographs
from tammes.training import suited
from training import TEMPERATURE, our_accuracies

HEADS = {"usual": ProjectionHeadConfig(), "batch normalization": ProjectionHeadConfig(batch_norm=True)}
OTHERS = 10_000
"""Images of a folder that are measured on."""


def data(choice: argparse.Namespace) -> tuple[Images, Images]:
    """Return the images to learn from, a random part, and those to measure on."""
    if choice.smoke:
        return noise(choice.images), noise(choice.images)
    known = published_at(choice.data)
    whole = folder(choice.data, size=32) if known is None else known.load(choice.data, "train")
    rows = torch.randperm(len(whole), generator=torch.Generator().manual_seed(0))
    tried = whole.subset(rows[-OTHERS:]) if known is None else known.load(choice.data, "test")
    return whole.subset(rows[: choice.images]), tried


def main() -> None:
    """Print the accuracies, and the difference after the last epoch."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="a published set of images, or a folder of classes")
    parser.add_argument("--images", type=int, default=4096, help="images that are learned from")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--width", type=int, default=32, help="width of the ResNet9")
    parser.add_argument("--smoke", action="store_true", help="try the script on noise, in seconds")
    choice = parser.parse_args()
    if choice.smoke:
        choice.images, choice.epochs, choice.seeds, choice.width = 64, 2, 2, 8
    elif choice.data is None:
        parser.error("expected --data with images, or --smoke")
    learned, tried = data(choice)
    encoder = ResNet9Config(width=choice.width)
    usual = suited(recipes.simclr(temperature=TEMPERATURE), learned, encoder=encoder, epochs=choice.epochs)
    usual = replace(usual, augmentation=Photographs())
    print(f"{description()}\n\n{len(learned):,} images, ResNet9 of width {choice.width}\n")
    print("| head | seed | accuracy of 20 neighbors, % |\n|---|---|---|")
    last: dict[str, list[float]] = {}
    for name, head in HEADS.items():
        for seed in range(choice.seeds):
            accuracies, _ = our_accuracies(replace(usual, head=head, seed=seed), learned, tried)
            last.setdefault(name, []).append(accuracies[-1])
            curve = ", ".join(f"{100 * each:.1f}" for each in accuracies)
            print(f"| {name} | {seed} | {curve} |", flush=True)
    gain = Estimate.of_difference(last["batch normalization"], last["usual"])
    print(f"\nbatch normalization over the usual head, after the last epoch: {gain.points}")


if __name__ == "__main__":
    main()
