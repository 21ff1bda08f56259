"""Multilayer perceptrons as phi, on each node by itself, and as rho, on a node's eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_integer
from tammes.spectral.batches import check_columns
from tammes.spectral.copies import Copies
from tammes.spectral.layers import PerceptronSizes
from tammes.spectral.phi import Phi, PhiConfig, Rho, RhoConfig


class Elementwise(Phi):
    """phi(v)_j = MLP(v_j).

    A SignNet with it can do no more than a network on |v_1|, ..., |v_k| (Robinson, 2023, E.2.3).

    Args:
        config: settings.
        inputs: channels of a signal.
    """

    def __init__(self, config: ElementwiseConfig, inputs: int) -> None:
        super().__init__()
        self.outputs = config.width
        self.mlp = config.perceptron(inputs, config.width)

    @override
    def forward(
        self, signals: Float[Tensor, "rows signs inputs"], copies: Copies
    ) -> Float[Tensor, "rows signs outputs"]:
        return self.mlp(signals)


@dataclass(frozen=True, kw_only=True)
class ElementwiseConfig(PerceptronSizes, PhiConfig):
    """Settings of an `Elementwise`.

    Raises:
        ValueError: for a width or a number of layers below 1, or a share outside [0, 1).

    Example:
        >>> ElementwiseConfig(width=8).build(1).outputs
        8
    """

    layers: int = 2
    """Number of linear layers."""

    normalize: bool = False
    """Whether hidden layers are normalized by the batch."""

    @override
    def build(self, inputs: int) -> Elementwise:
        return Elementwise(self, inputs)


class Concatenated(Rho):
    """MLP([h_1, ..., h_k]), with zeros for the eigenvectors that a graph lacks.

    Args:
        config: settings.
        inputs: channels of one eigenvector.
        outputs: channels of an encoding.

    Raises:
        ValueError: when called with another number of columns than `config.eigenvectors`.
    """

    def __init__(self, config: ConcatenatedConfig, inputs: int, outputs: int) -> None:
        super().__init__()
        self.outputs = outputs
        self.eigenvectors = config.eigenvectors
        self.mlp = config.perceptron(config.eigenvectors * inputs, outputs)

    @override
    def forward(
        self, encoded: Float[Tensor, "rows inputs"], copies: Copies
    ) -> Float[Tensor, "nodes outputs"]:
        nodes, columns = copies.row.shape
        check_columns(columns, self.eigenvectors)
        empty = encoded.new_zeros(nodes * columns, encoded.shape[1])
        side_by_side = empty.index_copy(0, copies.node * columns + copies.column, encoded)
        return self.mlp(side_by_side.view(nodes, -1))


@dataclass(frozen=True, kw_only=True)
class ConcatenatedConfig(PerceptronSizes, RhoConfig):
    """Settings of a `Concatenated`. The thesis uses 8 layers on molecules, for a fixed k.

    Raises:
        ValueError: for sizes below 1, or a share outside [0, 1).

    Example:
        >>> ConcatenatedConfig(eigenvectors=3).build(4, 2).outputs
        2
    """

    eigenvectors: int
    """Number of columns of eigenvectors, k."""

    def __post_init__(self) -> None:
        check_integer("eigenvectors", self.eigenvectors)
        super().__post_init__()

    @override
    def build(self, inputs: int, outputs: int) -> Concatenated:
        return Concatenated(self, inputs, outputs)


class Summed(Rho):
    """MLP(h_1 + ... + h_k), for any number of eigenvectors.

    Args:
        config: settings.
        inputs: channels of one eigenvector.
        outputs: channels of an encoding.
    """

    def __init__(self, config: SummedConfig, inputs: int, outputs: int) -> None:
        super().__init__()
        self.outputs = outputs
        self.mlp = config.perceptron(inputs, outputs)

    @override
    def forward(
        self, encoded: Float[Tensor, "rows inputs"], copies: Copies
    ) -> Float[Tensor, "nodes outputs"]:
        return self.mlp(copies.by_node.sum(encoded))


@dataclass(frozen=True, kw_only=True)
class SummedConfig(PerceptronSizes, RhoConfig):
    """Settings of a `Summed`, which the thesis uses on molecules for all eigenvectors (E.11.2).

    Raises:
        ValueError: for sizes below 1, or a share outside [0, 1).

    Example:
        >>> SummedConfig(width=8).build(4, 2).outputs
        2
    """

    @override
    def build(self, inputs: int, outputs: int) -> Summed:
        return Summed(self, inputs, outputs)
