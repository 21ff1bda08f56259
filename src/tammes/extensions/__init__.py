"""Gradients through set functions: extensions of f(S) to vectors and matrices."""

from tammes.extensions.distribution import Distribution, Piece
from tammes.extensions.eigenpairs import Eigensolver, ExactEigenpairs, PowerIterations
from tammes.extensions.extension import Extension
from tammes.extensions.ground import Ground
from tammes.extensions.lovasz import BoundedLovasz, Lovasz
from tammes.extensions.multilinear import Multilinear, SampledMultilinear
from tammes.extensions.neural import Neural
from tammes.extensions.set_function import BlackBox, Normalized, SetFunction
from tammes.extensions.singleton import Permutation, Singleton
from tammes.extensions.squash import Peak, Sigmoid, Squash
from tammes.extensions.support import Listed, Support
from tammes.extensions.sweep import Sweep

__all__ = [
    "BlackBox",
    "BoundedLovasz",
    "Distribution",
    "Eigensolver",
    "ExactEigenpairs",
    "Extension",
    "Ground",
    "Listed",
    "Lovasz",
    "Multilinear",
    "Neural",
    "Normalized",
    "Peak",
    "Permutation",
    "Piece",
    "PowerIterations",
    "SampledMultilinear",
    "SetFunction",
    "Sigmoid",
    "Singleton",
    "Squash",
    "Support",
    "Sweep",
]
