"""Networks on eigenvectors of graphs that depend neither on their signs nor on their bases."""

from tammes.spectral.eigenpairs import Eigenpairs, eigenpairs, exists
from tammes.spectral.eigenspaces import AmbiguousEigenspaces, Eigenspaces, RelativeGap, orthonormal_within
from tammes.spectral.laplacian import Combinatorial, Laplacian, RandomWalk, Symmetric

__all__ = [
    "AmbiguousEigenspaces",
    "Combinatorial",
    "Eigenpairs",
    "Eigenspaces",
    "Laplacian",
    "RandomWalk",
    "RelativeGap",
    "Symmetric",
    "eigenpairs",
    "exists",
    "orthonormal_within",
]
