"""Accuracy per second: encoders of photographs, each trained for the same processor time.

    python benchmarks/encoders.py --data cifar-10-batches-bin --seconds 60
    python benchmarks/encoders.py --smoke

The number of epochs is what fits into the time at the speed of the first steps; a cosine ends with it. The
accuracy is that of 20 nearest neighbors among all training images, on all test images. Other work on the
machine changes processor time less than the time on the wall, but it does, since cores share caches.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import torch

from machine import description
from tammes import recipes
from tammes.data import Images, published_at
from tammes.data.images import TensorPixels
from tammes.encoders import ConvNetConfig, ResNet9Config
from tammes.evaluation import KNN, LabeledFeatures
from tammes.training import Cosine, Machine, TrainingConfig, embed, suited, train
from tammes.training.config import EncoderConfig

ENCODERS: dict[str, EncoderConfig] = {
    "ConvNet, width 16": ConvNetConfig(width=16),
    "ConvNet, width 32": ConvNetConfig(width=32),
    "ResNet9, width 16": ResNet9Config(width=16),
    "ResNet9, width 32": ResNet9Config(width=32),
    "ResNet9, width 48": ResNet9Config(width=48),
    "ResNet9, width 64": ResNet9Config(width=64),
}
PRECISIONS = ("32-true", "bf16-mixed")
TRIED = 2048
"""Images of the epoch that tells the speed."""
FEWEST = 2048
"""Images of an epoch at least, where not even one epoch fits into the time."""


def noise(count: int) -> Images:
    """Return images without content, for a trial of this script."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (count, 3, 32, 32), dtype=torch.uint8, generator=generator)
    labels = torch.arange(count) % 10
    return Images(
        pixels=TensorPixels(pixels), names=("",) * count, labels=labels, classes=tuple("abcdefghij")
    )


def seconds_of(config: TrainingConfig, images: Images) -> float:
    """Return the processor time of a training."""
    start = time.process_time()
    train(config, images, machine=Machine(accelerator="cpu"))
    return time.process_time() - start


def row(name: str, learned: Images, tried: Images, *, seconds: float, precision: str) -> str:
    """Train one encoder for some seconds of processor time, and return its row of the table."""
    usual = suited(recipes.simclr(temperature=0.2), learned, encoder=ENCODERS[name], epochs=1)
    config = replace(usual, precision=precision)
    some = learned.subset(range(TRIED))
    # What a second epoch adds: the first also loads, and chooses kernels.
    each = seconds_of(replace(config, epochs=2), some) - seconds_of(config, some)
    each = max(1e-6, each / TRIED)
    visited = seconds / each
    epochs = max(1, round(visited / len(learned)))
    images = learned.subset(range(max(FEWEST, min(len(learned), round(visited / epochs)))))
    optimizer = replace(config.optimizer, schedule=Cosine(warmup_epochs=min(1.0, epochs / 10)))
    run = train(
        replace(config, epochs=epochs, optimizer=optimizer), images, machine=Machine(accelerator="cpu")
    )
    bank, test = (
        LabeledFeatures(features=embed(run.model, part)[0], labels=part.required_labels())
        for part in (learned, tried)
    )
    accuracy = KNN().accuracy(bank, test)
    return f"| {name} | {epochs * len(images):,} | {1000 * each:.2f} | {100 * accuracy:.1f} |"


def main() -> None:
    """Print a row for each encoder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--data", type=Path, help="CIFAR-10 in its published files")
    parser.add_argument("--seconds", type=float, default=60.0, help="processor time of each training")
    parser.add_argument("--precision", choices=PRECISIONS, default="32-true")
    parser.add_argument("--smoke", action="store_true", help="try the script on noise, in seconds")
    options = parser.parse_args()
    torch.set_num_threads(1)
    known = None if options.smoke or options.data is None else published_at(options.data)
    if known is not None:
        learned, tried = known.load(options.data, "train"), known.load(options.data, "test")
    elif options.smoke:
        learned, tried = noise(TRIED), noise(200)
    else:
        parser.error("expected --data with a published set of images, or --smoke")
    seconds = 1.0 if options.smoke else options.seconds
    print(f"{description()}, one thread, {options.precision}, {seconds:g} s of processor time each\n")
    print("| encoder | images visited | ms an image | accuracy of neighbors, % |\n|---|---|---|---|")
    for name in ENCODERS:
        if not options.smoke or "16" in name:
            print(row(name, learned, tried, seconds=seconds, precision=options.precision), flush=True)


if __name__ == "__main__":
    main()
