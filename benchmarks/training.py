"""Training on small photographs: images a second, parts of a step and accuracy over time, beside lightly's.

    make test-hosts                  # makes .venv-hosts, which has lightly
    .venv-hosts/bin/python benchmarks/training.py --data cifar-10-batches-bin
    python benchmarks/training.py --data cifar-10-batches-bin --alone      # without lightly
    python benchmarks/training.py --smoke --alone

Both train SimCLR with the same encoder, data, strengths of augmentation, temperature, optimizer and
schedule. Each has its own loop, augmentation, head and loss: lightly makes the views one by one, and
normalizes their colors.

Images a second count whole trainings of an epoch, which take turns; the parts are those of a loop that is
written out. With one thread all times are those of the processor, which other work on the machine changes
less; with several they are those on the wall.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import torch
from torch import nn

import lightly_simclr
from encoders import PRECISIONS, noise
from machine import description
from stopwatch import Stopwatch, clock_of
from tammes import recipes
from tammes.data import Images, published_at
from tammes.data.images import as_floats
from tammes.encoders import ResNet9Config
from tammes.evaluation import KNN, LabeledFeatures
from tammes.positives import Photographs
from tammes.sources import InBatch
from tammes.training import ImagesSummary, Machine, Monitor, TrainingConfig, suited, train
from tammes.training.config import RunConfig
from tammes.training.examples import Examples, to_inputs
from tammes.training.loader import pair_loader
from tammes.training.model import build_model
from tammes.training.pairing import Pairing
from tammes.training.sampler import PairSampler, Shard

TEMPERATURE, SHARE = 0.2, 0.8
PARTS = ("data", "augmentation", "forward", "objective", "backward", "optimizer")
NOT_INSTALLED = (
    "lightly is not installed in this environment. It needs torchvision, so give it one of its own: "
    "`make test-hosts` makes .venv-hosts, whose Python runs this script. Or leave lightly out with --alone"
)


def ours(config: TrainingConfig, images: Images) -> None:
    """Train with our loop."""
    train(config, images, machine=Machine(accelerator="cpu"))


def our_parts(config: TrainingConfig, images: Images, stopwatch: Stopwatch) -> None:
    """Train with the parts of our loop, one after the other."""
    examples = Examples.for_training(images, config)
    model = build_model(RunConfig(training=config, data=ImagesSummary.of(images, "images")))
    pairing = Pairing.of(images, config.positives, seed=config.seed)
    sampler = PairSampler(pairing, Shard(batch_size=config.batch_size))
    optimizer = config.optimizer.build(model.parameters())
    assert isinstance(config.augmentation, Photographs)
    step = 0
    for _ in range(config.epochs):
        stopwatch.start()
        for anchors, _, _ in pair_loader(examples, sampler, workers=0):
            inputs = to_inputs(anchors)
            assert isinstance(inputs, torch.Tensor)
            stopwatch.lap("data")
            views = [config.augmentation(inputs, seed=2 * step + number) for number in range(2)]
            stopwatch.lap("augmentation")
            with torch.autocast("cpu", torch.bfloat16, enabled=config.precision == "bf16-mixed"):
                embeddings = model(torch.cat(views))[1]
            stopwatch.lap("forward")
            loss = config.objective(InBatch()(*embeddings.chunk(2)))
            stopwatch.lap("objective")
            loss.backward()
            stopwatch.lap("backward")
            torch.nn.utils.get_total_norm([each.grad for each in model.parameters() if each.grad is not None])
            optimizer.step()
            optimizer.zero_grad()
            stopwatch.lap("optimizer")
            step += 1
        stopwatch.stop()


def lightly(config: TrainingConfig, images: Images, *, threads: int, workers: int) -> None:
    """Train with lightly's loop."""
    lightly_simclr.learn(config, images, workers=workers, stopwatch=Stopwatch(clock_of(threads)))


def speeds(
    works: Mapping[str, Callable[[TrainingConfig, Images], None]],
    config: TrainingConfig,
    images: Images,
    *,
    threads: int,
    rounds: int,
) -> dict[str, list[float]]:
    """Return the images a second of each work in each round; works take turns, in alternating order."""
    clock, found, names = clock_of(threads), {name: [] for name in works}, list(works)
    for work in works.values():  # chooses kernels, imports
        work(config, images.subset(range(config.batch_size)))
    visited = len(images) // config.batch_size * config.batch_size
    for _ in range(rounds):
        for name in names:
            start = clock()
            works[name](config, images)
            found[name].append(visited / (clock() - start))
        names.reverse()
    return found


def speed_rows(
    found: Mapping[str, Sequence[float]], *, threads: int, precision: str, batch: int
) -> list[str]:
    """Return a row for each method, with ratios of rounds side by side."""
    (first, mine), *_ = found.items()
    rows = []
    for name, each in found.items():
        ratio = statistics.median(a / b for a, b in zip(mine, each, strict=True))
        speed = statistics.median(each)
        shown = "1" if name == first else f"{ratio:.2f}"
        rows.append(
            f"| {threads} | {precision} | {name} | {speed:.0f} | {1000 * batch / speed:.0f} | {shown} |"
        )
    return rows


def part_row(name: str, stopwatch: Stopwatch, *, threads: int, precision: str) -> str:
    """Return the row of one loop: the share of each part in percent, and of augmentation and objective."""
    seconds = stopwatch.medians
    whole = sum(seconds.values())
    shares = " | ".join(f"{100 * seconds[part] / whole:.1f}" for part in PARTS)
    both = 100 * (seconds["augmentation"] + seconds["objective"]) / whole
    return f"| {threads} | {precision} | {name} | {shares} | {both:.1f} |"


def our_accuracies(config: TrainingConfig, learned: Images, tried: Images) -> tuple[list[float], float]:
    """Return the accuracies before the first epoch and after each, and the seconds of the training."""
    run = train(
        config, learned, machine=Machine(accelerator="cpu"), monitor=Monitor(bank=learned, held_out=tried)
    )
    return [row.knn for row in run.metrics if row.knn is not None], run.seconds


def lightly_accuracies(config: TrainingConfig, learned: Images, tried: Images) -> tuple[list[float], float]:
    """Return the same of lightly's loop."""
    stopwatch = Stopwatch(time.perf_counter)

    def measure(encoder: nn.Module) -> float:
        encoder.eval()
        bank, test = (features(encoder, images) for images in (learned, tried))
        encoder.train()
        return KNN().accuracy(bank, test)

    found = lightly_simclr.learn(config, learned, workers=0, stopwatch=stopwatch, measure=measure)
    return found, stopwatch.seconds


@torch.inference_mode()
def features(encoder: nn.Module, images: Images) -> LabeledFeatures:
    """Return the features of images whose colors are normalized as lightly's views are."""
    parts = [as_floats(images.batch(rows)) for rows in torch.arange(len(images)).split(512)]
    found = torch.cat([encoder(lightly_simclr.normalized(part)) for part in parts])
    return LabeledFeatures(features=found, labels=images.required_labels())


def seconds_to(target: float, accuracies: Sequence[float], seconds: float) -> float | None:
    """Return when an accuracy was reached, between two measurements on a straight line; None if it was not.

    Args:
        target: accuracy to reach.
        accuracies: accuracies before the first epoch and after each.
        seconds: time of the whole training; all epochs take equally long.
    """
    if accuracies[0] >= target:
        return 0.0
    for epoch, (before, after) in enumerate(pairwise(accuracies)):
        if after >= target:
            return seconds * (epoch + (target - before) / (after - before)) / (len(accuracies) - 1)
    return None


def accuracy_rows(found: Mapping[str, tuple[list[float], float]], *, seed: int) -> list[str]:
    """Return a row for each method; the target is a share of the best last accuracy."""
    target = SHARE * max(accuracies[-1] for accuracies, _ in found.values())
    rows = []
    for name, (accuracies, seconds) in found.items():
        reached = seconds_to(target, accuracies, seconds)
        curve = ", ".join(f"{100 * each:.1f}" for each in accuracies)
        when = "not" if reached is None else f"{reached:.1f}"
        rows.append(f"| {seed} | {name} | {curve} | {100 * target:.1f} | {when} | {seconds:.1f} |")
    return rows


def options() -> argparse.Namespace:
    """Return what the command line chooses."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="CIFAR-10 in its published files")
    parser.add_argument("--images", type=int, default=4096, help="images that are learned from")
    parser.add_argument("--epochs", type=int, default=10, help="epochs of the accuracy over time")
    parser.add_argument("--seeds", type=int, default=1, help="trainings of the accuracy over time")
    parser.add_argument("--rounds", type=int, default=3, help="trainings of an epoch, for images a second")
    parser.add_argument("--width", type=int, default=32, help="width of the ResNet9")
    parser.add_argument("--batch", type=int, default=256, help="pairs of a step")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--precision", choices=PRECISIONS, nargs="+", default=list(PRECISIONS))
    parser.add_argument("--alone", action="store_true", help="leave lightly out")
    parser.add_argument("--smoke", action="store_true", help="try the script on noise, in seconds")
    choice = parser.parse_args()
    if not (choice.alone or lightly_simclr.IS_INSTALLED):
        parser.error(NOT_INSTALLED)
    if choice.smoke:
        choice.images, choice.epochs, choice.rounds, choice.width, choice.batch = 64, 2, 1, 8, 32
        choice.threads = [1]
    elif choice.data is None or published_at(choice.data) is None:
        parser.error("expected --data with a published set of images, or --smoke")
    return choice


def main() -> None:
    """Print three tables."""
    choice = options()
    known = None if choice.smoke else published_at(choice.data)
    if known is None:
        learned, tried = noise(choice.images), noise(choice.images)
    else:
        whole = known.load(choice.data, "train")
        rows = torch.randperm(len(whole), generator=torch.Generator().manual_seed(0))
        learned, tried = whole.subset(rows[: choice.images]), known.load(choice.data, "test")
    usual = suited(
        recipes.simclr(temperature=TEMPERATURE),
        learned,
        encoder=ResNet9Config(width=choice.width),
        epochs=choice.epochs,
    )
    usual = replace(usual, batch_size=choice.batch, augmentation=Photographs())
    print(f"{description()}, {lightly_simclr.versions()}\n")
    print(f"{len(learned):,} images of {learned.size} pixels, ResNet9 of width {choice.width}\n")
    speed_table, part_table = [], []
    for threads in choice.threads:
        torch.set_num_threads(threads)
        works: dict[str, Callable[[TrainingConfig, Images], None]] = {"tammes": ours}
        if not choice.alone:
            works["lightly"] = partial(lightly, threads=threads, workers=0)
            if threads > 1:
                works[f"lightly, {threads} workers"] = partial(lightly, threads=threads, workers=threads)
        for precision in choice.precision:
            config = replace(usual, precision=precision, epochs=1)
            setting = {"threads": threads, "precision": precision}
            found = speeds(works, config, learned, threads=threads, rounds=choice.rounds)
            speed_table += speed_rows(found, **setting, batch=choice.batch)
            stopwatch = Stopwatch(clock_of(threads))
            our_parts(config, learned, stopwatch)
            part_table.append(part_row("tammes", stopwatch, **setting))
            if not choice.alone:
                stopwatch = Stopwatch(clock_of(threads))
                lightly_simclr.learn(config, learned, workers=0, stopwatch=stopwatch)
                part_table.append(part_row("lightly", stopwatch, **setting))
    print("| threads | precision | loop | images/s | ms a step | times slower |\n|---|---|---|---|---|---|")
    print(*speed_table, "", sep="\n")
    print(f"| threads | precision | loop, % of a step | {' | '.join(PARTS)} | augmentation and objective |")
    print(f"|---|---|---|{'---|' * len(PARTS)}---|")
    print(*part_table, "", sep="\n", flush=True)
    goal = f"{100 * SHARE:.0f} % of the best"
    print(f"| seed | loop | accuracy of 20 neighbors, % | {goal} | after s | s in all |")
    print("|---|---|---|---|---|---|")
    torch.set_num_threads(choice.threads[-1])
    methods = {"tammes": our_accuracies} | ({} if choice.alone else {"lightly": lightly_accuracies})
    for seed in range(choice.seeds):
        config = replace(usual, seed=seed, precision=choice.precision[0])
        curves = {name: method(config, learned, tried) for name, method in methods.items()}
        print(*accuracy_rows(curves, seed=seed), sep="\n", flush=True)


if __name__ == "__main__":
    main()
