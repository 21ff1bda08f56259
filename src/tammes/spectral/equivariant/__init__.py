"""Linear maps between matrices, vectors and tensors over nodes that are equivariant to permutations."""

from tammes.spectral.equivariant.ign import IGN, IGNConfig
from tammes.spectral.equivariant.linear import MatrixToMatrix, MatrixToVector, VectorToMatrix, VectorToVector
from tammes.spectral.equivariant.matrices import Dense, Factored, Matrices, Nodes
from tammes.spectral.equivariant.tensors import TensorToTensor, bell_number, set_partitions

__all__ = [
    "IGN",
    "Dense",
    "Factored",
    "IGNConfig",
    "Matrices",
    "MatrixToMatrix",
    "MatrixToVector",
    "Nodes",
    "TensorToTensor",
    "VectorToMatrix",
    "VectorToVector",
    "bell_number",
    "set_partitions",
]
