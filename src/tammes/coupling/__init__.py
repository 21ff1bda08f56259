"""Couplings: how the negatives of an anchor are weighted."""

from tammes.coupling.coupling import Coupling, Fit
from tammes.coupling.hard import Hard
from tammes.coupling.transport import Cost, ExponentialEuclidean, SinkhornWarning, SquaredEuclidean, Transport
from tammes.coupling.uniform import Uniform

__all__ = [
    "Cost",
    "Coupling",
    "ExponentialEuclidean",
    "Fit",
    "Hard",
    "SinkhornWarning",
    "SquaredEuclidean",
    "Transport",
    "Uniform",
]
