"""DeepSets as phi, on the nodes of a graph, and as rho, on the eigenvectors of a node."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from tammes.spectral.copies import Copies, Groups
from tammes.spectral.layers import SharedDropout, check_sizes
from tammes.spectral.phi import Phi, PhiConfig, Rho, RhoConfig


class SetLayer(nn.Module):
    """h_j := A h_j + B mean(h) + c: the linear maps of sets.

    Args:
        inputs: channels of an element before the layer.
        outputs: channels of an element after it.

    Source: Zaheer et al., Deep Sets, 2017, eq. 4.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.own = nn.Linear(inputs, outputs)
        self.all = nn.Linear(inputs, outputs, bias=False)

    @override
    def forward(
        self, values: Float[Tensor, "rows *any inputs"], groups: Groups
    ) -> Float[Tensor, "rows *any outputs"]:
        return self.own(values) + self.all(groups.mean(values))[groups.of]


class SetLayers(nn.Module):
    """Set layers with ReLU and dropout between them, from `inputs` channels to the width of the settings."""

    def __init__(self, config: NodeSetsConfig | EigenvectorSetsConfig, inputs: int) -> None:
        super().__init__()
        widths = [inputs] + [config.width] * config.layers
        self.layers = nn.ModuleList(SetLayer(*pair) for pair in pairwise(widths))
        self.dropout = SharedDropout(config.dropout)

    @override
    def forward(
        self, values: Float[Tensor, "rows *any inputs"], groups: Groups
    ) -> Float[Tensor, "rows *any outputs"]:
        values = self.layers[0](values, groups)
        for layer in self.layers[1:]:
            values = layer(self.dropout(values.relu()), groups)
        return values


class NodeSets(Phi):
    """phi by set layers on the nodes of a graph.

    Args:
        config: settings.
        inputs: channels of a signal.
    """

    def __init__(self, config: NodeSetsConfig, inputs: int) -> None:
        super().__init__()
        self.outputs = config.width
        self.sets = SetLayers(config, inputs)

    @override
    def forward(
        self, signals: Float[Tensor, "rows signs inputs"], copies: Copies
    ) -> Float[Tensor, "rows signs outputs"]:
        pieces = copies.pieces()
        parts = zip(signals.split([piece.rows for piece in pieces]), pieces, strict=True)
        return torch.cat([self.sets(part, piece.by_eigenvector) for part, piece in parts])


@dataclass(frozen=True, kw_only=True)
class NodeSetsConfig(PhiConfig):
    """Settings of a `NodeSets`, which does not see the edges of the graph.

    Raises:
        ValueError: for a width or a number of layers below 1, or a share outside [0, 1).

    Example:
        >>> NodeSetsConfig(width=8).build(1).outputs
        8
    """

    width: int = 64
    """Channels of the hidden layers and of the output."""

    layers: int = 3
    """Number of set layers."""

    dropout: float = 0.0
    """Share of hidden channels that are dropped in training."""

    def __post_init__(self) -> None:
        check_sizes(width=self.width, layers=self.layers, dropout=self.dropout)

    @override
    def build(self, inputs: int) -> NodeSets:
        return NodeSets(self, inputs)


class EigenvectorSets(Rho):
    """rho by set layers on the eigenvectors of a node, then their mean, then a linear map.

    Args:
        config: settings.
        inputs: channels of one eigenvector.
        outputs: channels of an encoding.
    """

    def __init__(self, config: EigenvectorSetsConfig, inputs: int, outputs: int) -> None:
        super().__init__()
        self.outputs = outputs
        self.sets = SetLayers(config, inputs)
        self.last = nn.Linear(config.width, outputs)

    @override
    def forward(
        self, encoded: Float[Tensor, "rows inputs"], copies: Copies
    ) -> Float[Tensor, "nodes outputs"]:
        groups = copies.by_node
        return self.last(groups.mean(self.sets(encoded, groups).relu()))


@dataclass(frozen=True, kw_only=True)
class EigenvectorSetsConfig(RhoConfig):
    """Settings of an `EigenvectorSets`, for any number of eigenvectors, whose order does not matter.

    Raises:
        ValueError: for a width or a number of layers below 1, or a share outside [0, 1).

    Example:
        >>> EigenvectorSetsConfig(width=8).build(4, 2).outputs
        2
    """

    width: int = 64
    """Channels of the hidden layers."""

    layers: int = 2
    """Number of set layers."""

    dropout: float = 0.0
    """Share of hidden channels that are dropped in training."""

    def __post_init__(self) -> None:
        check_sizes(width=self.width, layers=self.layers, dropout=self.dropout)

    @override
    def build(self, inputs: int, outputs: int) -> EigenvectorSets:
        return EigenvectorSets(self, inputs, outputs)
