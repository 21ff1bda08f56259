"""What `tammes solve` is asked for: a problem, graphs, and how networks are trained."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
import tyro

from tammes.extensions import (
    CliqueOfSize,
    Covers,
    Graphs,
    MaximumCoverage,
    MaximumCut,
    Problem,
    SolutionCache,
)
from tammes.extensions.solvers import FitConfig, NetworkConfig, SolverNetwork
from tammes.extensions.solvers import approaches as ways
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
WITH_K = ("k-clique", "max-coverage")


@dataclass(frozen=True, kw_only=True)
class Solve:
    """Find large cliques, independent sets, cuts or covers, by networks that are trained without solutions.

    tammes solve max-clique --data MUTAG --extension neural-lovasz lovasz

    tammes solve max-independent-set --graph friends.edgelist

    Args:
        problem: What to find.
        data: A folder with a data set of the TU collection, or its name, to be downloaded: 60 % of the
            graphs are trained on, 30 % are for the table.
        graph: A file with an edge on each line, to solve this one graph instead.
        extension: How networks are trained; each gets a row of the table, beside the greedy solution.
        exact_objective: Minimize objectives that are least at the solutions, instead of the paper's.
        k: For k-clique its size, for max-coverage and bounded-lovasz how many nodes there may be.
        epochs: How often each graph is seen.
        batch_size: Graphs a step.
        learning_rate: Of Adam (by default 1e-4, and 1e-3 for a single graph).
        width: Features of a node within the network.
        layers: Graph convolutions.
        noise: Random features of a node (by default none, and 8 for a single graph).
        eigenvectors: Of neural extensions.
        samples: Sets that reinforce draws.
        seed: Of the split, the weights, the order of graphs and everything else that is drawn.
        seconds: For the exact answer of a graph; after that, its best set so far counts.
        most: Take only so many graphs, the first ones.
        answers: The file that keeps exact answers (by default ~/.cache/tammes/answers.jsonl).
        json: Print one object for other programs instead of a table.
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
            raise ValueError(
                "name graphs to learn from with --data or one to solve with --graph, one of them"
            )
        if not self.extension or len(set(self.extension)) < len(self.extension):
            raise ValueError("name each --extension once, and at least one")
        needed = self.problem in WITH_K or "bounded-lovasz" in self.extension
        if self.k is None and needed:
            raise ValueError(
                f"say with --k how many nodes: {' and '.join((*WITH_K, 'bounded-lovasz'))} need it"
            )
        if self.k is not None and not needed:
            raise ValueError(f"leave --k out: only {' and '.join((*WITH_K, 'bounded-lovasz'))} take it")
        if self.k is not None and self.k < 1:
            raise ValueError(f"--k must be at least 1, got {self.k}")
        if self.most is not None and self.graph is not None:
            raise ValueError("--most is for the graphs of --data: leave it out with --graph")
        if self.problem in ("max-cut", "max-coverage") and "erdos" in self.extension:
            raise ValueError(f"erdos has penalties for cliques and independent sets, none for {self.problem}")
        if self.problem == "max-coverage" and "straight-through" in self.extension:
            raise ValueError("straight-through differentiates the objective, and coverage cannot be")
        if not self.seconds > 0:
            raise ValueError(f"--seconds must be positive, got {self.seconds}")

    @property
    def fit_config(self) -> FitConfig:
        """How networks are trained."""
        usual = 1e-4 if self.graph is None else 1e-3
        return FitConfig(
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=usual if self.learning_rate is None else self.learning_rate,
            seed=self.seed,
        )

    @property
    def network_config(self) -> NetworkConfig:
        """The networks' size."""
        usual = 0 if self.graph is None else 8
        noise = usual if self.noise is None else self.noise
        return NetworkConfig(width=self.width, layers=self.layers, noise=noise)

    @property
    def rising(self) -> bool:
        """Whether the greedy solution begins with the least degrees."""
        return self.problem == "max-independent-set"

    def approach(self, name: ApproachName) -> Approach:
        """The approach of this name, with its numbers."""
        made: dict[ApproachName, Callable[[], Approach]] = {
            "neural-lovasz": lambda: ways.neural_lovasz(self.eigenvectors),
            "neural-lovasz-peak": lambda: ways.neural_lovasz_peak(self.eigenvectors),
            "lovasz": ways.lovasz,
            "lovasz-columns": ways.lovasz_columns,
            "bounded-lovasz": lambda: ways.bounded_lovasz(self.k or 1),
            "straight-through": ways.straight_through,
            "reinforce": lambda: ways.reinforce(self._generator(), self.samples),
            "erdos": ways.erdos,
        }
        approach = made[name]()
        return approach.with_exact_objectives() if self.exact_objective else approach

    def pose(self, approach: Approach) -> Callable[[Graphs], Problem]:
        """The problem, with the objective that the approach minimizes."""
        posed: dict[ProblemName, Callable[[Graphs], Problem]] = {
            "max-clique": approach.cliques,
            "max-independent-set": approach.independent_sets,
            "k-clique": lambda graphs: CliqueOfSize(graphs=graphs, k=self.k or 1, formula=approach.clique),
            "max-cut": lambda graphs: MaximumCut(graphs=graphs),
            "max-coverage": lambda graphs: MaximumCoverage(
                covers=Covers.neighborhoods(graphs), k=self.k or 1
            ),
        }
        return posed[self.problem]

    def network(self, approach: Approach) -> SolverNetwork:
        """A network with fresh weights."""
        torch.manual_seed(self.seed)
        return SolverNetwork(self.network_config, scalar=approach.method.scalar, generator=self._generator())

    def kept(self) -> SolutionCache:
        """Where exact answers are kept."""
        return SolutionCache(path=self.answers or Path.home() / ".cache" / "tammes" / "answers.jsonl")

    def _generator(self) -> torch.Generator:
        return torch.Generator().manual_seed(self.seed)
