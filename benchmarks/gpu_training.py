"""A training step on a GPU: milliseconds, those of the GPU's work, and how often the host waits for it.

    python benchmarks/gpu_training.py
    python benchmarks/gpu_training.py --smoke        # on a CPU: tiny, and no measurement

Trainings of two lengths are timed in turns; a step is their difference, by the steps that the longer one has
more. The kernels' time and the number of waits are those of single steps in the middle of a training.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from rich.console import Console
from torch.profiler import ProfilerActivity, profile

from machine import description
from tammes import recipes
from tammes.data import Images, TensorPixels
from tammes.encoders import ResNet9Config, ResNetConfig, VisionTransformerConfig
from tammes.positives import Photographs
from tammes.training import Adam, Machine, Masked, TrainingConfig, train
from tammes.training.module import ContrastiveModule
from times_table import markdown_table

MIDDLE = 5
"""Step that is profiled: by then all kernels are chosen and compiled."""


def trainings(*, smoke: bool) -> Mapping[str, TrainingConfig]:
    """Return the trainings by name."""
    simclr = TrainingConfig(
        objective=recipes.simclr(temperature=0.5),
        encoder=ResNet9Config(width=8) if smoke else ResNetConfig(depth=18),
        augmentation=Photographs(),
        optimizer=Adam(learning_rate=1e-3),
        precision="32-true" if smoke else "bf16-mixed",
        batch_size=8 if smoke else 512,
        epochs=1,
    )
    size = {"width": 24, "depth": 1} if smoke else {"width": 192, "depth": 6}
    vit = replace(simclr, encoder=VisionTransformerConfig(patch=4, heads=3, **size))
    return {
        "SimCLR, ResNet-18": simclr,
        "SimCLR, ViT": vit,
        "CAN, ViT": replace(vit, masked=Masked()),
        "MAE, ViT": replace(vit, masked=Masked.mae(), head=None),
    }


def noise(rows: int) -> Images:
    """Return images of 32 pixels without content."""
    pixels = torch.randint(0, 256, (rows, 3, 32, 32), dtype=torch.uint8)
    return Images(pixels=TensorPixels(pixels), names=tuple(map(str, range(rows))))


def seconds(config: TrainingConfig, images: Images, machine: Machine) -> float:
    """Return the seconds of a training, until the device has ended its work."""
    start = time.perf_counter()
    train(config, images, machine=machine)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


@contextmanager
def in_the_middle(around: Callable[[], Any]) -> Iterator[None]:
    """Enter a context in one step of a training, from its first line to the next step's."""
    step, entered = ContrastiveModule.training_step, []

    def watched(self: ContrastiveModule, *batch: Any) -> torch.Tensor:
        if self.global_step == MIDDLE:
            entered.append(around())
            entered[0].__enter__()
        elif self.global_step == MIDDLE + 1:
            entered[0].__exit__(None, None, None)
        return step(self, *batch)

    ContrastiveModule.training_step = watched  # type: ignore[method-assign]
    try:
        yield
    finally:
        ContrastiveModule.training_step = step  # type: ignore[method-assign]


def kernel_milliseconds(config: TrainingConfig, images: Images, machine: Machine) -> float:
    """Return the milliseconds that the GPU works in one step."""
    profiles: list[profile] = []

    def around() -> profile:
        profiles.append(profile(activities=[ProfilerActivity.CUDA]))
        return profiles[0]

    with in_the_middle(around):
        seconds(config, images, machine)
    events = profiles[0].key_averages()
    return sum(each.self_device_time_total for each in events) / 1e3


def waits(config: TrainingConfig, images: Images, machine: Machine) -> int:
    """Return how often the host waits for the GPU in one step."""
    found = 0

    @contextmanager
    def around() -> Iterator[None]:
        nonlocal found
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            yield
            torch.cuda.set_sync_debug_mode("default")
        found = sum("synchronizing" in str(each.message) for each in caught)

    with in_the_middle(around):
        seconds(config, images, machine)
    return found


def row(name: str, config: TrainingConfig, machine: Machine, *, steps: int, rounds: int) -> list[str]:
    """Return the row of a training."""
    few, many = MIDDLE + 3, MIDDLE + 3 + steps
    short, long = (noise(config.batch_size * count) for count in (few, many))
    seconds(config, short, machine)
    pairs = [(seconds(config, long, machine), seconds(config, short, machine)) for _ in range(rounds)]
    step = 1e3 * statistics.median(slow - quick for slow, quick in pairs) / steps
    cells = [
        name,
        "yes" if machine.compile else "no",
        f"{step:.1f}",
        f"{1e3 * config.batch_size / step:,.0f}",
    ]
    if not torch.cuda.is_available():
        return [*cells, "", ""]
    working = kernel_milliseconds(config, short, machine)
    return [*cells, f"{working:.1f}", str(waits(config, short, machine))]


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", type=int, default=40, help="steps that the longer training has more")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--smoke", action="store_true", help="on a CPU: tiny, and no measurement")
    chosen = parser.parse_args()
    if not (chosen.smoke or torch.cuda.is_available()):
        print("no CUDA device here: nothing can be measured (--smoke only tries the script)", file=sys.stderr)
        return 2
    if chosen.smoke:
        chosen.steps, chosen.rounds = 1, 1
    print(("" if chosen.smoke else f"{torch.cuda.get_device_name()}; ") + description())
    heads = ("training", "compiled", "ms a step", "images a second", "ms of kernels", "waits of the host")
    table = markdown_table("", *heads)
    for name, config in trainings(smoke=chosen.smoke).items():
        for compiled in (False,) if chosen.smoke else (False, True):
            table.add_row(
                *row(name, config, Machine(compile=compiled), steps=chosen.steps, rounds=chosen.rounds)
            )
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
