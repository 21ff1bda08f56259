"""Networks that solve problems on graphs, trained without solutions."""

from tammes.extensions.solvers.fit import (
    FitConfig,
    approximation_ratios,
    fit,
    greedy_by_degree,
    greedy_scores,
    optimal_scores,
    search,
    solve,
    split,
)
from tammes.extensions.solvers.method import (
    ByColumns,
    ByNeural,
    ByScalar,
    Erdos,
    Method,
    Reinforce,
    StraightThrough,
)
from tammes.extensions.solvers.network import NetworkConfig, SolverNetwork

__all__ = [
    "ByColumns",
    "ByNeural",
    "ByScalar",
    "Erdos",
    "FitConfig",
    "Method",
    "NetworkConfig",
    "Reinforce",
    "SolverNetwork",
    "StraightThrough",
    "approximation_ratios",
    "fit",
    "greedy_by_degree",
    "greedy_scores",
    "optimal_scores",
    "search",
    "solve",
    "split",
]
