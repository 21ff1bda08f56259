"""What the options of `tammes solve` choose: networks, how they are trained, and the problem."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from tammes.cli.options.solve import ApproachName, ProblemName, Solve
from tammes.cli.output import prepare_output
from tammes.extensions import (
    BoundedLovasz,
    Covers,
    Graphs,
    Neural,
    Peak,
    Problem,
    SolutionCache,
    clique_of_size,
    clique_penalty,
    independence_penalty,
    maximum_clique,
    maximum_coverage,
    maximum_cut,
    maximum_independent_set,
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
)


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


def method_of(choice: Solve, name: ApproachName) -> Method:
    """Return the method of a name, with its options."""
    k, eigenvectors = choice.k or 1, choice.eigenvectors
    constructors: dict[ApproachName, Callable[[], Method]] = {
        "neural-lovasz": lambda: ByNeural(neural=Neural(eigenvectors=eigenvectors)),
        "neural-lovasz-peak": lambda: ByNeural(neural=Neural(eigenvectors=eigenvectors, squash=Peak())),
        "lovasz": ByScalar,
        "lovasz-columns": ByColumns,
        "bounded-lovasz": lambda: ByScalar(extension=BoundedLovasz(k=k)),
        "straight-through": StraightThrough,
        "reinforce": lambda: Reinforce(generator=_generator(choice), samples=choice.samples),
        "erdos": Erdos,
    }
    return constructors[name]()


def problem_constructor(choice: Solve, method: Method) -> Callable[[Graphs], Problem]:
    """Return the constructor of the problem, with the objective that the method minimizes."""
    clique = clique_penalty() if choice.exact_objective else method.clique
    independent = independence_penalty() if choice.exact_objective else method.independent
    constructors: dict[ProblemName, Callable[[Graphs], Problem]] = {
        "max-clique": partial(maximum_clique, formula=clique),
        "max-independent-set": partial(maximum_independent_set, formula=independent),
        "k-clique": lambda graphs: clique_of_size(graphs, k=choice.k or 1, formula=clique),
        "max-cut": maximum_cut,
        "max-coverage": lambda graphs: maximum_coverage(Covers.neighborhoods(graphs), k=choice.k or 1),
    }
    return constructors[choice.problem]


def network_of(choice: Solve, method: Method) -> SolverNetwork:
    """Return a network with initial weights."""
    torch.manual_seed(choice.seed)
    return SolverNetwork(network_config(choice), scalar=method.scalar, generator=_generator(choice))


def cache_of(choice: Solve) -> SolutionCache:
    """Return the cache of exact answers."""
    return SolutionCache(path=choice.answers or Path.home() / ".cache" / "tammes" / "answers.jsonl")


def check_cache(choice: Solve) -> None:
    """Raise ValueError or OSError for a file that cannot keep exact answers, or holds something else."""
    cache = cache_of(choice)
    assert cache.path is not None
    prepare_output(cache.path)
    cache.load()


def _generator(choice: Solve) -> torch.Generator:
    return torch.Generator().manual_seed(choice.seed)
