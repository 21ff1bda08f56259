"""Overhead of the equivariance loss (CARE) per training step, beyond its host's at equal images.

    python benchmarks/equivariance.py
    python benchmarks/equivariance.py --encoder resnet18 --batch 256 --size 32
    python benchmarks/equivariance.py --smoke

A step makes two views of each image, embeds them, computes the loss and its gradient, and changes the
weights. Methods take turns in one process. The views of CARE are its host's but for their groups, so that
equal images are embedded; the overhead must be at most 10 %. `alone` is the loss and its gradient without
views and network.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import torch
from torch import nn

from machine import description
from tammes import Objective, recipes
from tammes.encoders import ConvNetConfig, ProjectionHeadConfig, ResNetConfig
from tammes.group import Single
from tammes.positives import Photographs
from tammes.training import Care, Model
from timing import side_by_side

ALLOWED = 0.10
"""Overhead of a step that the project allows."""
ENCODERS = {
    "convnet16": ConvNetConfig(width=16),
    "convnet32": ConvNetConfig(width=32),
    "resnet18": ResNetConfig(depth=18),
}


def step(config: str, images: torch.Tensor, care: Care | None) -> Callable[[], object]:
    """Return a training step of SimCLR, with or without the equivariance loss.

    Args:
        config: name of the encoder.
        images: floats (batch, 3, size, size).
        care: terms beside the objective, or None.
    """
    torch.manual_seed(0)
    encoder = ENCODERS[config].build(channels=3, size=images.shape[-1])
    model = Model(encoder, ProjectionHeadConfig().build(features=encoder.features))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    objective, augmentation = recipes.simclr(temperature=0.5), Photographs()
    groups = None if care is None else care.groups
    seeds = iter(range(0, 2**40, 2))

    def run() -> object:
        seed = next(seeds)
        views = [augmentation(images, seed=seed + place, groups=groups) for place in (0, 1)]
        view_a, view_b = model(torch.cat(views))[1].chunk(2)
        loss = _loss(objective, care, view_a, view_b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return run


def alone(rows: int, dim: int, care: Care | None) -> Callable[[], object]:
    """Return the loss and its gradient on embeddings that are there already."""
    views = nn.Parameter(torch.randn(2, rows, dim, generator=torch.Generator().manual_seed(0)))
    objective = recipes.simclr(temperature=0.5)

    def run() -> object:
        views.grad = None
        loss = _loss(objective, care, views[0], views[1])
        loss.backward()
        return loss

    return run


def _loss(
    objective: Objective, care: Care | None, view_a: torch.Tensor, view_b: torch.Tensor
) -> torch.Tensor:
    loss = objective(view_a, view_b)
    if care is None:
        return loss
    pair = view_a, view_b
    terms = care.losses(pair, pair, group=Single(), groups=care.groups)
    return loss + sum(weight * terms[name] for name, weight in care.terms.items())


def main() -> int:
    """Print a table; the exit code is 1 if a step takes more than is allowed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--encoder", choices=ENCODERS, default="convnet32")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--groups", type=int, nargs="*", default=[4, 8, 16])
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for each table")
    parser.add_argument("--smoke", action="store_true", help="a tiny size; no result, and no verdict")
    choice = parser.parse_args()
    if choice.smoke:
        choice.batch, choice.size, choice.groups, choice.budget = 16, 8, [4], 0.1
        choice.encoder = "convnet16"
    images = torch.rand(choice.batch, 3, choice.size, choice.size, generator=torch.Generator().manual_seed(0))
    cares = {"SimCLR": None, **{f"CARE, {each} groups": Care(groups=each) for each in choice.groups}}
    steps = {name: step(choice.encoder, images, care) for name, care in cares.items()}
    losses = {name: alone(choice.batch, 128, care) for name, care in cares.items()}
    print(f"{description()}\n{choice.encoder}, {choice.batch} pairs of {choice.size}x{choice.size}\n")
    print("| method | step, ms | overhead | loss alone, ms |\n|---|---|---|---|")
    of_steps, of_losses = side_by_side(steps, choice.budget), side_by_side(losses, choice.budget / 4)
    host, worst = of_steps["SimCLR"], 0.0
    for name, times in of_steps.items():
        overhead = times.over(host) - 1
        worst = max(worst, overhead)
        print(
            f"| {name} | {1e3 * times.median:.2f} | {100 * overhead:+.1f} % | "
            f"{1e3 * of_losses[name].median:.3f} |"
        )
    if choice.smoke:
        return 0
    print(f"\nlargest overhead {100 * worst:.1f} %, allowed {100 * ALLOWED:.0f} %")
    return int(worst > ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
