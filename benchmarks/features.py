"""Cost of feature modification and of its rivals per training step, beyond their baseline's.

    python benchmarks/features.py
    python benchmarks/features.py --encoder resnet18 --batch 256 --size 32
    python benchmarks/features.py --encoder resnet9-16 --batch 128 --keys 2048   # features-classification
    python benchmarks/features.py --smoke

A step makes two views of each image, embeds them, computes the loss and its gradient, and changes the
weights. Methods take turns in one process, and times are medians of the processor time of the process.
`overhead` is the median over the rounds of a method's time over its baseline's in the same round. `alone` is
the loss and its gradient without views and network. A step of feature modification differs from its
baseline's by the loss alone, so `by the loss` is its overhead without the noise of views and network: the
median difference of the losses over the baseline's step. It must be at most 3 %.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from machine import description
from tammes import BeforeNormalization, LearnedNegatives, Objective, Queue, Renormalized, recipes
from tammes.encoders import ConvNetConfig, ProjectionHeadConfig, ResNet9Config, ResNetConfig
from tammes.positives import Photographs
from tammes.training import InputAttack, Model, MomentumEncoder
from tammes.training.adversarial import AdversarialStream
from timing import side_by_side

ALLOWED = 0.03
"""Overhead of a step of feature modification that the project allows."""
ENCODERS = {
    "convnet16": ConvNetConfig(width=16),
    "convnet32": ConvNetConfig(width=32),
    "resnet9-16": ResNet9Config(width=16),
    "resnet9": ResNet9Config(width=32),
    "resnet18": ResNetConfig(depth=18),
}
T, EPSILON = 0.5, 0.1


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method to time.

    Attributes:
        objective: its objective.
        baseline: name of the method that it is measured against.
        keys: number of negatives beside the batch; 0 compares the two views with each other.
        learned: whether these are learned, instead of those of a queue.
        attack: attack on the images, or None.
        bounded: whether the project bounds its overhead.
    """

    objective: Objective
    baseline: str
    keys: int = 0
    learned: bool = False
    attack: InputAttack | None = None
    bounded: bool = False

    def source(self, dim: int) -> nn.Module | None:
        """Return the source of negatives beside the batch, a full queue, or None for the batch alone."""
        if not self.keys:
            return None
        if self.learned:
            return LearnedNegatives(size=self.keys, dim=dim)
        queue = Queue(size=self.keys, dim=dim)
        queue(torch.randn(self.keys, dim), torch.randn(self.keys, dim))
        return queue


def methods(keys: int) -> dict[str, Method]:
    """Return the methods by name; `keys` is the size of the queue and the number of learned negatives."""
    simclr = recipes.simclr(temperature=T)
    ifm = recipes.ifm(temperature=T, epsilon=EPSILON)
    mochi = {"temperature": T, "hardest": 1024, "pairs": 128, "with_anchor": 16}
    forms = {
        "+ norm": recipes.ifm(temperature=T, epsilon=EPSILON, form=Renormalized()),
        "+ pre-norm": recipes.ifm(temperature=T, epsilon=EPSILON, form=BeforeNormalization()),
    }
    return {
        "SimCLR": Method(objective=simclr, baseline="SimCLR"),
        "IFM-SimCLR": Method(objective=ifm, baseline="SimCLR", bounded=True),
        **{f"IFM-SimCLR {name}": Method(objective=each, baseline="SimCLR") for name, each in forms.items()},
        "MoCHi": Method(objective=recipes.mochi(**mochi), baseline="SimCLR"),  # type: ignore[arg-type]
        "ACL (DS), 5 steps": Method(objective=simclr, baseline="SimCLR", attack=InputAttack()),
        "MoCo": Method(objective=simclr, baseline="MoCo", keys=keys),
        "IFM-MoCo": Method(objective=ifm, baseline="MoCo", keys=keys, bounded=True),
        "MoCHi-MoCo": Method(objective=recipes.mochi(**mochi), baseline="MoCo", keys=keys),  # type: ignore[arg-type]
        "AdCo": Method(objective=simclr, baseline="MoCo", keys=keys, learned=True),
    }


def step(config: str, images: Tensor, method: Method) -> Callable[[], object]:
    """Return a training step of a method.

    Args:
        config: name of the encoder.
        images: floats (batch, 3, size, size).
        method: the method.
    """
    torch.manual_seed(0)
    encoder = ENCODERS[config].build(channels=3, size=images.shape[-1])
    model = Model(encoder, ProjectionHeadConfig().build(features=encoder.features))
    source = method.source(model.dim)
    keys = None if source is None else MomentumEncoder(model)
    stream = None if method.attack is None else AdversarialStream(method.attack, model)
    weights = [*model.parameters(), *(() if stream is None else stream.parameters())]
    optimizer, augmentation = torch.optim.Adam(weights, lr=1e-3), Photographs()
    seeds = iter(range(0, 2**40, 2))

    def run() -> object:
        seed = next(seeds)
        views = tuple(augmentation(images, seed=seed + place) for place in (0, 1))
        if keys is None or source is None:
            loss = method.objective(*model(torch.cat(views))[1].chunk(2))
        else:
            loss = method.objective(source(model(views[0])[1], keys(views[1])[1]))
        if stream is not None:
            attacked = stream.loss(model, views, lambda each: method.objective(*each), seed=seed)
            loss = loss.lerp(attacked, stream.attack.weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if keys is not None:
            keys.update(model, momentum=0.99)
        return loss

    return run


def alone(rows: int, dim: int, method: Method) -> Callable[[], object]:
    """Return the loss and its gradient on embeddings that are there already."""
    views = nn.Parameter(torch.randn(2, rows, dim, generator=torch.Generator().manual_seed(0)))
    source = method.source(dim)

    def run() -> object:
        views.grad = None
        if source is None:
            loss = method.objective(views[0], views[1])
        else:
            loss = method.objective(source(views[0], views[1].detach()))
        loss.backward()
        return loss

    return run


def main() -> int:
    """Print a table; the exit code is 1 if a step of feature modification takes more than is allowed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--encoder", choices=ENCODERS, default="convnet32")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument(
        "--keys", type=int, default=4096, help="size of the queue, number of learned negatives"
    )
    parser.add_argument("--only", nargs="*", help="names of the methods to time, with their baselines")
    parser.add_argument("--budget", type=float, default=120.0, help="seconds for the table")
    parser.add_argument("--smoke", action="store_true", help="a tiny size; no result, and no verdict")
    choice = parser.parse_args()
    if choice.smoke:
        choice.batch, choice.size, choice.keys, choice.budget = 16, 8, 32, 0.1
        choice.encoder = "convnet16"
    every = methods(choice.keys)
    if choice.only:
        wanted = {*choice.only, *(every[name].baseline for name in choice.only)}
        every = {name: each for name, each in every.items() if name in wanted}
    images = torch.rand(choice.batch, 3, choice.size, choice.size, generator=torch.Generator().manual_seed(0))
    steps = {name: step(choice.encoder, images, each) for name, each in every.items()}
    losses = {name: alone(choice.batch, 128, each) for name, each in every.items()}
    print(f"{description()}\n{choice.encoder}, {choice.batch} pairs of {choice.size}x{choice.size}, ", end="")
    print(f"{choice.keys} keys or learned negatives\n")
    print("| method | step, ms | overhead | loss alone, ms | overhead | by the loss |")
    print("|---|---|---|---|---|---|")
    of_steps, of_losses = (
        side_by_side(works, budget, time.process_time)
        for works, budget in ((steps, 0.8 * choice.budget), (losses, 0.2 * choice.budget))
    )
    worst = 0.0
    for name, method in every.items():
        baseline = method.baseline
        over, over_alone = (times[name].over(times[baseline]) - 1 for times in (of_steps, of_losses))
        rounds = zip(of_losses[name].rounds, of_losses[baseline].rounds, strict=True)
        by_loss = statistics.median(mine - theirs for mine, theirs in rounds) / of_steps[baseline].median
        worst = max(worst, by_loss if method.bounded else worst)
        same = method.attack is None and method.learned == every[baseline].learned
        print(
            f"| {name} | {1e3 * of_steps[name].median:.2f} | {100 * over:+.1f} % | "
            f"{1e3 * of_losses[name].median:.3f} | {100 * over_alone:+.1f} % | "
            f"{f'{100 * by_loss:+.2f} %' if same else ''} |"
        )
    if choice.smoke:
        return 0
    print(f"\nlargest overhead of feature modification {100 * worst:.1f} %, allowed {100 * ALLOWED:.0f} %")
    return int(worst > ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
