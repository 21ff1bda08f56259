"""DeepSets, as phi on the nodes of a graph, and as rho on the eigenvectors of a node."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tammes.checks import check_integer
from tammes.spectral.copies import Copies
from tammes.spectral.groups import Groups
from tammes.spectral.layers import SharedDropout, check_share
from tammes.spectral.phi import Phi, PhiConfig, Rho, RhoConfig


class SetLayer(nn.Module):
    """h_j := A h_j + B mean(h) + c: the linear maps of sets.

    Args:
        inputs: channels of an element.
        outputs: channels of an element afterwards.

    Source: Zaheer et al., Deep Sets, 2017, eq. 4.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.own = nn.Linear(inputs, outputs)
        self.all = nn.Linear(inputs, outputs, bias=False)

    def forward(
        self, values: Float[Tensor, "rows *any inputs"], groups: Groups
    ) -> Float[Tensor, "rows *any outputs"]:
        return self.own(values) + self.all(groups.mean(values))[groups.of]


class SetLayers(nn.Module):
    """Set layers with ReLU (and dropout) between them."""

    def __init__(self, *, inputs: int, width: int, outputs: int, layers: int, dropout: float) -> None:
        super().__init__()
        widths = [inputs] + [width] * (layers - 1) + [outputs]
        self.layers = nn.ModuleList(SetLayer(*pair) for pair in pairwise(widths))
        self.dropout = SharedDropout(dropout)

    def forward(
        self, values: Float[Tensor, "rows *any inputs"], groups: Groups
    ) -> Float[Tensor, "rows *any outputs"]:
        values = self.layers[0](values, groups)
        for layer in self.layers[1:]:
            values = layer(self.dropout(values.relu()), groups)
        return values


class NodeSets(Phi):
    """phi by set layers on the nodes of a graph. Arguments are those of `NodeSetsConfig`, and the inputs."""

    def __init__(self, *, inputs: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.outputs = width
        self.sets = SetLayers(inputs=inputs, width=width, outputs=width, layers=layers, dropout=dropout)

    def forward(
        self, signals: Float[Tensor, "rows signs inputs"], copies: Copies
    ) -> Float[Tensor, "rows signs outputs"]:
        pieces = copies.pieces()
        parts = zip(signals.split([piece.rows for piece in pieces]), pieces, strict=True)
        return torch.cat([self.sets(part, piece.by_eigenvector) for part, piece in parts])


@dataclass(frozen=True, kw_only=True)
class NodeSetsConfig(PhiConfig):
    """Settings of a `NodeSets`; the edges of the graph are not seen.

    Raises:
        ValueError: for a width or a number of layers below 1, or a share outside [0, 1).

    Example:
        >>> NodeSetsConfig(width=8).build(1).outputs
        8
    """

    width: int = 64
    """Channels of the hidden layers and of the output."""

    layers: int = 3
    """Set layers."""

    dropout: float = 0.0
    """Share of hidden channels that are dropped in training."""

    def __post_init__(self) -> None:
        check_integer("width", self.width)
        check_integer("layers", self.layers)
        check_share("dropout", self.dropout)

    def build(self, inputs: int) -> NodeSets:
        """See `PhiConfig.build`."""
        return NodeSets(inputs=inputs, width=self.width, layers=self.layers, dropout=self.dropout)


class EigenvectorSets(Rho):
    """rho by set layers on the eigenvectors of a node, then their mean, then a linear map."""

    def __init__(self, *, inputs: int, width: int, outputs: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.outputs = outputs
        self.sets = SetLayers(inputs=inputs, width=width, outputs=width, layers=layers, dropout=dropout)
        self.last = nn.Linear(width, outputs)

    def forward(
        self, encoded: Float[Tensor, "rows inputs"], copies: Copies
    ) -> Float[Tensor, "nodes outputs"]:
        groups = copies.by_node
        return self.last(groups.mean(self.sets(encoded, groups).relu()))


@dataclass(frozen=True, kw_only=True)
class EigenvectorSetsConfig(RhoConfig):
    """Settings of an `EigenvectorSets`; any number of eigenvectors, whose order does not matter.

    Raises:
        ValueError: for a width or a number of layers below 1, or a share outside [0, 1).

    Example:
        >>> EigenvectorSetsConfig(width=8).build(4, 2).outputs
        2
    """

    width: int = 64
    """Channels of the hidden layers."""

    layers: int = 2
    """Set layers."""

    dropout: float = 0.0
    """Share of hidden channels that are dropped in training."""

    def __post_init__(self) -> None:
        check_integer("width", self.width)
        check_integer("layers", self.layers)
        check_share("dropout", self.dropout)

    def build(self, inputs: int, outputs: int) -> EigenvectorSets:
        """See `RhoConfig.build`."""
        return EigenvectorSets(
            inputs=inputs, width=self.width, outputs=outputs, layers=self.layers, dropout=self.dropout
        )
