"""Cells of the set-function experiments: one network, trained and measured on one data set."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from tammes.extensions import Graphs, Problem, SolutionCache, clique_of_size, tu_graphs
from tammes.extensions.solvers import (
    ByNeural,
    FitConfig,
    NetworkConfig,
    SolverNetwork,
    approaches,
    approximation_ratios,
    fit,
    greedy_scores,
    optimal_scores,
    solve,
    split,
)
from tammes.extensions.solvers.approaches import Approach

EPOCHS = 200
"""Of the paper's trainings."""
MOST_OF_COLLAB = 1000
"""Graphs of COLLAB that the paper takes."""
SECONDS = 60.0
"""For the exact answer of a graph; after that, ratios are to the best set that was found."""
CLIQUE, INDEPENDENT, OF_SIZE = "clique", "independent set", "clique of size"
GREEDY = "greedy, by degree"

APPROACHES: dict[str, Callable[["GraphTraining"], Approach]] = {
    "straight-through": lambda cell: approaches.straight_through(),
    "Erdős": lambda cell: approaches.erdos(),
    "REINFORCE": lambda cell: approaches.reinforce(
        torch.Generator().manual_seed(cell.seed), better_only=cell.problem == INDEPENDENT
    ),
    "Lovász": lambda cell: approaches.lovasz(),
    "neural Lovász": lambda cell: approaches.neural_lovasz(cell.eigenvectors),
    "neural Lovász, peak": lambda cell: approaches.neural_lovasz_peak(cell.eigenvectors),
    "Lovász, exact": lambda cell: approaches.lovasz().with_exact_objectives(),
    "neural Lovász, exact": lambda cell: approaches.neural_lovasz(cell.eigenvectors).with_exact_objectives(),
    "neural Lovász, peak, exact": lambda cell: approaches.neural_lovasz_peak(
        cell.eigenvectors
    ).with_exact_objectives(),
    "Lovász of columns": lambda cell: approaches.lovasz_columns(),
    "bounded Lovász": lambda cell: approaches.bounded_lovasz(cell.k),
}


@dataclass(frozen=True, kw_only=True)
class GraphTraining:
    """One training; `k` is 0 and `eigenvectors` 4 where they do not matter."""

    data: str
    problem: str
    method: str
    epochs: int
    width: int = 64
    layers: int = 6
    batch_size: int = 32
    learning_rate: float = 1e-4
    eigenvectors: int = 4
    k: int = 0
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class GraphScore:
    """What a cell came to: ratios over the test graphs, and what the matrix X looked like.

    `largest` and `four_largest` are the mean shares of the trace of X that its leading eigenvalues have, on
    test graphs; 0 where there is no X. `f1` is of telling graphs with a clique of size k from others.
    """

    graphs: int
    ratio: float
    deviation: float
    f1: float
    validation: float
    best_epoch: int
    seconds_per_epoch: float
    largest: float
    four_largest: float


class GraphSets:
    """Data sets, split once and for all, and their exact answers.

    Args:
        data: a folder with the unpacked archives of the TU collection in it.
        answers: the file that keeps exact answers.
    """

    def __init__(self, data: Path, answers: Path) -> None:
        self._data = data
        self._answers = SolutionCache(path=answers)
        self._parts = cache(self._read)

    def found(self, names: Sequence[str]) -> list[str]:
        """Those of the data sets that are there.

        Raises:
            ValueError: where none is.
        """
        there = [name for name in names if (self._data / name).is_dir()]
        if not there:
            raise ValueError(
                f"expected in {self._data} folders named {', '.join(names)}, each an unpacked archive of the "
                "TU collection; found none of them"
            )
        return there

    def measure(self, cell: GraphTraining) -> GraphScore:
        """Train and measure one cell."""
        train, test, validation = self._parts(cell.data)
        plain = _posed(cell, approaches.lovasz())
        optima, _ = optimal_scores(plain, test, cache=self._answers, seconds=SECONDS)
        if cell.method == GREEDY:
            scores = greedy_scores(plain, test, rising=cell.problem == INDEPENDENT)
            return _measured(scores, optima, validation=0.0, best_epoch=0, seconds=0.0, shares=(0.0, 0.0))
        known, _ = optimal_scores(plain, validation, cache=self._answers, seconds=SECONDS)
        approach = APPROACHES[cell.method](cell)
        posed = _posed(cell, approach)
        torch.manual_seed(cell.seed)
        network = SolverNetwork(
            NetworkConfig(width=cell.width, layers=cell.layers), scalar=approach.method.scalar
        )
        config = FitConfig(
            epochs=cell.epochs,
            batch_size=cell.batch_size,
            learning_rate=cell.learning_rate,
            seed=cell.seed,
        )
        started = time.perf_counter()
        best_epoch, best_ratio = fit(network, approach.method, posed, train, validation, config, optima=known)
        seconds = (time.perf_counter() - started) / cell.epochs
        scores = solve(network, approach.method, posed, test)
        shares = _shares(network, test) if isinstance(approach.method, ByNeural) else (0.0, 0.0)
        return _measured(
            scores,
            optima,
            validation=best_ratio,
            best_epoch=best_epoch,
            seconds=seconds,
            shares=shares,
        )

    def _read(self, name: str) -> tuple[list[Graphs], list[Graphs], list[Graphs]]:
        most = MOST_OF_COLLAB if name == "COLLAB" else None
        # One split for all: the paper's is "done in exactly one consistent way across all experiments".
        return split(tu_graphs(self._data / name, most=most), seed=0)


def _posed(cell: GraphTraining, approach: Approach) -> Callable[[Graphs], Problem]:
    if cell.problem == CLIQUE:
        return approach.cliques
    if cell.problem == INDEPENDENT:
        return approach.independent_sets
    assert cell.problem == OF_SIZE, "cells are made here"
    return lambda graphs: clique_of_size(graphs, k=cell.k, formula=approach.clique)


def _measured(
    scores: torch.Tensor,
    optima: torch.Tensor,
    *,
    validation: float,
    best_epoch: int,
    seconds: float,
    shares: tuple[float, float],
) -> GraphScore:
    found = approximation_ratios(scores, optima)
    right, said, true = ((scores > 0) & (optima > 0)).sum(), (scores > 0).sum(), (optima > 0).sum()
    return GraphScore(
        graphs=len(optima),
        ratio=found.mean().item(),
        deviation=found.std(correction=0).item(),
        f1=(2 * right / (said + true).clamp(min=1)).item(),
        validation=validation,
        best_epoch=best_epoch,
        seconds_per_epoch=seconds,
        largest=shares[0],
        four_largest=shares[1],
    )


@torch.no_grad()
def _shares(network: SolverNetwork, graphs: Sequence[Graphs]) -> tuple[float, float]:
    """The mean shares of the trace of X that the largest and the four largest eigenvalues have."""
    largest, four = [], []
    for graph in graphs:
        values = torch.linalg.svdvals(network(graph).double()).square()
        share = values / values.sum().clamp(min=torch.finfo(values.dtype).tiny)
        largest.append(share[0])
        four.append(share[:4].sum())
    return torch.stack(largest).mean().item(), torch.stack(four).mean().item()
