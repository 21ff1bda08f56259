"""What the options of `tammes solve` choose: networks, how they are trained, and the problem."""

from collections.abc import Callable
from pathlib import Path

import torch

from tammes.cli.options.solve import ApproachName, ProblemName, Solve
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


def fit_config(choice: Solve) -> FitConfig:
    """Return the settings of the training."""
    usual = 1e-4 if choice.graph is None else 1e-3
    return FitConfig(
        epochs=choice.epochs,
        batch_size=choice.batch_size,
        learning_rate=usual if choice.learning_rate is None else choice.learning_rate,
        seed=choice.seed,
    )


def network_config(choice: Solve) -> NetworkConfig:
    """Return the sizes of the networks."""
    usual = 0 if choice.graph is None else 8
    noise = usual if choice.noise is None else choice.noise
    return NetworkConfig(width=choice.width, layers=choice.layers, noise=noise)


def is_rising(choice: Solve) -> bool:
    """Return whether the greedy solution begins with the lowest degrees."""
    return choice.problem == "max-independent-set"


def approach_of(choice: Solve, name: ApproachName) -> Approach:
    """Return the approach of a name, with its options."""
    constructors: dict[ApproachName, Callable[[], Approach]] = {
        "neural-lovasz": lambda: approaches.neural_lovasz(choice.eigenvectors),
        "neural-lovasz-peak": lambda: approaches.neural_lovasz_peak(choice.eigenvectors),
        "lovasz": approaches.lovasz,
        "lovasz-columns": approaches.lovasz_columns,
        "bounded-lovasz": lambda: approaches.bounded_lovasz(choice.k or 1),
        "straight-through": approaches.straight_through,
        "reinforce": lambda: approaches.reinforce(_generator(choice), choice.samples),
        "erdos": approaches.erdos,
    }
    approach = constructors[name]()
    return approach.with_exact_objectives() if choice.exact_objective else approach


def problem_constructor(choice: Solve, approach: Approach) -> Callable[[Graphs], Problem]:
    """Return the constructor of the problem, with the objective that the approach minimizes."""
    constructors: dict[ProblemName, Callable[[Graphs], Problem]] = {
        "max-clique": approach.cliques,
        "max-independent-set": approach.independent_sets,
        "k-clique": lambda graphs: clique_of_size(graphs, k=choice.k or 1, formula=approach.clique),
        "max-cut": maximum_cut,
        "max-coverage": lambda graphs: maximum_coverage(Covers.neighborhoods(graphs), k=choice.k or 1),
    }
    return constructors[choice.problem]


def network_of(choice: Solve, approach: Approach) -> SolverNetwork:
    """Return a network with initial weights."""
    torch.manual_seed(choice.seed)
    return SolverNetwork(network_config(choice), scalar=approach.method.scalar, generator=_generator(choice))


def cache_of(choice: Solve) -> SolutionCache:
    """Return the cache of exact answers."""
    return SolutionCache(path=choice.answers or Path.home() / ".cache" / "tammes" / "answers.jsonl")


def _generator(choice: Solve) -> torch.Generator:
    return torch.Generator().manual_seed(choice.seed)
