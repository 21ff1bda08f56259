"""Training of the set-function experiments: one network on one data set of graphs."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
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
from tammes.papers.entry import Request

EPOCHS = 200
"""Epochs of the paper's trainings."""
MOST_OF_COLLAB = 1000
"""Number of graphs of COLLAB that the paper takes."""
SECONDS = 60.0
"""Time limit for the exact answer of a graph; after that, ratios are to the best set found."""
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
    """Settings of one training; `k` is 0 and `eigenvectors` 4 where they do not matter."""

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
    """Ratios to the optimum over the test graphs, and the spectrum of the matrix X.

    `largest` and `four_largest` are the mean shares of the trace of X that its leading eigenvalues have, on
    test graphs; 0 where there is no X. `f1` is the F1 score of finding the graphs with a clique of size k.
    """

    graphs: int
    ratio: float
    deviation: float
    f1: float
    validation: float = 0.0
    best_epoch: int = 0
    seconds_per_epoch: float = 0.0
    largest: float = 0.0
    four_largest: float = 0.0


class GraphData:
    """Data sets of graphs, each split once, and the cache of their exact answers.

    Args:
        folder: folder with unpacked archives of the TU collection in it.
        answers: file that caches exact answers.
    """

    def __init__(self, folder: Path, answers: Path) -> None:
        self._folder = folder
        self._answers = SolutionCache(path=answers)
        self._parts = cache(self._read)

    @classmethod
    def of(cls, request: Request) -> "GraphData":
        """Return the data of a request, with the exact answers in its folder."""
        return cls(request.required_data(), request.out / "answers.jsonl")

    def found(self, names: Sequence[str]) -> list[str]:
        """Return the names of the data sets that are in the folder.

        Raises:
            ValueError: if there is none of them.
        """
        there = [name for name in names if (self._folder / name).is_dir()]
        if not there:
            raise ValueError(
                f"expected in {self._folder} folders named {', '.join(names)}, each an unpacked archive of "
                "the TU collection; found none of them"
            )
        return there

    def measure(self, cell: GraphTraining) -> GraphScore:
        """Train one network and return its score."""
        train, test, validation = self._parts(cell.data)
        plain = _problem(cell, approaches.lovasz())
        optima, _ = optimal_scores(plain, test, cache=self._answers, seconds=SECONDS)
        if cell.method == GREEDY:
            return _score(greedy_scores(plain, test, rising=cell.problem == INDEPENDENT), optima)
        known, _ = optimal_scores(plain, validation, cache=self._answers, seconds=SECONDS)
        approach = APPROACHES[cell.method](cell)
        method, make_problem = approach.method, _problem(cell, approach)
        torch.manual_seed(cell.seed)
        network = SolverNetwork(NetworkConfig(width=cell.width, layers=cell.layers), scalar=method.scalar)
        config = FitConfig(
            epochs=cell.epochs, batch_size=cell.batch_size, learning_rate=cell.learning_rate, seed=cell.seed
        )
        started = time.perf_counter()
        best_epoch, best = fit(network, method, make_problem, train, validation, config, optima=known)
        seconds = (time.perf_counter() - started) / cell.epochs
        largest, four_largest = _shares(network, test) if isinstance(method, ByNeural) else (0.0, 0.0)
        return replace(
            _score(solve(network, method, make_problem, test), optima),
            validation=best,
            best_epoch=best_epoch,
            seconds_per_epoch=seconds,
            largest=largest,
            four_largest=four_largest,
        )

    def _read(self, name: str) -> tuple[list[Graphs], list[Graphs], list[Graphs]]:
        most = MOST_OF_COLLAB if name == "COLLAB" else None
        # One split for all: the paper's is "done in exactly one consistent way across all experiments".
        return split(tu_graphs(self._folder / name, most=most), seed=0)


def epochs_of(budget: float) -> int:
    """Return the number of epochs that a budget pays for, at least one."""
    return max(1, round(EPOCHS * budget))


def settings(cells: Iterable[GraphTraining]) -> dict[str, str]:
    """Return the settings that trainings share, for their page, and the epochs of each data set."""
    by_data = {cell.data: cell for cell in cells}
    first = next(iter(by_data.values()))
    epochs = str(first.epochs)
    if any(cell.epochs != first.epochs for cell in by_data.values()):
        epochs = ", ".join(f"{name} {cell.epochs}" for name, cell in by_data.items())
    return {
        "epochs": f"{epochs} (the paper's: {EPOCHS})",
        "network": f"GAT, then {first.layers} gated graph convolutions, {first.width} features",
        "batch": f"{first.batch_size} graphs",
        "Adam, learning rate": f"{first.learning_rate:g}",
        "split": "60 % for training, 30 % for testing, 10 % for validation, which chooses the epoch",
        "seed": str(first.seed),
    }


def _problem(cell: GraphTraining, approach: Approach) -> Callable[[Graphs], Problem]:
    """Return the constructor of the problem of a training, with the objective of an approach."""
    if cell.problem == OF_SIZE:
        return lambda graphs: clique_of_size(graphs, k=cell.k, formula=approach.clique)
    return {CLIQUE: approach.cliques, INDEPENDENT: approach.independent_sets}[cell.problem]


def _score(scores: torch.Tensor, optima: torch.Tensor) -> GraphScore:
    ratios = approximation_ratios(scores, optima)
    found, there = scores > 0, optima > 0
    return GraphScore(
        graphs=len(optima),
        ratio=ratios.mean().item(),
        deviation=ratios.std(correction=0).item(),
        f1=(2 * (found & there).sum() / (found.sum() + there.sum()).clamp(min=1)).item(),
    )


@torch.no_grad()
def _shares(network: SolverNetwork, graphs: Sequence[Graphs]) -> tuple[float, float]:
    """Return the mean shares of the trace of X that the largest and the four largest eigenvalues have."""
    largest, four = [], []
    for graph in graphs:
        values = torch.linalg.svdvals(network(graph).double()).square()
        share = values / values.sum().clamp(min=torch.finfo(values.dtype).tiny)
        largest.append(share[0])
        four.append(share[:4].sum())
    return torch.stack(largest).mean().item(), torch.stack(four).mean().item()
