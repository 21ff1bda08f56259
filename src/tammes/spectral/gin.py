"""phi as a graph isomorphism network on each eigenvector's copy of the graph."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tammes.checks import check_integer
from tammes.spectral.copies import Copies
from tammes.spectral.layers import MLP, SharedDropout, check_share
from tammes.spectral.normalization import NormalizedReLU
from tammes.spectral.phi import Phi, PhiConfig


class GIN(Phi):
    """h_j := MLP(h_j + sum of h over the neighbors of j), layer by layer, from h = v.

    Arguments are those of `GINConfig`, and the channels of the input.

    Source: Xu et al., How Powerful are Graph Neural Networks?, 2019, eq. 4.1 with epsilon = 0, their GIN-0.
    """

    def __init__(self, *, inputs: int, width: int, layers: int, normalize: bool, dropout: float) -> None:
        super().__init__()
        self.outputs = width
        widths = [inputs] + [width] * (layers - 1)
        self.layers = nn.ModuleList(
            _Layer(channels, width, normalize, dropout, last=number == layers - 1)
            for number, channels in enumerate(widths)
        )

    def forward(
        self, signals: Float[Tensor, "rows signs inputs"], copies: Copies
    ) -> Float[Tensor, "rows signs outputs"]:
        pieces = copies.pieces()
        parts = list(signals.split([piece.rows for piece in pieces]))
        for layer in self.layers:
            parts = layer(parts, pieces)
        return torch.cat(parts)


class _Layer(nn.Module):
    """One step; all but the last end with normalization, ReLU and dropout."""

    def __init__(self, inputs: int, width: int, normalize: bool, dropout: float, *, last: bool) -> None:
        super().__init__()
        self.mlp = MLP([inputs, width, width], normalize=normalize, bias=last or not normalize)
        self.normalize = NormalizedReLU(width) if normalize and not last else None
        self.dropout = SharedDropout(dropout)
        self.last = last

    def forward(self, signals: list[Tensor], pieces: list[Copies]) -> list[Tensor]:
        around = [piece.neighborhood_sum(own) for own, piece in zip(signals, pieces, strict=True)]
        signals = self.mlp.on_pieces(around, then=self.normalize)
        if self.last:
            return signals
        if self.normalize is None:
            signals = [own.relu_() for own in signals]
        return [self.dropout(own) for own in signals]


@dataclass(frozen=True, kw_only=True)
class GINConfig(PhiConfig):
    """Settings of a `GIN`. The thesis takes 8 layers on molecules, and 4 where it counts substructures.

    Raises:
        ValueError: for a width or a number of layers below 1, or a share outside [0, 1).

    Example:
        >>> GINConfig(width=8, layers=2).build(1).outputs
        8
    """

    width: int = 64
    """Channels of all layers and of the output."""

    layers: int = 4
    """Steps to neighbors, each with two linear maps."""

    normalize: bool = True
    """Whether layers are normalized by the batch."""

    dropout: float = 0.0
    """Share of channels that are dropped after each layer but the last, in training."""

    def __post_init__(self) -> None:
        check_integer("width", self.width)
        check_integer("layers", self.layers)
        check_share("dropout", self.dropout)

    def build(self, inputs: int) -> GIN:
        """See `PhiConfig.build`."""
        return GIN(
            inputs=inputs,
            width=self.width,
            layers=self.layers,
            normalize=self.normalize,
            dropout=self.dropout,
        )
