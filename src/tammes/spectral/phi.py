"""The parts of a SignNet: phi, on signals on graphs, and rho, on the eigenvectors of a node."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from tammes.spectral.copies import Copies, Groups


class Phi(nn.Module):
    """phi: a network on signals on graphs that treats eigenvectors one by one, and all nodes alike.

    A subclass sets `outputs`, the number of channels of its output. It gets all eigenvectors of a batch at
    once.
    """

    outputs: int

    def forward(
        self, signals: Float[Tensor, "rows signs inputs"], copies: Copies
    ) -> Float[Tensor, "rows signs outputs"]:
        """Return phi(v) and phi(-v), which must not depend on each other.

        Args:
            signals: channels of each row of `copies`, for v and, where `signs` is 2, for -v.
            copies: eigenvector and neighbors of each row.
        """
        raise NotImplementedError


class NodeLayers(Phi):
    """phi by layers that mix the nodes of a graph, for each eigenvector and sign apart.

    Args:
        layers: network from `(rows, ..., inputs)` values and their groups to `(rows, ..., outputs)`.
        outputs: channels of its output.
    """

    def __init__(self, layers: nn.Module, outputs: int) -> None:
        super().__init__()
        self.outputs = outputs
        self.layers = layers

    @override
    def forward(
        self, signals: Float[Tensor, "rows signs inputs"], copies: Copies
    ) -> Float[Tensor, "rows signs outputs"]:
        return self.layers(signals, _sets(copies))


@torch.compiler.disable  # type: ignore[untyped-decorator]  # the sizes of the sets are numbers
def _sets(copies: Copies) -> Groups:
    return copies.by_eigenvector


class Rho(nn.Module):
    """rho: a network on phi's outputs for all eigenvectors of a node. A subclass sets `outputs`."""

    outputs: int

    def forward(
        self, encoded: Float[Tensor, "rows inputs"], copies: Copies
    ) -> Float[Tensor, "nodes outputs"]:
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
        last: map of the means, from `(nodes, width)` to `(nodes, outputs)`.
        outputs: channels of an encoding.
    """

    def __init__(self, layers: nn.Module, last: nn.Module, outputs: int) -> None:
        super().__init__()
        self.outputs = outputs
        self.layers, self.last = layers, last

    @override
    def forward(
        self, encoded: Float[Tensor, "rows inputs"], copies: Copies
    ) -> Float[Tensor, "nodes outputs"]:
        groups = copies.by_node
        return self.last(groups.mean(self.layers(encoded, groups)))


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
