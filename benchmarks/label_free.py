"""How well measures without labels predict the accuracy of a linear probe, and where they stop a training.

    python benchmarks/label_free.py --data digits --runs 20
    python benchmarks/label_free.py --data cifar-10-batches-bin --runs 16 --images 3000

Each run draws its settings at random: the objective and its temperature, the width of the network and of the
head, the learning rate, and how much the views differ. After every epoch the measures of `diagnose_every` are
taken, and a linear probe. A table that exists already is completed, run by run. Rank correlations are
Spearman's, with 95 % intervals of a bootstrap over the runs. A wider network is better and has higher ranks,
so the correlation among runs of one network, with ranks within the runs of equal widths, stands beside it.
"""

from __future__ import annotations

import argparse
import csv
import random
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from scipy.stats import rankdata, spearmanr

from machine import description
from tammes import recipes
from tammes.data import Images, cifar10, digits
from tammes.encoders import ConvNetConfig, ProjectionHeadConfig
from tammes.estimate import Estimate
from tammes.evaluation import LabeledFeatures, LinearProbe
from tammes.positives import Handwriting, Photographs
from tammes.training import (
    Adam,
    Constant,
    EpochMetrics,
    Machine,
    Model,
    Monitor,
    TrainingConfig,
    embed,
    train,
)
from tammes.training.early_stop import early_stop
from tammes.training.kind_rules import BETTER

MEASURES = {
    "lidar": "LiDAR of the embeddings",
    "projection_rankme": "RankMe of the embeddings",
    "rankme": "RankMe of the features",
    "dimensions_99": "dimensions with 99 % of the variance",
    "uniformity": "uniformity",
    "alignment": "alignment",
    "hubness": "hubness",
    "alpha_req": "alpha-ReQ",
    "loss": "training loss",
}
BOOTSTRAPS = 2_000
PATIENCES = (3, 5)

Runs = dict[int, list[EpochMetrics]]


class Probed(Monitor):
    """Accuracy of a linear probe in the place of that of nearest neighbors."""

    def accuracy(self, model: Model) -> float:
        bank, held_out = (
            LabeledFeatures(features=embed(model, data)[0], labels=data.required_labels())
            for data in (self.bank, self.held_out)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return LinearProbe(iterations=200).accuracy(bank, held_out)


def drawn(number: int, epochs: int, photographs: bool) -> TrainingConfig:
    """Return the settings of a run, which its number decides."""
    chosen = random.Random(number)
    temperature = chosen.choice((0.07, 0.2, 0.5, 1.0))
    objective = chosen.choice(
        (
            recipes.simclr(temperature=temperature),
            recipes.hcl(temperature=temperature, beta=1.0),
            recipes.dcl(temperature=temperature, class_prior=0.1),
        )
    )
    strong = chosen.random() < 0.5
    if photographs:
        augmentation = (
            Photographs(smallest_crop=0.2)
            if strong
            else Photographs(smallest_crop=0.7, jitter_probability=0.2, grayscale_probability=0.0)
        )
    else:
        augmentation = (
            Handwriting() if strong else Handwriting(rotation=3.0, translation=0.03, scaling=0.03, shear=3.0)
        )
    return TrainingConfig(
        objective=objective,
        encoder=ConvNetConfig(width=chosen.choice((8, 16))),
        head=ProjectionHeadConfig(dim=chosen.choice((16, 64))),
        augmentation=augmentation,
        optimizer=Adam(learning_rate=chosen.choice((3e-4, 1e-3, 3e-3, 1e-2)), schedule=Constant()),
        batch_size=128,
        epochs=epochs,
        seed=number,
        diagnose_every=1,
    )


def collect(path: Path, runs: int, epochs: int, train_on: Images, test_on: Images, photographs: bool) -> None:
    """Train the runs that the table lacks, and append a row for each of their epochs."""
    done = set(read(path))
    for number in range(runs):
        if number in done:
            continue
        start = time.perf_counter()
        config = drawn(number, epochs, photographs)
        monitor = Probed(bank=train_on, held_out=test_on)
        run = train(config, train_on, monitor=monitor, machine=Machine(accelerator="cpu"))
        with path.open("a", newline="") as file:
            writer = csv.writer(file)
            if file.tell() == 0:
                writer.writerow(("run", "epoch", "probe", *MEASURES))
            for row in run.metrics:
                known = {**row.last, "loss": row.loss}
                writer.writerow((number, row.epoch, row.knn, *(known.get(name, "") for name in MEASURES)))
        print(
            f"run {number}: probe {run.metrics[0].knn:.3f} to {run.metrics[-1].knn:.3f}, "
            f"{time.perf_counter() - start:.0f} s",
            flush=True,
        )


def read(path: Path) -> Runs:
    """Return the epochs of each run of the table; the accuracy of the probe stands in `knn`."""
    found: Runs = {}
    if path.exists():
        with path.open(newline="") as file:
            for cells in csv.DictReader(file):
                last = {name: float(cells[name]) for name in MEASURES if cells[name]}
                row = EpochMetrics(
                    epoch=int(cells["epoch"]), step=int(cells["epoch"]), knn=float(cells["probe"]), last=last
                )
                found.setdefault(int(cells["run"]), []).append(row)
    return found


def probe(row: EpochMetrics) -> float:
    assert row.knn is not None
    return row.knn


def correlation(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> float:
    """Return Spearman's rank correlation; 0 if one side does not vary."""
    if len(np.unique(x)) < 2 or len(np.unique(y)) < 2:
        return 0.0
    return float(spearmanr(x, y).statistic)


def interval(statistic: Callable[[np.ndarray], float], count: int) -> tuple[float, float]:
    """Return the 95 % percentile interval of a statistic of runs drawn with replacement."""
    generator = np.random.default_rng(0)
    drawn = [statistic(generator.integers(count, size=count)) for _ in range(BOOTSTRAPS)]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def among_equals(x: np.ndarray, y: np.ndarray, group: np.ndarray) -> float:
    """Return the rank correlation within groups: of ranks in each group, less their mean."""
    ranks: list[np.ndarray] = []
    for each in np.unique(group):
        rows = np.nonzero(group == each)[0]
        both = np.stack([rankdata(side[rows]) / len(rows) for side in (x, y)])
        ranks.append(both - both.mean(axis=1, keepdims=True))
    one, other = np.concatenate(ranks, axis=1)
    size = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / size if size > 0 else 0.0


def network(number: int) -> int:
    """Return a number for the widths of a run's network and head."""
    config = drawn(number, epochs=1, photographs=False)
    assert isinstance(config.encoder, ConvNetConfig)
    assert isinstance(config.head, ProjectionHeadConfig)
    return 1_000 * config.encoder.width + config.head.dim


def prediction_table(runs: Runs) -> None:
    """Print the rank correlation of each measure with the probe: among finished runs, and within each run."""
    ends = [rows[-1] for rows in runs.values()]
    accuracy, group = np.array([probe(row) for row in ends]), np.array([network(number) for number in runs])
    spread = f"{100 * accuracy.min():.1f} to {100 * accuracy.max():.1f} %"
    print(f"\n{len(runs)} runs, probe {spread} at the end, {100 * accuracy.mean():.1f} % on average\n")
    print("| measure | among runs | among runs of one network | within a run | probe of its pick, % |")
    print("|---|---|---|---|---|")
    for name, words in MEASURES.items():
        values = np.array([row.last.get(name, np.nan) for row in ends])
        among = correlation(values, accuracy)
        equal = among_equals(values, accuracy, group)
        cells = [
            Estimate(mean=found, low=low, high=high).text(2)
            for found, (low, high) in (
                (among, interval(lambda r, v=values: correlation(v[r], accuracy[r]), len(ends))),
                (equal, interval(lambda r, v=values: among_equals(v[r], accuracy[r], group[r]), len(ends))),
            )
        ]
        within = Estimate.over_seeds(
            [
                correlation([row.last[name] for row in rows[1:]], [probe(row) for row in rows[1:]])
                for rows in runs.values()
            ]
        )
        sign = BETTER.get(name, 1 if among >= 0 else -1)
        picked = 100 * accuracy[int(np.argmax(sign * values))]
        print(f"| {words} | {' | '.join(cells)} | {within.text(2)} | {picked:.1f} |", flush=True)


def stopping_table(runs: Runs) -> None:
    """Print what early stopping by each measure costs in accuracy, and saves in epochs."""
    print("\n| `stop_on` | patience | probe less the last, points | less the best | epochs |")
    print("|---|---|---|---|---|")
    for name in BETTER:
        for patience in PATIENCES:
            to_last, to_best, share = [], [], []
            for rows in runs.values():
                at = stopped(rows, name, patience)
                to_last.append(100 * (probe(rows[at]) - probe(rows[-1])))
                to_best.append(100 * (probe(rows[at]) - max(probe(row) for row in rows[1:])))
                share.append(rows[at].epoch / rows[-1].epoch)
            last, best, epochs = map(Estimate.over_seeds, (to_last, to_best, share))
            print(f"| `{name}` | {patience} | {last.text(1)} | {best.text(1)} | {epochs.text(2)} |")


def stopped(rows: list[EpochMetrics], name: str, patience: int) -> int:
    """Return the place of the row after which a training with early stopping ends."""
    config = TrainingConfig(objective=recipes.simclr(temperature=0.5), epochs=rows[-1].epoch)
    config = replace(config, stop_on=name, stop_patience=patience)
    ends = (place for place in range(1, len(rows)) if early_stop(config, rows[: place + 1]) is not None)
    return next(ends, len(rows) - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="digits", help="digits, or the folder of CIFAR-10's binary files")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--images", type=int, default=3_000, help="training images of CIFAR-10")
    parser.add_argument("--table", type=Path, default=None, help="file of the numbers of all epochs")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    photographs = chosen.data != "digits"
    if photographs:
        parts = cifar10(chosen.data, "train").subset(range(chosen.images)), cifar10(chosen.data, "test")
        train_on, test_on = parts[0], parts[1].subset(range(2_000))
    else:
        train_on, test_on = digits("train"), digits("test")
    table = chosen.table or Path(f"label-free-{'cifar-10' if photographs else 'digits'}.csv")
    start = time.perf_counter()
    collect(table, chosen.runs, chosen.epochs, train_on, test_on, photographs)
    runs = read(table)
    prediction_table(runs)
    stopping_table(runs)
    print(f"\n{time.perf_counter() - start:.0f} s in all; {description()}")


if __name__ == "__main__":
    main()
