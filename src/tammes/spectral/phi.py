"""The parts of a SignNet: phi, on signals on graphs, and rho, on the eigenvectors of a node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeVar

from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from tammes.checks import check_integer
from tammes.spectral.batches import check_columns
from tammes.spectral.copies import Copies
from tammes.spectral.layers import MLP, NormalizedReLU, PerceptronSizes, SharedDropout, Sizes

Signals = Float[Tensor, "rows signs _"]
"""Channels of each row of `Copies`, for v and, where `signs` is 2, for -v."""


class Phi(nn.Module):
    """phi: a network on signals on graphs that treats eigenvectors one by one, and all nodes alike.

    A subclass sets `outputs`, the number of channels of its output, and perhaps `reads_edges`. It gets all
    eigenvectors of a batch at once.
    """

    outputs: int
    reads_edges: bool = True
    """Whether it sums over neighbors; else their lists are not made before it is called."""

    def forward(self, signals: Signals, copies: Copies) -> Signals:
        """Return phi(v) and phi(-v), which must not depend on each other.

        Args:
            signals: input channels of each row of `copies`.
            copies: eigenvector and neighbors of each row.
        """
        raise NotImplementedError


class NodeLayers(Phi):
    """phi by layers that mix the nodes of a graph, for each eigenvector and sign apart.

    Args:
        layers: network from `(rows, ..., inputs)` values and their groups to `(rows, ..., outputs)`.
        outputs: channels of its output.
    """

    reads_edges = False

    def __init__(self, layers: nn.Module, outputs: int) -> None:
        super().__init__()
        self.outputs = outputs
        self.layers = layers

    @override
    def forward(self, signals: Signals, copies: Copies) -> Signals:
        return self.layers(signals, copies.by_eigenvector)


class Rho(nn.Module):
    """rho: a network on phi's outputs for all eigenvectors of a node."""

    def forward(self, encoded: Float[Tensor, "rows inputs"], copies: Copies) -> Float[Tensor, "nodes dim"]:
        """Return the encoding of each node.

        Args:
            encoded: phi(v) + phi(-v) for each row of `copies`, perhaps with the eigenvalue.
            copies: node and column of each row.
        """
        raise NotImplementedError


class EigenvectorLayers(Rho):
    """rho by layers that mix the eigenvectors of a node, then their mean, then a last map.

    Args:
        layers: network from `(rows, inputs)` values and their groups to `(rows, width)`.
        last: map of the means, from `(nodes, width)` to `(nodes, dim)`.
    """

    def __init__(self, layers: nn.Module, last: nn.Module) -> None:
        super().__init__()
        self.layers, self.last = layers, last

    @override
    def forward(self, encoded: Float[Tensor, "rows inputs"], copies: Copies) -> Float[Tensor, "nodes dim"]:
        groups = copies.by_node
        return self.last(groups.mean(self.layers(encoded, groups)))


_Config = TypeVar("_Config")


class PhiConfig(ABC):
    """Settings of a `Phi`."""

    @abstractmethod
    def build(self, inputs: int) -> Phi:
        """Return the network for signals of `inputs` channels, with weights from torch's generator."""


class RhoConfig(ABC):
    """Settings of a `Rho`."""

    @abstractmethod
    def build(self, inputs: int, outputs: int) -> Rho:
        """Return the network from `inputs` to `outputs` channels, with weights from torch's generator."""


def part(name: str, given: _Config | None, kind: type[Any], default: _Config) -> _Config:
    """Return the settings that are given for a part of a network, or else the default ones.

    Raises:
        ValueError: for anything but settings of this kind.

    Example:
        >>> part("rho", None, RhoConfig, SummedConfig(width=8)).width
        8
    """
    if given is not None and not isinstance(given, kind):
        raise ValueError(f"expected {name} as settings, such as {default!r}, got a {type(given).__name__}")
    return given or default


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
    def forward(self, signals: Signals, copies: Copies) -> Signals:
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
class GINConfig(Sizes, PhiConfig):
    """Settings of a `GIN`. The thesis uses 8 layers on molecules, and 4 where it counts substructures.

    Raises:
        ValueError: for a width or a number of layers below 1, or a share outside [0, 1).

    Example:
        >>> GINConfig(width=8, layers=2).build(1).outputs
        8
    """

    layers: int = 4
    """Number of steps to neighbors, each with two linear maps."""

    normalize: bool = True
    """Whether layers are normalized by the batch."""

    @override
    def build(self, inputs: int) -> GIN:
        return GIN(self, inputs)


class Elementwise(Phi):
    """phi(v)_j = MLP(v_j).

    A SignNet with it can do no more than a network on |v_1|, ..., |v_k| (Robinson, 2023, E.2.3).

    Args:
        config: settings.
        inputs: channels of a signal.
    """

    reads_edges = False

    def __init__(self, config: ElementwiseConfig, inputs: int) -> None:
        super().__init__()
        self.outputs = config.width
        self.mlp = config.perceptron(inputs, config.width)

    @override
    def forward(self, signals: Signals, copies: Copies) -> Signals:
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
        self.eigenvectors = config.eigenvectors
        self.mlp = config.perceptron(config.eigenvectors * inputs, outputs)

    @override
    def forward(self, encoded: Float[Tensor, "rows inputs"], copies: Copies) -> Float[Tensor, "nodes dim"]:
        check_columns(copies.row.shape[1], self.eigenvectors)
        empty = encoded.new_zeros(*copies.row.shape, encoded.shape[1])
        side_by_side = empty.index_put((copies.node, copies.column), encoded)
        return self.mlp(side_by_side.flatten(1))


@dataclass(frozen=True, kw_only=True)
class ConcatenatedConfig(PerceptronSizes, RhoConfig):
    """Settings of a `Concatenated`. The thesis uses 8 layers on molecules, for a fixed k.

    Raises:
        ValueError: for sizes below 1, or a share outside [0, 1).

    Example:
        >>> len(ConcatenatedConfig(eigenvectors=3, layers=8, normalize=False).build(4, 2).mlp.layers)
        15
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
        self.mlp = config.perceptron(inputs, outputs)

    @override
    def forward(self, encoded: Float[Tensor, "rows inputs"], copies: Copies) -> Float[Tensor, "nodes dim"]:
        return self.mlp(copies.by_node.sum(encoded))


@dataclass(frozen=True, kw_only=True)
class SummedConfig(PerceptronSizes, RhoConfig):
    """Settings of a `Summed`, which the thesis uses on molecules for all eigenvectors (E.11.2).

    Raises:
        ValueError: for sizes below 1, or a share outside [0, 1).

    Example:
        >>> SummedConfig(width=8).build(4, 2).mlp.layers[0]
        Linear(in_features=4, out_features=8, bias=False)
    """

    @override
    def build(self, inputs: int, outputs: int) -> Summed:
        return Summed(self, inputs, outputs)
