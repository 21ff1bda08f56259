"""Gradients through set functions: extensions of f(S) to vectors and matrices."""

from tammes.extensions.counts import Counts
from tammes.extensions.coverage import CoverageFunction, Covered, Covers
from tammes.extensions.distribution import Distribution, Piece
from tammes.extensions.eigenpairs import Eigensolver, ExactEigenpairs, PowerIterations
from tammes.extensions.exact_answers import exact_answers
from tammes.extensions.extension import Extension
from tammes.extensions.formulas import (
    CliqueDensity,
    CliqueErdos,
    CliquePenalty,
    CutSize,
    Formula,
    GraphFunction,
    IndependenceDensity,
    IndependencePenalty,
)
from tammes.extensions.graphs import Graphs
from tammes.extensions.greedy import extend
from tammes.extensions.ground_set import GroundSet
from tammes.extensions.integer_program import Answer, Program
from tammes.extensions.lovasz import BoundedLovasz, Lovasz
from tammes.extensions.multilinear import Multilinear, SampledMultilinear
from tammes.extensions.neural import Neural
from tammes.extensions.problem import Problem
from tammes.extensions.problems import (
    CliqueOfSize,
    MaximumClique,
    MaximumCoverage,
    MaximumCut,
    MaximumIndependentSet,
)
from tammes.extensions.set_function import BlackBox, Normalized, SetFunction
from tammes.extensions.singleton import Permutation, Singleton
from tammes.extensions.solution_cache import SolutionCache
from tammes.extensions.squash import Peak, Sigmoid, Squash
from tammes.extensions.support import Listed, Support
from tammes.extensions.sweep import Sweep
from tammes.extensions.training_error import TrainingError, training_error

__all__ = [
    "Answer",
    "BlackBox",
    "BoundedLovasz",
    "CliqueDensity",
    "CliqueErdos",
    "CliqueOfSize",
    "CliquePenalty",
    "Counts",
    "CoverageFunction",
    "Covered",
    "Covers",
    "CutSize",
    "Distribution",
    "Eigensolver",
    "ExactEigenpairs",
    "Extension",
    "Formula",
    "GraphFunction",
    "Graphs",
    "GroundSet",
    "IndependenceDensity",
    "IndependencePenalty",
    "Listed",
    "Lovasz",
    "MaximumClique",
    "MaximumCoverage",
    "MaximumCut",
    "MaximumIndependentSet",
    "Multilinear",
    "Neural",
    "Normalized",
    "Peak",
    "Permutation",
    "Piece",
    "PowerIterations",
    "Problem",
    "Program",
    "SampledMultilinear",
    "SetFunction",
    "Sigmoid",
    "Singleton",
    "SolutionCache",
    "Squash",
    "Support",
    "Sweep",
    "TrainingError",
    "exact_answers",
    "extend",
    "training_error",
]
