"""Eigenpairs of graphs, meshes and directed graphs, and their grouping into eigenspaces."""

from tammes.spectral.eigen.eigenpairs import Eigenpairs, eigenpairs, eigenvector_mask
from tammes.spectral.eigen.eigenspaces import (
    AmbiguousEigenspaces,
    Eigenspaces,
    RelativeGap,
    orthonormal_within,
)
from tammes.spectral.eigen.laplacian import Combinatorial, Laplacian, RandomWalk, Symmetric, laplacian_matrix
from tammes.spectral.eigen.mesh import MeshLaplacian
from tammes.spectral.eigen.projectors import Projectors

__all__ = [
    "AmbiguousEigenspaces",
    "Combinatorial",
    "Eigenpairs",
    "Eigenspaces",
    "Laplacian",
    "MeshLaplacian",
    "Projectors",
    "RandomWalk",
    "RelativeGap",
    "Symmetric",
    "eigenpairs",
    "eigenvector_mask",
    "laplacian_matrix",
    "orthonormal_within",
]
