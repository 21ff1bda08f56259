"""Networks on eigenvectors of graphs that are invariant to the signs and the bases of eigenvectors."""

from tammes.freed_memory import keep_freed_memory
from tammes.spectral.basisnet import BasisNet, ProjectorBasisNet
from tammes.spectral.copies import Copies, Groups
from tammes.spectral.eigen.eigenpairs import Eigenpairs, eigenpairs, eigenvector_mask
from tammes.spectral.eigen.eigenspaces import (
    AmbiguousEigenspaces,
    Eigenspaces,
    Projectors,
    RelativeGap,
)
from tammes.spectral.eigen.laplacian import Combinatorial, Laplacian, RandomWalk, Symmetric, laplacian_matrix
from tammes.spectral.eigen.mesh import MeshLaplacian
from tammes.spectral.equivariant.ign import (
    IGN,
    IGNConfig,
    MatrixToMatrix,
    MatrixToVector,
    VectorToMatrix,
    VectorToVector,
)
from tammes.spectral.equivariant.matrices import Dense, Factored, Nodes
from tammes.spectral.equivariant.tensors import TensorToTensor, bell_number, set_partitions
from tammes.spectral.phi import (
    GIN,
    ConcatenatedConfig,
    ElementwiseConfig,
    GINConfig,
    Phi,
    PhiConfig,
    Rho,
    RhoConfig,
    SummedConfig,
)
from tammes.spectral.sets import (
    EigenvectorSetsConfig,
    EigenvectorTransformerConfig,
    NodeSetsConfig,
    NodeTransformerConfig,
)
from tammes.spectral.sign_equivariant import SignEquivariantNet, link_features
from tammes.spectral.signnet import SignNet
from tammes.spectral.universal import ExpressiveBasisNet, UnconstrainedBasisNet, UnconstrainedSignNet

__all__ = [
    "GIN",
    "IGN",
    "AmbiguousEigenspaces",
    "BasisNet",
    "Combinatorial",
    "ConcatenatedConfig",
    "Copies",
    "Dense",
    "Eigenpairs",
    "Eigenspaces",
    "EigenvectorSetsConfig",
    "EigenvectorTransformerConfig",
    "ElementwiseConfig",
    "ExpressiveBasisNet",
    "Factored",
    "GINConfig",
    "Groups",
    "IGNConfig",
    "Laplacian",
    "MatrixToMatrix",
    "MatrixToVector",
    "MeshLaplacian",
    "NodeSetsConfig",
    "NodeTransformerConfig",
    "Nodes",
    "Phi",
    "PhiConfig",
    "ProjectorBasisNet",
    "Projectors",
    "RandomWalk",
    "RelativeGap",
    "Rho",
    "RhoConfig",
    "SignEquivariantNet",
    "SignNet",
    "SummedConfig",
    "Symmetric",
    "TensorToTensor",
    "UnconstrainedBasisNet",
    "UnconstrainedSignNet",
    "VectorToMatrix",
    "VectorToVector",
    "bell_number",
    "eigenpairs",
    "eigenvector_mask",
    "keep_freed_memory",
    "laplacian_matrix",
    "link_features",
    "set_partitions",
]
