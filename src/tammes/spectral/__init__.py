"""Networks on eigenvectors of graphs that depend neither on their signs nor on their bases."""

from tammes.spectral.basisnet import BasisNet, BasisNetConfig
from tammes.spectral.copies import Copies
from tammes.spectral.deep_sets import EigenvectorSets, EigenvectorSetsConfig, NodeSets, NodeSetsConfig
from tammes.spectral.dense import laplacian_matrix
from tammes.spectral.eigenpairs import Eigenpairs, eigenpairs, exists
from tammes.spectral.eigenspaces import AmbiguousEigenspaces, Eigenspaces, RelativeGap, orthonormal_within
from tammes.spectral.elementwise import Elementwise, ElementwiseConfig
from tammes.spectral.equivariant import MatrixToMatrix, MatrixToVector, VectorToMatrix, VectorToVector
from tammes.spectral.expressive_basisnet import ExpressiveBasisNet, ExpressiveBasisNetConfig
from tammes.spectral.gin import GIN, GINConfig
from tammes.spectral.groups import Groups
from tammes.spectral.ign import IGN, IGNConfig
from tammes.spectral.laplacian import Combinatorial, Laplacian, RandomWalk, Symmetric
from tammes.spectral.matrices import Dense, Factored, Matrices
from tammes.spectral.mesh import MeshLaplacian
from tammes.spectral.nodes import Nodes
from tammes.spectral.perceptron import Concatenated, ConcatenatedConfig, Summed, SummedConfig
from tammes.spectral.phi import Phi, PhiConfig, Rho, RhoConfig
from tammes.spectral.projector_basisnet import ProjectorBasisNet, ProjectorBasisNetConfig
from tammes.spectral.projectors import EigenspaceProjectors, Projectors
from tammes.spectral.set_partitions import bell, set_partitions
from tammes.spectral.signnet import SignNet, SignNetConfig
from tammes.spectral.tensor_layer import TensorToTensor
from tammes.spectral.transformer import (
    EigenvectorTransformer,
    EigenvectorTransformerConfig,
    NodeTransformer,
    NodeTransformerConfig,
)
from tammes.spectral.unconstrained_basisnet import UnconstrainedBasisNet, UnconstrainedBasisNetConfig
from tammes.spectral.unconstrained_signnet import UnconstrainedSignNet, UnconstrainedSignNetConfig

__all__ = [
    "GIN",
    "IGN",
    "AmbiguousEigenspaces",
    "BasisNet",
    "BasisNetConfig",
    "Combinatorial",
    "Concatenated",
    "ConcatenatedConfig",
    "Copies",
    "Dense",
    "Eigenpairs",
    "EigenspaceProjectors",
    "Eigenspaces",
    "EigenvectorSets",
    "EigenvectorSetsConfig",
    "EigenvectorTransformer",
    "EigenvectorTransformerConfig",
    "Elementwise",
    "ElementwiseConfig",
    "ExpressiveBasisNet",
    "ExpressiveBasisNetConfig",
    "Factored",
    "GINConfig",
    "Groups",
    "IGNConfig",
    "Laplacian",
    "Matrices",
    "MatrixToMatrix",
    "MatrixToVector",
    "MeshLaplacian",
    "NodeSets",
    "NodeSetsConfig",
    "NodeTransformer",
    "NodeTransformerConfig",
    "Nodes",
    "Phi",
    "PhiConfig",
    "ProjectorBasisNet",
    "ProjectorBasisNetConfig",
    "Projectors",
    "RandomWalk",
    "RelativeGap",
    "Rho",
    "RhoConfig",
    "SignNet",
    "SignNetConfig",
    "Summed",
    "SummedConfig",
    "Symmetric",
    "TensorToTensor",
    "UnconstrainedBasisNet",
    "UnconstrainedBasisNetConfig",
    "UnconstrainedSignNet",
    "UnconstrainedSignNetConfig",
    "VectorToMatrix",
    "VectorToVector",
    "bell",
    "eigenpairs",
    "exists",
    "laplacian_matrix",
    "orthonormal_within",
    "set_partitions",
]
