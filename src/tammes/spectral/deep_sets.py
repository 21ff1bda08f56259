"""DeepSets as phi, on the nodes of a graph, and as rho, on the eigenvectors of a node."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from tammes.spectral.copies import Groups
from tammes.spectral.layers import SharedDropout, check_sizes
from tammes.spectral.phi import EigenvectorLayers, NodeLayers, PhiConfig, RhoConfig


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
    """Set layers with ReLU and dropout between them, from `inputs` channels to the width of the settings.

    Args:
        config: settings.
        inputs: channels of an element.
        ends_with_relu: whether a ReLU follows the last layer too.
    """

    def __init__(
        self, config: NodeSetsConfig | EigenvectorSetsConfig, inputs: int, *, ends_with_relu: bool = False
    ) -> None:
        super().__init__()
        self.ends_with_relu = ends_with_relu
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
        return values.relu() if self.ends_with_relu else values


@dataclass(frozen=True, kw_only=True)
class NodeSetsConfig(PhiConfig):
    """Settings of set layers on the nodes of a graph, whose edges they do not see.

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
    def build(self, inputs: int) -> NodeLayers:
        return NodeLayers(SetLayers(self, inputs), self.width)


@dataclass(frozen=True, kw_only=True)
class EigenvectorSetsConfig(RhoConfig):
    """Settings of set layers on the eigenvectors of a node, any number of them in any order.

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
    def build(self, inputs: int, outputs: int) -> EigenvectorLayers:
        sets = SetLayers(self, inputs, ends_with_relu=True)
        return EigenvectorLayers(sets, nn.Linear(self.width, outputs), outputs)
