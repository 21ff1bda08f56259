"""Graph isomorphism network as phi, on each eigenvector's copy of the graph."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from tammes.spectral.copies import Copies
from tammes.spectral.layers import MLP, NormalizedReLU, SharedDropout, check_sizes
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
        for layer in self.layers:
            signals = layer(signals, copies)
        return signals


class _Layer(nn.Module):
    """One step to the neighbors; normalization, ReLU and dropout follow each but the last."""

    def __init__(self, config: GINConfig, inputs: int, *, last: bool) -> None:
        super().__init__()
        width, normalize = config.width, config.normalize
        relu = NormalizedReLU(width) if normalize else nn.ReLU(inplace=True)
        self.mlp = MLP([inputs, width, width], normalize=normalize, bias=last or not normalize)
        self.normalize = nn.Identity() if last else relu
        self.dropout = SharedDropout(0.0 if last else config.dropout)

    def forward(self, signals: Tensor, copies: Copies) -> Tensor:
        return self.dropout(self.normalize(self.mlp(copies.neighborhood_sum(signals))))


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
