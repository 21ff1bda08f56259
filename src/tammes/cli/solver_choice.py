"""Options of `tammes solve`: a problem, graphs, and how networks are trained."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
import tyro

from tammes.checks import check_integer, check_seed
from tammes.extensions import (
    Covers,
    Graphs,
    Problem,
    SolutionCache,
    clique_of_size,
    maximum_coverage,
    maximum_cut,
)
from tammes.extensions.solvers import FitConfig, NetworkConfig, SolverNetwork, approaches
from tammes.extensions.solvers.approaches import Approach

ProblemName = Literal["max-clique", "max-independent-set", "k-clique", "max-cut", "max-coverage"]
ApproachName = Literal[
    "neural-lovasz",
    "neural-lovasz-peak",
    "lovasz",
    "lovasz-columns",
    "bounded-lovasz",
    "straight-through",
    "reinforce",
    "erdos",
]
WITH_K = ("k-clique", "max-coverage", "bounded-lovasz")


@dataclass(frozen=True, kw_only=True)
class Solve:
    """Find large cliques, independent sets, cuts or covers by networks that are trained without solutions.

    tammes solve max-clique --data MUTAG --extension neural-lovasz lovasz

    tammes solve max-independent-set --graph friends.edgelist

    Args:
        problem: What to find.
        data: A folder with a data set of the TU collection, or its name, to be downloaded: 60 % of the
            graphs are for training, 10 % for choosing the epoch, 30 % for the table.
        graph: A file with an edge on each line, to solve this one graph instead.
        extension: Methods to train networks with; each has a row of the table, beside the greedy solution.
        exact_objective: Minimize objectives that are least at the solutions, instead of the paper's.
        k: The size of k-clique, or the largest number of nodes for max-coverage and bounded-lovasz.
        epochs: Number of passes over the graphs.
        batch_size: Number of graphs in each step.
        learning_rate: Learning rate of Adam (by default 1e-4, and 1e-3 for a single graph).
        width: Number of features of a node within the network.
        layers: Number of graph convolutions.
        noise: Number of random features of a node (by default 0, and 8 for a single graph).
        eigenvectors: Number of eigenvectors of neural extensions.
        samples: Number of sets that reinforce draws.
        seed: Random seed of the split, the weights, the order of graphs and all samples.
        seconds: Time limit for the exact answer of a graph; after that, its best set so far counts.
        most: Number of graphs to take, the first ones.
        answers: File that caches exact answers (by default ~/.cache/tammes/answers.jsonl).
        json: Print one JSON object instead of a table.
    """

    problem: tyro.conf.Positional[ProblemName]
    data: str | None = None
    graph: Path | None = None
    extension: tuple[ApproachName, ...] = ("neural-lovasz",)
    exact_objective: bool = False
    k: int | None = None
    epochs: int = 200
    batch_size: int = 32
    learning_rate: float | None = None
    width: int = 64
    layers: int = 6
    noise: int | None = None
    eigenvectors: int = 4
    samples: int = 250
    seed: int = 0
    seconds: float = 60.0
    most: int | None = None
    answers: Path | None = None
    json: bool = False

    def __post_init__(self) -> None:
        if (self.data is None) == (self.graph is None):
            raise ValueError("give either graphs to learn from with --data or one to solve with --graph")
        if not self.extension or len(set(self.extension)) < len(self.extension):
            raise ValueError("give at least one --extension, and each --extension once")
        needed = any(name in WITH_K for name in (self.problem, *self.extension))
        if self.k is None and needed:
            raise ValueError(f"say with --k how many nodes: {' and '.join(WITH_K)} need it")
        if self.k is not None and not needed:
            raise ValueError(f"leave --k out: only {' and '.join(WITH_K)} take it")
        if self.k is not None:
            check_integer("--k", self.k)
        if self.most is not None and self.graph is not None:
            raise ValueError("--most is for the graphs of --data: leave it out with --graph")
        if self.problem in ("max-cut", "max-coverage") and "erdos" in self.extension:
            raise ValueError(f"erdos has penalties for cliques and independent sets, none for {self.problem}")
        if self.problem == "max-coverage" and "straight-through" in self.extension:
            raise ValueError("straight-through differentiates the objective, and coverage cannot be")
        check_seed("--seed", self.seed)
        if not self.seconds > 0:
            raise ValueError(f"--seconds must be positive, got {self.seconds}")
        self._check_training()

    def _check_training(self) -> None:
        """Refuse numbers of the training before the graphs are read, which may take long."""
        for name in ("most", "eigenvectors"):
            if vars(self)[name] is not None:
                check_integer(f"--{name}", vars(self)[name])
        check_integer("--samples", self.samples, minimum=2)
        # These check their own fields.
        _ = self.fit_config, self.network_config

    @property
    def fit_config(self) -> FitConfig:
        """Settings of the training."""
        usual = 1e-4 if self.graph is None else 1e-3
        return FitConfig(
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=usual if self.learning_rate is None else self.learning_rate,
            seed=self.seed,
        )

    @property
    def network_config(self) -> NetworkConfig:
        """Sizes of the networks."""
        usual = 0 if self.graph is None else 8
        noise = usual if self.noise is None else self.noise
        return NetworkConfig(width=self.width, layers=self.layers, noise=noise)

    @property
    def rising(self) -> bool:
        """Whether the greedy solution begins with the lowest degrees."""
        return self.problem == "max-independent-set"

    def approach(self, name: ApproachName) -> Approach:
        """Return the approach of a name, with its options."""
        constructors: dict[ApproachName, Callable[[], Approach]] = {
            "neural-lovasz": lambda: approaches.neural_lovasz(self.eigenvectors),
            "neural-lovasz-peak": lambda: approaches.neural_lovasz_peak(self.eigenvectors),
            "lovasz": approaches.lovasz,
            "lovasz-columns": approaches.lovasz_columns,
            "bounded-lovasz": lambda: approaches.bounded_lovasz(self.k or 1),
            "straight-through": approaches.straight_through,
            "reinforce": lambda: approaches.reinforce(self._generator(), self.samples),
            "erdos": approaches.erdos,
        }
        approach = constructors[name]()
        return approach.with_exact_objectives() if self.exact_objective else approach

    def problem_constructor(self, approach: Approach) -> Callable[[Graphs], Problem]:
        """Return the constructor of the problem, with the objective that the approach minimizes."""
        constructors: dict[ProblemName, Callable[[Graphs], Problem]] = {
            "max-clique": approach.cliques,
            "max-independent-set": approach.independent_sets,
            "k-clique": lambda graphs: clique_of_size(graphs, k=self.k or 1, formula=approach.clique),
            "max-cut": maximum_cut,
            "max-coverage": lambda graphs: maximum_coverage(Covers.neighborhoods(graphs), k=self.k or 1),
        }
        return constructors[self.problem]

    def network(self, approach: Approach) -> SolverNetwork:
        """Return a network with initial weights."""
        torch.manual_seed(self.seed)
        return SolverNetwork(self.network_config, scalar=approach.method.scalar, generator=self._generator())

    @property
    def cache(self) -> SolutionCache:
        """Cache of exact answers."""
        return SolutionCache(path=self.answers or Path.home() / ".cache" / "tammes" / "answers.jsonl")

    def _generator(self) -> torch.Generator:
        return torch.Generator().manual_seed(self.seed)
