"""Networks that solve problems on graphs, trained without solutions."""

from tammes.extensions.solvers.by_extension import ByColumns, ByNeural, ByScalar
from tammes.extensions.solvers.erdos import Erdos
from tammes.extensions.solvers.fit import (
    FitConfig,
    Fitted,
    by_degree,
    fit,
    greedy,
    optima_of,
    ratios,
    solve,
    split,
)
from tammes.extensions.solvers.method import Method
from tammes.extensions.solvers.network import NetworkConfig, SolverNetwork
from tammes.extensions.solvers.reinforce import Reinforce
from tammes.extensions.solvers.search import search
from tammes.extensions.solvers.straight_through import StraightThrough

__all__ = [
    "ByColumns",
    "ByNeural",
    "ByScalar",
    "Erdos",
    "FitConfig",
    "Fitted",
    "Method",
    "NetworkConfig",
    "Reinforce",
    "SolverNetwork",
    "StraightThrough",
    "by_degree",
    "fit",
    "greedy",
    "optima_of",
    "ratios",
    "search",
    "solve",
    "split",
]
