"""How well the class prior is estimated: from examples of a class, and from the views of a trained encoder.

    python benchmarks/class_prior.py
    python benchmarks/class_prior.py --data FOLDER

The first table has scikit-learn's 1,797 digits, where some of a class are known and the share of that class
among all others is estimated, as means over the ten classes; and two normal classes in the plane, 500
examples of one and 2,000 points of which some are of it. The second has small encoders of SimCLR
(temperature 0.2, a `ConvNet` of width 16, one seed), and the share of equal labels among negatives, estimated
from the views of rows that were held out. FOLDER may hold `mnist` and `cifar-10-batches-bin`, of which 2,560
images are taken.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor

from machine import description
from tammes import recipes
from tammes.data import Images, cifar10, digits, glyphs, mnist
from tammes.diagnostics import (
    class_prior_alpha_max,
    class_prior_pen_l1,
    collision_share,
    estimated_collision_share,
)
from tammes.encoders import ConvNetConfig
from tammes.training import Machine, suited, train
from tammes.training.embedding import embed_pairs

POSITIVES, SHARES, DISTANCES = (20, 60, 120), (0.1, 0.3, 0.6), (4, 2, 1)
SEEDS = (1, 2)
"""Of the two views."""


def estimates(positives: Tensor, unlabeled: Tensor) -> tuple[float, float]:
    """Both estimates of a share."""
    generator = torch.Generator().manual_seed(0)
    return (
        class_prior_alpha_max(positives, unlabeled, generator=generator),
        class_prior_pen_l1(positives, unlabeled, generator=generator),
    )


def of_digits(count: int) -> str:
    """The row of the digits with this number of known ones of a class."""
    found = load_digits()
    pixels, labels = torch.from_numpy(found.data / 16), torch.from_numpy(found.target)
    rows = []
    for label in range(10):
        generator = torch.Generator().manual_seed(label)
        own = (labels == label).nonzero().flatten()
        known = own[torch.randperm(len(own), generator=generator)[:count]]
        others = torch.ones(len(labels), dtype=torch.bool).index_fill(0, known, False)
        rows.append(((len(own) - count) / int(others.sum()), *estimates(pixels[known], pixels[others])))
    true, alpha_max, pen_l1 = np.array(rows).T
    means = " | ".join(f"{each.mean():.3f}" for each in (true, alpha_max, pen_l1))
    errors = " | ".join(f"{np.abs(each - true).mean():.3f}" for each in (alpha_max, pen_l1))
    return f"| digits, mean over ten classes | {count} | {means} | {errors} |"


def of_plane(distance: int) -> str:
    """The row of two normal classes at this distance in deviations."""
    found = []
    for share in SHARES:
        generator = torch.Generator().manual_seed(0)
        points = torch.randn(2000, 2, generator=generator)
        points[: round(2000 * share), 0] += distance
        positives = torch.randn(500, 2, generator=generator)
        positives[:, 0] += distance
        found.append(estimates(positives, points))
    cells = [", ".join(f"{each:.2f}" for each in column) for column in zip(*found, strict=True)]
    errors = [f"{np.abs(np.array(column) - SHARES).mean():.2f}" for column in zip(*found, strict=True)]
    row = [f"plane, distance of {distance}", "500", ", ".join(map(str, SHARES)), *cells, *errors]
    return f"| {' | '.join(row)} |"


def some(load: Callable[..., Images], source: Path) -> tuple[Images, Images]:
    """2,560 training images and 1,000 test images of a published set."""
    generator = torch.Generator().manual_seed(0)
    parts = (("train", 2560), ("test", 1000))
    sets = [(load(source, part), count) for part, count in parts]
    first, second = (
        images.subset(torch.randperm(len(images), generator=generator)[:count]) for images, count in sets
    )
    return first, second


def data_sets(folder: Path | None) -> Iterator[tuple[str, Images, Images, int]]:
    """Name, training images, others, and epochs."""
    yield "digits", digits("train"), digits("test"), 10
    for name, place, load in (("MNIST", "mnist", mnist), ("CIFAR-10", "cifar-10-batches-bin", cifar10)):
        if folder is not None and (folder / place).exists():
            yield f"{name}, 2,560 images", *some(load, folder / place), 5
    for characters in (20, 100, 400):
        drawn = [glyphs(part, characters=characters) for part in ("train", "test")]
        yield f"glyphs, {characters} characters", drawn[0], drawn[1], 10


def of_views(name: str, learned: Images, others: Images, epochs: int) -> str:
    """The row of an encoder: the true share, and the estimates from 256 and from up to 1,000 rows."""
    config = suited(recipes.simclr(temperature=0.2), learned, encoder=ConvNetConfig(width=16))
    model = train(replace(config, epochs=epochs), learned, machine=Machine(accelerator="cpu")).model
    order = torch.randperm(len(others), generator=torch.Generator().manual_seed(0))[:1000]
    found = []
    for rows in (order[:256], order):
        pairs = torch.stack([rows, rows], dim=1)
        found.append(
            estimated_collision_share(*embed_pairs(model, others, pairs, config.augmentations, seeds=SEEDS))
        )
    true = collision_share(others.required_labels()[order])
    cells = (f"{true:.4f}", f"{found[0]:.4f}", f"{found[1]:.4f}", f"{len(order):,}")
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with MNIST and CIFAR-10")
    choice = parser.parse_args()
    print("| data | positives | true share | AlphaMax | penL1 | error of AlphaMax | error of penL1 |")
    print("|---|---|---|---|---|---|---|")
    for count in POSITIVES:
        print(of_digits(count), flush=True)
    for distance in DISTANCES:
        print(of_plane(distance), flush=True)
    print("\n| data | true share | estimate, 256 rows | more rows | rows |\n|---|---|---|---|---|")
    for name, learned, others, epochs in data_sets(choice.data):
        print(of_views(name, learned, others, epochs), flush=True)
    print(f"\n{description()}")


if __name__ == "__main__":
    main()
