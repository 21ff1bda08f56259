"""Training of the set-function experiments: one network on one data set of graphs."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import torch

from tammes.extensions import (
    BoundedLovasz,
    Graphs,
    Neural,
    Peak,
    Problem,
    SolutionCache,
    clique_of_size,
    clique_penalty,
    independence_penalty,
    maximum_clique,
    maximum_independent_set,
    tu_graphs,
)
from tammes.extensions.solvers import (
    ByColumns,
    ByNeural,
    ByScalar,
    Erdos,
    FitConfig,
    Method,
    NetworkConfig,
    Reinforce,
    SolverNetwork,
    StraightThrough,
    approximation_ratios,
    fit,
    greedy_scores,
    optimal_scores,
    solve,
    split,
)
from tammes.papers.entry import Request

EPOCHS, SEEDS, RATE = 200, 3, 1e-4
"""Epochs and learning rate of the paper's trainings, and our number of seeds."""
SMALL, GRAPHS = 0.02, 30_000
"""A budget below `SMALL` takes `GRAPHS` times the budget as the number of graphs of a data set."""
MOST_OF_COLLAB = 1000
"""Number of graphs of COLLAB that the paper takes."""
SECONDS = 60.0
"""Time limit for the exact answer of a graph; after that, ratios are to the best set found."""
CLIQUE, INDEPENDENT, OF_SIZE = "clique", "independent set", "clique of size"
GREEDY, RANDOM = "greedy, by degree", "greedy, random scores"
EXACT, UNTRAINED = ", exact", ", untrained"

METHODS: dict[str, Callable[["GraphTraining"], Method]] = {
    "straight-through": lambda cell: StraightThrough(),
    "Erdős": lambda cell: Erdos(),
    "REINFORCE": lambda cell: Reinforce(
        generator=torch.Generator().manual_seed(cell.seed), better_only=cell.problem == INDEPENDENT
    ),
    "Lovász": lambda cell: ByScalar(),
    "neural Lovász": lambda cell: ByNeural(neural=Neural(eigenvectors=cell.eigenvectors)),
    "neural Lovász, peak": lambda cell: ByNeural(
        neural=Neural(eigenvectors=cell.eigenvectors, squash=Peak())
    ),
    "Lovász of columns": lambda cell: ByColumns(),
    "bounded Lovász": lambda cell: ByScalar(extension=BoundedLovasz(k=cell.k)),
}
"""Methods by their names, which end in `EXACT` where an exact objective replaces the paper's."""


@dataclass(frozen=True, kw_only=True)
class GraphTraining:
    """Settings of one training; `k` is 0 and `eigenvectors` 4 where they do not matter.

    A network with 0 epochs is untrained; greedy solutions, which need no network, have 0 epochs as well.
    """

    data: str
    problem: str
    method: str
    epochs: int
    width: int = 64
    layers: int = 6
    batch_size: int = 32
    learning_rate: float = RATE
    eigenvectors: int = 4
    k: int = 0
    seed: int = 0

    @property
    def label(self) -> str:
        """Method, and whether its network is untrained."""
        return self.method if self.epochs or self.method in (GREEDY, RANDOM) else self.method + UNTRAINED

    @property
    def untrained(self) -> "GraphTraining":
        """The same network without training; objectives make no difference then."""
        return replace(self, method=self.method.removesuffix(EXACT), epochs=0)


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
        most: number of graphs of a data set, the first ones; None for all.
    """

    def __init__(self, folder: Path, answers: Path, most: int | None = None) -> None:
        self._folder = folder
        self._answers = SolutionCache(path=answers)
        self._most = most
        self._parts = cache(self._read)

    @classmethod
    def of(cls, request: Request) -> "GraphData":
        """Return the data of a request, with the exact answers in its folder."""
        most = max(20, round(GRAPHS * request.budget)) if request.budget < SMALL else None
        return cls(request.required_data(), request.out / "answers.jsonl", most)

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
        """Train one network, or leave it untrained, and return its score."""
        train, test, validation = self._parts(cell.data)
        plain = _problem(cell, ByScalar())
        optima, _ = optimal_scores(plain, test, cache=self._answers, seconds=SECONDS)
        if cell.method == GREEDY:
            return _score(greedy_scores(plain, test, rising=cell.problem == INDEPENDENT), optima)
        if cell.method == RANDOM:
            return _score(_random_scores(plain, test, seed=cell.seed), optima)
        method = METHODS[cell.method.removesuffix(EXACT)](cell)
        make_problem = _problem(cell, method)
        torch.manual_seed(cell.seed)
        network = SolverNetwork(NetworkConfig(width=cell.width, layers=cell.layers), scalar=method.scalar)
        best_epoch, best, seconds = 0, 0.0, 0.0
        if cell.epochs:
            known, _ = optimal_scores(plain, validation, cache=self._answers, seconds=SECONDS)
            config = FitConfig(
                epochs=cell.epochs,
                batch_size=cell.batch_size,
                learning_rate=cell.learning_rate,
                seed=cell.seed,
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
        most = min(self._most or MOST_OF_COLLAB, MOST_OF_COLLAB) if name == "COLLAB" else self._most
        # One split for all: the paper's is "done in exactly one consistent way across all experiments".
        graphs = tu_graphs(self._folder / name, most=most)
        for graph in graphs:
            _ = graph.partition  # found once, and not in the time of the first training
        return split(graphs, seed=0)


def epochs_of(budget: float) -> int:
    """Return the number of epochs that a budget pays for, at least one."""
    return max(1, round(EPOCHS * budget))


def with_untrained(cells: Iterable[GraphTraining]) -> list[GraphTraining]:
    """Return the cells, each followed by its network without training unless that came before."""
    return list(dict.fromkeys(each for cell in cells for each in (cell, cell.untrained)))


def settings(results: Mapping[GraphTraining, GraphScore]) -> dict[str, str]:
    """Return the settings that trainings share, for their page, and the epochs of each data set."""
    by_data: dict[str, GraphTraining] = {}
    for cell in results:
        by_data[cell.data] = max(cell, by_data.get(cell.data, cell), key=lambda each: each.epochs)
    first = next(iter(by_data.values()))
    epochs = str(first.epochs)
    if any(cell.epochs != first.epochs for cell in by_data.values()):
        epochs = ", ".join(f"{name} {cell.epochs}" for name, cell in by_data.items())
    graphs = {cell.data: score.graphs for cell, score in results.items()}
    return {
        "epochs": f"{epochs} (the paper's: {EPOCHS})",
        "network": f"GAT, then {first.layers} gated graph convolutions, {first.width} features",
        "batch": f"{first.batch_size} graphs",
        "Adam, learning rate": f"{first.learning_rate:g}",
        "split": "60 % for training, 30 % for testing, 10 % for validation, which chooses the epoch; the "
        "same for all seeds",
        "test graphs": f"{', '.join(f'{name} {count}' for name, count in graphs.items())} (a budget below "
        f"{SMALL:g} takes a part of a data set)",
    }


def _problem(cell: GraphTraining, method: Method) -> Callable[[Graphs], Problem]:
    """Return the constructor of the problem of a training, with the objective of a method."""
    exact = cell.method.endswith(EXACT)
    clique = clique_penalty() if exact else method.clique
    independent = independence_penalty() if exact else method.independent
    return {
        CLIQUE: partial(maximum_clique, formula=clique),
        INDEPENDENT: partial(maximum_independent_set, formula=independent),
        OF_SIZE: partial(clique_of_size, k=cell.k, formula=clique),
    }[cell.problem]


def _score(scores: torch.Tensor, optima: torch.Tensor) -> GraphScore:
    ratios = approximation_ratios(scores, optima)
    found, there = scores > 0, optima > 0
    return GraphScore(
        graphs=len(optima),
        ratio=ratios.mean().item(),
        deviation=ratios.std(correction=0).item(),
        f1=(2 * (found & there).sum() / (found.sum() + there.sum()).clamp(min=1)).item(),
    )


def _random_scores(
    make_problem: Callable[[Graphs], Problem], graphs: Sequence[Graphs], *, seed: int
) -> torch.Tensor:
    """Return the score of the set that grows greedily along random scores in each graph."""
    problem = make_problem(Graphs.join(graphs))
    scores = torch.rand(problem.ground.total, generator=torch.Generator().manual_seed(seed))
    return problem.score.values(problem.grow(problem.ground.descending(scores))).double()


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
