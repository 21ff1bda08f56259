"""rho as a multilayer perceptron on a node: of its eigenvectors side by side, or of their sum."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_integer
from tammes.spectral.copies import Copies
from tammes.spectral.layers import MLP, check_share
from tammes.spectral.phi import Rho, RhoConfig


class Concatenated(Rho):
    """MLP([h_1, ..., h_k]), where eigenvectors that a graph does not have count as zeros.

    Arguments are those of `ConcatenatedConfig`, and the channels of one eigenvector and of the output.

    Raises:
        ValueError: when called with another number of columns than `eigenvectors`.
    """

    def __init__(
        self,
        *,
        inputs: int,
        outputs: int,
        eigenvectors: int,
        width: int,
        layers: int,
        normalize: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        self.outputs = outputs
        self.eigenvectors = eigenvectors
        widths = [eigenvectors * inputs] + [width] * (layers - 1) + [outputs]
        self.mlp = MLP(widths, normalize=normalize, dropout=dropout)

    def forward(
        self, encoded: Float[Tensor, "rows inputs"], copies: Copies
    ) -> Float[Tensor, "nodes outputs"]:
        nodes, columns = copies.row.shape
        if columns != self.eigenvectors:
            raise ValueError(
                f"expected {self.eigenvectors} columns of eigenvectors, as this network was made for, got "
                f"{columns}; take as many, or a rho for any number of them (SummedConfig, "
                "EigenvectorSetsConfig, EigenvectorTransformerConfig)"
            )
        empty = encoded.new_zeros(nodes * columns, encoded.shape[1])
        side_by_side = empty.index_copy(0, copies.node * columns + copies.column, encoded)
        return self.mlp(side_by_side.view(nodes, -1))


@dataclass(frozen=True, kw_only=True)
class ConcatenatedConfig(RhoConfig):
    """Settings of a `Concatenated`. The thesis takes 8 layers on molecules, for a fixed k.

    Raises:
        ValueError: for sizes below 1, or a share outside [0, 1).

    Example:
        >>> ConcatenatedConfig(eigenvectors=3).build(4, 2).outputs
        2
    """

    eigenvectors: int
    """How many columns of eigenvectors there are, k."""

    width: int = 64
    """Channels of the hidden layers."""

    layers: int = 3
    """Linear layers."""

    normalize: bool = True
    """Whether hidden layers are normalized by the batch."""

    dropout: float = 0.0
    """Share of hidden channels that are dropped in training."""

    def __post_init__(self) -> None:
        check_integer("eigenvectors", self.eigenvectors)
        check_integer("width", self.width)
        check_integer("layers", self.layers)
        check_share("dropout", self.dropout)

    def build(self, inputs: int, outputs: int) -> Concatenated:
        """See `RhoConfig.build`."""
        return Concatenated(
            inputs=inputs,
            outputs=outputs,
            eigenvectors=self.eigenvectors,
            width=self.width,
            layers=self.layers,
            normalize=self.normalize,
            dropout=self.dropout,
        )


class Summed(Rho):
    """MLP(h_1 + ... + h_k), for any number of eigenvectors.

    Arguments are those of `SummedConfig`, and the channels of one eigenvector and of the output.
    """

    def __init__(
        self, *, inputs: int, outputs: int, width: int, layers: int, normalize: bool, dropout: float
    ) -> None:
        super().__init__()
        self.outputs = outputs
        widths = [inputs] + [width] * (layers - 1) + [outputs]
        self.mlp = MLP(widths, normalize=normalize, dropout=dropout)

    def forward(
        self, encoded: Float[Tensor, "rows inputs"], copies: Copies
    ) -> Float[Tensor, "nodes outputs"]:
        return self.mlp(copies.by_node.sum(encoded))


@dataclass(frozen=True, kw_only=True)
class SummedConfig(RhoConfig):
    """Settings of a `Summed`, which the thesis takes on molecules for all eigenvectors (E.11.2).

    Raises:
        ValueError: for sizes below 1, or a share outside [0, 1).

    Example:
        >>> SummedConfig(width=8).build(4, 2).outputs
        2
    """

    width: int = 64
    """Channels of the hidden layers."""

    layers: int = 3
    """Linear layers."""

    normalize: bool = True
    """Whether hidden layers are normalized by the batch."""

    dropout: float = 0.0
    """Share of hidden channels that are dropped in training."""

    def __post_init__(self) -> None:
        check_integer("width", self.width)
        check_integer("layers", self.layers)
        check_share("dropout", self.dropout)

    def build(self, inputs: int, outputs: int) -> Summed:
        """See `RhoConfig.build`."""
        return Summed(
            inputs=inputs,
            outputs=outputs,
            width=self.width,
            layers=self.layers,
            normalize=self.normalize,
            dropout=self.dropout,
        )
