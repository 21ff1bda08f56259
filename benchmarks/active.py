"""Cost of a training step with several candidates for the second view, and of the classifier.

    python benchmarks/active.py                    # a minute
    python benchmarks/active.py --only digits photographs

Times whole steps of the package's loop (views, embeddings, loss, gradient, optimizer) as the difference of a
long and a short run. That excludes one-time costs such as the first classifier, which is timed separately.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field, replace

import torch

from machine import description
from tammes import recipes
from tammes.data import Images, TensorPixels
from tammes.encoders import ConvNetConfig, ResNetConfig
from tammes.positives import Active, Clusters, Handwriting, Labels, Photographs, SameInstance
from tammes.training import Machine, TrainingConfig, train

CANDIDATES = (1, 2, 4, 8)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Training run to time, on images of noise.

    Args:
        name: name of the setting in the output.
        encoder: encoder to train.
        augmentation: augmentation of each candidate.
        batch_size: images in a batch.
        channels: channels of the images.
        size: side of the images, in pixels.
        steps: steps of an epoch.
        repeats: number of timings, of which the median counts.
    """

    name: str
    encoder: ConvNetConfig | ResNetConfig = field(default_factory=lambda: ConvNetConfig(width=16))
    augmentation: Handwriting | Photographs = field(default_factory=Photographs)
    batch_size: int = 128
    channels: int = 3
    size: int = 32
    steps: int = 4
    repeats: int = 3

    def seconds(self, candidates: int) -> float:
        """Return the seconds of a step."""
        positives = Active(candidates=candidates, refresh=10**6) if candidates > 1 else SameInstance()
        long = TrainingConfig(
            objective=recipes.simclr(temperature=0.5),
            encoder=self.encoder,
            positives=positives,
            augmentation=self.augmentation,
            batch_size=self.batch_size,
            epochs=3,
        )
        data = noise(self.steps * self.batch_size, self.channels, self.size)
        took = sorted(_train(long, data) - _train(replace(long, epochs=1), data) for _ in range(self.repeats))
        return took[len(took) // 2] / (2 * self.steps)


SETTINGS = {
    "digits": Setting(
        name="ConvNet 16, 128 images of 8x8, handwriting",
        augmentation=Handwriting(),
        channels=1,
        size=8,
    ),
    "photographs": Setting(name="ConvNet 16, 128 images of 32x32, photographs"),
    "resnet18": Setting(
        name="ResNet-18, 16 images of 32x32, photographs",
        encoder=ResNetConfig(),
        batch_size=16,
        steps=2,
        repeats=1,
    ),
}


def noise(count: int, channels: int, size: int) -> Images:
    """Return images of noise, with labels."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (count, channels, size, size), dtype=torch.uint8, generator=generator)
    return Images(
        pixels=TensorPixels(pixels),
        names=("",) * count,
        labels=torch.arange(count) % 10,
        classes=tuple("0123456789"),
    )


def _train(config: TrainingConfig, data: Images) -> float:
    start = time.perf_counter()
    train(config, data, machine=Machine(accelerator="auto"))
    return time.perf_counter() - start


def classifier_seconds(classes: Clusters | Labels, *, rows: int = 2048, dim: int = 128) -> float:
    """Return the seconds of a classifier of embeddings in ten groups, without the embedding itself."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(rows) % 10
    centers = torch.randn(10, dim, generator=generator)
    points = centers[labels] + torch.randn(rows, dim, generator=generator)
    start = time.perf_counter()
    classes.boundary(points, labels, seed=0)
    return time.perf_counter() - start


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    torch.set_num_threads(1)
    print(f"| one thread of a CPU | m = 1 | {' | '.join(map(str, CANDIDATES[1:]))} |")
    print(f"|---|{'---|' * len(CANDIDATES)}")
    for name in parser.parse_args().only:
        ordinary, *others = (SETTINGS[name].seconds(candidates) for candidates in CANDIDATES)
        cells = [f"{1000 * ordinary:.0f} ms", *(f"{took / ordinary:.2f}" for took in others)]
        print(f"| {SETTINGS[name].name} | {' | '.join(cells)} |", flush=True)
    print("\n| classifier of 2,048 embeddings of 128 numbers | ms |\n|---|---|")
    for each in (Clusters(), Labels()):
        times = sorted(classifier_seconds(each) for _ in range(3))
        print(f"| `{each!r}` | {1000 * times[1]:.0f} |", flush=True)
    print(f"\n{description()}")


if __name__ == "__main__":
    main()
