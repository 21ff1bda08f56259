"""phi as a multilayer perceptron on each node by itself."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_integer
from tammes.spectral.copies import Copies
from tammes.spectral.layers import MLP, check_share
from tammes.spectral.phi import Phi, PhiConfig


class Elementwise(Phi):
    """phi(v)_j = MLP(v_j). Arguments are those of `ElementwiseConfig`, and the channels of the input.

    A SignNet of it can do no more than a network on |v_1|, ..., |v_k| (Robinson, 2023, E.2.3).
    """

    def __init__(self, *, inputs: int, width: int, layers: int, normalize: bool, dropout: float) -> None:
        super().__init__()
        self.outputs = width
        self.mlp = MLP([inputs] + [width] * layers, normalize=normalize, dropout=dropout)

    def forward(
        self, signals: Float[Tensor, "rows signs inputs"], copies: Copies
    ) -> Float[Tensor, "rows signs outputs"]:
        parts = signals.split([piece.rows for piece in copies.pieces()])
        return torch.cat(self.mlp.on_pieces(list(parts)))


@dataclass(frozen=True, kw_only=True)
class ElementwiseConfig(PhiConfig):
    """Settings of an `Elementwise`.

    Raises:
        ValueError: for a width or a number of layers below 1, or a share outside [0, 1).

    Example:
        >>> ElementwiseConfig(width=8).build(1).outputs
        8
    """

    width: int = 64
    """Channels of the hidden layers and of the output."""

    layers: int = 2
    """Linear layers."""

    normalize: bool = False
    """Whether hidden layers are normalized by the batch."""

    dropout: float = 0.0
    """Share of hidden channels that are dropped in training."""

    def __post_init__(self) -> None:
        check_integer("width", self.width)
        check_integer("layers", self.layers)
        check_share("dropout", self.dropout)

    def build(self, inputs: int) -> Elementwise:
        """See `PhiConfig.build`."""
        return Elementwise(
            inputs=inputs,
            width=self.width,
            layers=self.layers,
            normalize=self.normalize,
            dropout=self.dropout,
        )
