"""Gradients through set functions: extensions of f(S) to vectors and matrices."""

from tammes.extensions.eigenpairs import Eigensolver, ExactEigenpairs, PowerIterations
from tammes.extensions.functions.counts import Counts
from tammes.extensions.functions.coverage import Coverage, Covers
from tammes.extensions.functions.formulas import (
    CliqueDensity,
    Formula,
    GraphFunction,
    IndependenceDensity,
    LinearFormula,
    clique_erdos,
    clique_penalty,
    clique_size,
    cut_size,
    independence_penalty,
)
from tammes.extensions.functions.set_function import BlackBox, Normalized, SetFunction
from tammes.extensions.graph_files import edge_list, tu_graphs
from tammes.extensions.graphs import Graphs
from tammes.extensions.ground_set import GroundSet, Listed, Sweep
from tammes.extensions.integer_program import Answer, Program, SolutionCache
from tammes.extensions.neural import Neural, Peak, Sigmoid
from tammes.extensions.problems import (
    Problem,
    clique_of_size,
    exact_answers,
    maximum_clique,
    maximum_coverage,
    maximum_cut,
    maximum_independent_set,
)
from tammes.extensions.scalar.extension import Distribution, Extension
from tammes.extensions.scalar.lovasz import (
    BoundedLovasz,
    Lovasz,
    Permutation,
    Singleton,
    TrainingError,
    training_error,
)
from tammes.extensions.scalar.multilinear import Multilinear, SampledMultilinear

__all__ = [
    "Answer",
    "BlackBox",
    "BoundedLovasz",
    "CliqueDensity",
    "Counts",
    "Coverage",
    "Covers",
    "Distribution",
    "Eigensolver",
    "ExactEigenpairs",
    "Extension",
    "Formula",
    "GraphFunction",
    "Graphs",
    "GroundSet",
    "IndependenceDensity",
    "LinearFormula",
    "Listed",
    "Lovasz",
    "Multilinear",
    "Neural",
    "Normalized",
    "Peak",
    "Permutation",
    "PowerIterations",
    "Problem",
    "Program",
    "SampledMultilinear",
    "SetFunction",
    "Sigmoid",
    "Singleton",
    "SolutionCache",
    "Sweep",
    "TrainingError",
    "clique_erdos",
    "clique_of_size",
    "clique_penalty",
    "clique_size",
    "cut_size",
    "edge_list",
    "exact_answers",
    "independence_penalty",
    "maximum_clique",
    "maximum_coverage",
    "maximum_cut",
    "maximum_independent_set",
    "training_error",
    "tu_graphs",
]
