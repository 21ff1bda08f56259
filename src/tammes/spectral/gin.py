"""Graph isomorphism network as phi, on each eigenvector's copy of the graph."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from tammes.spectral.copies import Copies
from tammes.spectral.layers import MLP, SharedDropout, check_sizes
from tammes.spectral.normalization import NormalizedReLU
from tammes.spectral.phi import Phi, PhiConfig


class GIN(Phi):
    """h_j := MLP(h_j + sum of h over the neighbors of j), layer by layer, from h = v.

    Args:
        config: settings.
        inputs: channels of a signal.

    Source: Xu et al., How Powerful are Graph Neural Networks?, 2019, eq. 4.1 with epsilon = 0, their GIN-0.
    """

    def __init__(self, config: GINConfig, inputs: int) -> None:
        super().__init__()
        self.outputs = config.width
        widths = [inputs] + [config.width] * (config.layers - 1)
        self.layers = nn.ModuleList(
            _Layer(config, channels, last=number == config.layers)
            for number, channels in enumerate(widths, 1)
        )

    @override
    def forward(
        self, signals: Float[Tensor, "rows signs inputs"], copies: Copies
    ) -> Float[Tensor, "rows signs outputs"]:
        pieces = copies.pieces()
        parts = list(signals.split([piece.rows for piece in pieces]))
        for layer in self.layers:
            parts = layer(parts, pieces)
        return torch.cat(parts)


class _Layer(nn.Module):
    """One step to the neighbors; normalization, ReLU and dropout follow each but the last."""

    def __init__(self, config: GINConfig, inputs: int, *, last: bool) -> None:
        super().__init__()
        width, normalize = config.width, config.normalize
        self.mlp = MLP([inputs, width, width], normalize=normalize, bias=last or not normalize)
        self.normalize = NormalizedReLU(width) if normalize and not last else None
        self.dropout = SharedDropout(config.dropout)
        self.last = last

    def forward(self, signals: list[Tensor], pieces: list[Copies]) -> list[Tensor]:
        sums = [piece.neighborhood_sum(own) for own, piece in zip(signals, pieces, strict=True)]
        signals = self.mlp.on_pieces(sums, then=self.normalize)
        if self.last:
            return signals
        if self.normalize is None:
            signals = [own.relu_() for own in signals]
        return [self.dropout(own) for own in signals]


@dataclass(frozen=True, kw_only=True)
class GINConfig(PhiConfig):
    """Settings of a `GIN`. The thesis uses 8 layers on molecules, and 4 where it counts substructures.

    Raises:
        ValueError: for a width or a number of layers below 1, or a share outside [0, 1).

    Example:
        >>> GINConfig(width=8, layers=2).build(1).outputs
        8
    """

    width: int = 64
    """Channels of all layers and of the output."""

    layers: int = 4
    """Number of steps to neighbors, each with two linear maps."""

    normalize: bool = True
    """Whether layers are normalized by the batch."""

    dropout: float = 0.0
    """Share of channels that are dropped after each layer but the last, in training."""

    def __post_init__(self) -> None:
        check_sizes(width=self.width, layers=self.layers, dropout=self.dropout)

    @override
    def build(self, inputs: int) -> GIN:
        return GIN(self, inputs)
