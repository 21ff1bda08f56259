"""Options of `tammes solve`: a problem, graphs, and how networks are trained."""

import typing
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from tammes.checks import check_integer, check_seed
from tammes.cli.options.parsing import Options, check_word

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
        problem: What to find: max-clique, max-independent-set, k-clique, max-cut or max-coverage.
        data: Folder with a data set of the TU collection, or its name, to be downloaded: 60 % of the
            graphs are for training, 10 % for choosing the epoch, 30 % for the table.
        graph: File with an edge on each line, to solve this one graph instead.
        extension: Methods to train networks with, each with a row of the table beside the greedy solution:
            neural-lovasz, neural-lovasz-peak, lovasz, lovasz-columns, bounded-lovasz, straight-through,
            reinforce, erdos. By default neural-lovasz, and none where the exact answer is quicker.
        exact_objective: Minimize objectives that are least at the solutions, instead of the paper's.
        k: Size of k-clique, or largest number of nodes for max-coverage and bounded-lovasz.
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

    problem: Annotated[ProblemName, tyro.conf.Positional, tyro.conf.arg(metavar="PROBLEM")]
    data: str | None = None
    graph: Path | None = None
    extension: Annotated[tuple[ApproachName, ...], tyro.conf.arg(metavar="METHODS")] | None = None
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
        named = self.methods
        if not named or len(set(named)) < len(named):
            raise ValueError("give at least one --extension, and each --extension once")
        needed = any(name in WITH_K for name in (self.problem, *named))
        if self.k is None and needed:
            raise ValueError(f"say with --k how many nodes: {' and '.join(WITH_K)} need it")
        if self.k is not None and not needed:
            raise ValueError(f"leave --k out: only {' and '.join(WITH_K)} take it")
        if self.k is not None:
            check_integer("--k", self.k)
        if self.most is not None and self.graph is not None:
            raise ValueError("--most is for the graphs of --data: leave it out with --graph")
        if self.problem in ("max-cut", "max-coverage") and "erdos" in named:
            raise ValueError(f"erdos has penalties for cliques and independent sets, none for {self.problem}")
        if self.problem == "max-coverage" and "straight-through" in named:
            raise ValueError("straight-through differentiates the objective, and coverage cannot be")
        check_seed("--seed", self.seed)
        if not self.seconds > 0:
            raise ValueError(f"--seconds must be positive, got {self.seconds}")
        for name in ("most", "eigenvectors"):
            if vars(self)[name] is not None:
                check_integer(f"--{name}", vars(self)[name])
        check_integer("--samples", self.samples, minimum=2)

    @property
    def methods(self) -> tuple[ApproachName, ...]:
        """Methods to train networks with, where training is worth its time."""
        return ("neural-lovasz",) if self.extension is None else self.extension


RARE = frozenset(
    {
        *("width", "layers", "noise", "eigenvectors", "samples", "batch_size", "learning_rate"),
        *("exact_objective", "answers", "most"),
    }
)


def parse(words: Sequence[str]) -> Solve:
    """Return what the words after `tammes solve` choose."""
    if words and not words[0].startswith("-"):
        check_word("problem", words[0], typing.get_args(ProblemName))
    choice: Solve = Options.of(Solve, RARE).parse("solve", words)
    return choice
