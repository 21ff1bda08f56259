"""The parts of a SignNet: phi, on signals on graphs, and rho, on the eigenvectors of a node."""

from __future__ import annotations

from abc import ABC, abstractmethod

from jaxtyping import Float
from torch import Tensor, nn

from tammes.spectral.copies import Copies


class Phi(nn.Module):
    """phi: a network on signals on graphs that treats eigenvectors one by one, and all nodes alike.

    A subclass sets `outputs`, the number of channels of its output. It gets all eigenvectors of a batch at
    once. Where nodes see nothing of other graphs it may process `copies.pieces()` one after the other.
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
