"""Trains the runs of a table's row, all seeds and strategies at once, and keeps what came of each."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from tammes.latent import OverlapWarning, Strategy, TrainedEncoders, boundary_accuracy
from tammes.papers.study import Results, complete
from tammes.papers.weber.settings import SEEDS, Row1, Row2, Settings1, Settings2, described


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run: a strategy and a seed in a row of a table.

    Args:
        row: the row, in words.
        strategy: its name.
        settings: all that the paper leaves open, in words.
        updates: of the encoder.
        seed: of the run.
    """

    row: str
    strategy: str
    settings: str
    updates: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What came of a run.

    Args:
        accuracy: what the table reports: of Table II that of nearest neighbors, of Table I the highest of a
            linear classifier after any round.
        last: the accuracy after the last round.
        ceiling: the share of latents that are nearest to the mean of their own class, which is what the true
            latents allow.
        tries: candidates looked at for a positive, on average.
        missed: the share of positives for which no candidate was accepted.
    """

    accuracy: float
    last: float
    ceiling: float
    tries: float
    missed: float


@dataclass(frozen=True, kw_only=True)
class Runs(ABC):
    """The runs of one row, which are trained as one model.

    Args:
        strategies: by name.
        seeds: a run of each strategy for each.
        updates: of every encoder.
    """

    strategies: Mapping[str, Strategy]
    seeds: Sequence[int]
    updates: int

    @abstractmethod
    def place(self) -> tuple[str, str]:
        """The row and the settings, in words."""

    @abstractmethod
    def trained(self) -> tuple[dict[str, TrainedEncoders], dict[str, Tensor], dict[str, Tensor]]:
        """The encoders, the accuracy that is reported and the last one, by strategy (seeds,)."""

    def cell(self, strategy: str, seed: int) -> Cell:
        """One of the runs."""
        row, settings = self.place()
        return Cell(row=row, strategy=strategy, settings=settings, updates=self.updates, seed=seed)

    def cells(self) -> list[Cell]:
        """All of them."""
        return [self.cell(strategy, seed) for strategy in self.strategies for seed in self.seeds]

    def measured(self) -> dict[Cell, Measured]:
        """Train and measure all of them."""
        with warnings.catch_warnings():
            # Eight classes on a circle, as in the paper's fourth row, may overlap; the page says by how much.
            warnings.simplefilter("ignore", OverlapWarning)
            trained, reported, last = self.trained()
        table = {}
        for name, each in trained.items():
            assert each.state.world.classes is not None  # the rows have classes
            ceilings = 1 - each.state.world.classes.overlap
            for run, seed in enumerate(self.seeds):
                table[self.cell(name, seed)] = Measured(
                    accuracy=float(reported[name][run]),
                    last=float(last[name][run]),
                    ceiling=float(ceilings[run]),
                    tries=float(each.tries[run]),
                    missed=float(each.missed[run]),
                )
        return table


@dataclass(frozen=True, kw_only=True)
class Runs1(Runs):
    """Those of a row of Table I."""

    row: Row1
    settings: Settings1

    def place(self) -> tuple[str, str]:
        """See `Runs`."""
        return str(self.row), described(self.settings)

    def trained(self) -> tuple[dict[str, TrainedEncoders], dict[str, Tensor], dict[str, Tensor]]:
        """See `Runs`."""
        laboratory = self.settings.laboratory(self.row, updates=self.updates)
        best = {name: torch.zeros(len(self.seeds), dtype=torch.float64) for name in self.strategies}
        trained, last = {}, best
        for trained in laboratory.training(self.strategies, self.seeds):
            last = {name: boundary_accuracy(each) for name, each in trained.items()}
            best = {name: torch.maximum(best[name], accuracy) for name, accuracy in last.items()}
        return trained, best, last


@dataclass(frozen=True, kw_only=True)
class Runs2(Runs):
    """Those of a row of Table II."""

    row: Row2
    settings: Settings2

    def place(self) -> tuple[str, str]:
        """See `Runs`."""
        return str(self.row), described(self.settings)

    def trained(self) -> tuple[dict[str, TrainedEncoders], dict[str, Tensor], dict[str, Tensor]]:
        """See `Runs`."""
        trained = self.settings.laboratory(self.row, updates=self.updates).train(self.strategies, self.seeds)
        accuracy = self.settings.accuracy()
        found = {name: accuracy(each) for name, each in trained.items()}
        return trained, found, found


def study(path: Path, plan: Sequence[Runs]) -> dict[Cell, Measured]:
    """Train what the table does not have yet, row by row, and give all of it.

    Args:
        path: of the table, which is gone on with where it is there.
        plan: the runs of each row.
    """
    of_cell = {cell: runs for runs in plan for cell in runs.cells()}
    ahead: dict[Cell, Measured] = {}

    def measure(cell: Cell) -> Measured:
        if cell not in ahead:
            ahead.update(of_cell[cell].measured())
        return ahead[cell]

    return complete(
        Results(path, Cell, Measured),
        list(of_cell),
        measure,
        name=lambda cell: f"{cell.row}: {cell.strategy}",
    )


def seeds_of(budget: float, first: int) -> range:
    """The seeds of a study: a smaller budget has fewer, and two at least.

    Example:
        >>> seeds_of(0.3, 7), len(seeds_of(0.01, 0))
        (range(7, 10), 2)
    """
    return range(first, first + max(2, round(SEEDS * budget)))


def part_of(budget: float, whole: int) -> int:
    """How many updates or resamples: fewer where two seeds are more than the budget has, and one at least.

    Example:
        >>> part_of(0.3, 1000), part_of(0.1, 1000), part_of(1e-6, 10)
        (1000, 500, 1)
    """
    return max(1, round(whole * min(1.0, SEEDS * budget / 2)))


def accuracies(table: Mapping[Cell, Measured], runs: Runs, strategy: str) -> list[float]:
    """What the table reports for each seed."""
    return [table[runs.cell(strategy, seed)].accuracy for seed in runs.seeds]
