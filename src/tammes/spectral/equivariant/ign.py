"""Invariant graph networks (IGN) of order 2: equivariant layers from matrices to vectors over nodes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from tammes.checks import check_integer
from tammes.spectral.equivariant.linear import MatrixToMatrix, MatrixToVector, VectorToMatrix, VectorToVector
from tammes.spectral.equivariant.matrices import Dense, Matrices, Nodes


@dataclass(frozen=True, kw_only=True)
class IGNConfig:
    """Widths of the layers of an `IGN`.

    Args:
        matrix: channels of each layer from matrices to matrices; none by default, as in the paper's
            experiments, and then no n-by-n matrix is ever made.
        vector: channels of the layer from matrices to vectors, and of the layers from vectors to vectors
            after it; the last is the width of the result.

    Raises:
        ValueError: for fewer than one channel, or no layer to vectors.

    Example:
        >>> IGNConfig(matrix=(8,), vector=(32, 16)).dim
        16
    """

    matrix: tuple[int, ...] = ()
    vector: tuple[int, ...] = (32, 32, 32)

    def __post_init__(self) -> None:
        for name, widths in (("matrix", self.matrix), ("vector", self.vector)):
            if not isinstance(widths, tuple):
                raise ValueError(f"{name} must be a tuple of widths, one for each layer, got {widths!r}")
            for width in widths:
                check_integer(f"each width in {name}", width)
        if not self.vector:
            raise ValueError("vector must have at least one width: the result is one vector for each node")

    @property
    def dim(self) -> int:
        """Number of channels of the result."""
        return self.vector[-1]


class IGN(nn.Module):
    """Equivariant network from a matrix over pairs of nodes to a vector for each node.

    A ReLU follows each layer but the last. Node features enter the first matrix layer through
    `VectorToMatrix`, and the first vector layer through `VectorToVector`.

    Args:
        config: widths of the layers.
        inputs: channels of the matrices.
        constants: numbers given with each matrix, inputs of the first layer.
        features: channels of node features given with each matrix.

    Source: Maron et al. (2019); Robinson (2023), eq. 7.4 and E.11.3.

    Example:
        >>> from tammes.spectral import Factored, Nodes
        >>> nodes = Nodes(sizes=(3,))
        >>> network = IGN(IGNConfig(matrix=(4,), vector=(8, 2)), inputs=1)
        >>> network(Factored(left=torch.ones(1, 1, 3, 1), nodes=nodes), nodes).shape
        torch.Size([1, 2, 3])
    """

    def __init__(self, config: IGNConfig, *, inputs: int, constants: int = 0, features: int = 0) -> None:
        super().__init__()
        check_integer("inputs", inputs)
        check_integer("constants", constants, minimum=0)
        check_integer("features", features, minimum=0)
        self.config = config
        widths = (inputs, *config.matrix)
        self.matrix = nn.ModuleList(
            MatrixToMatrix(before, after, 0 if place else constants)
            for place, (before, after) in enumerate(pairwise(widths))
        )
        self.entrance = VectorToMatrix(features, widths[1]) if features and config.matrix else None
        self.collect = MatrixToVector(widths[-1], config.vector[0], 0 if config.matrix else constants)
        self.features = VectorToVector(features, config.vector[0]) if features else None
        self.vector = nn.ModuleList(
            VectorToVector(before, after) for before, after in pairwise(config.vector)
        )

    @override
    def forward(
        self,
        x: Matrices,
        nodes: Nodes,
        constants: Float[Tensor, "batch constants"] | None = None,
        features: Float[Tensor, "batch features n"] | None = None,
    ) -> Float[Tensor, "batch outputs n"]:
        for place, layer in enumerate(self.matrix):
            entries = layer(x, nodes, None if place else constants)
            if place == 0 and self.entrance is not None:
                entries = self.entrance(features, nodes, entries)
            x = Dense(entries=torch.relu_(entries), nodes=nodes)
        vectors = self.collect(x, nodes, None if self.config.matrix else constants)
        if self.features is not None:
            vectors = vectors + self.features(features, nodes)
        for layer in self.vector:
            vectors = layer(torch.relu(vectors), nodes)
        return vectors
