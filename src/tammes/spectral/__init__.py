"""Networks on eigenvectors of graphs that depend neither on their signs nor on their bases."""

from tammes.spectral.copies import Copies
from tammes.spectral.deep_sets import EigenvectorSets, EigenvectorSetsConfig, NodeSets, NodeSetsConfig
from tammes.spectral.eigenpairs import Eigenpairs, eigenpairs, exists
from tammes.spectral.eigenspaces import AmbiguousEigenspaces, Eigenspaces, RelativeGap, orthonormal_within
from tammes.spectral.elementwise import Elementwise, ElementwiseConfig
from tammes.spectral.gin import GIN, GINConfig
from tammes.spectral.groups import Groups
from tammes.spectral.laplacian import Combinatorial, Laplacian, RandomWalk, Symmetric
from tammes.spectral.perceptron import Concatenated, ConcatenatedConfig, Summed, SummedConfig
from tammes.spectral.phi import Phi, PhiConfig, Rho, RhoConfig
from tammes.spectral.signnet import SignNet, SignNetConfig
from tammes.spectral.transformer import (
    EigenvectorTransformer,
    EigenvectorTransformerConfig,
    NodeTransformer,
    NodeTransformerConfig,
)

__all__ = [
    "GIN",
    "AmbiguousEigenspaces",
    "Combinatorial",
    "Concatenated",
    "ConcatenatedConfig",
    "Copies",
    "Eigenpairs",
    "Eigenspaces",
    "EigenvectorSets",
    "EigenvectorSetsConfig",
    "EigenvectorTransformer",
    "EigenvectorTransformerConfig",
    "Elementwise",
    "ElementwiseConfig",
    "GINConfig",
    "Groups",
    "Laplacian",
    "NodeSets",
    "NodeSetsConfig",
    "NodeTransformer",
    "NodeTransformerConfig",
    "Phi",
    "PhiConfig",
    "RandomWalk",
    "RelativeGap",
    "Rho",
    "RhoConfig",
    "SignNet",
    "SignNetConfig",
    "Summed",
    "SummedConfig",
    "Symmetric",
    "eigenpairs",
    "exists",
    "orthonormal_within",
]
