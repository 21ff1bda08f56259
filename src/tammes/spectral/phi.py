"""What phi and rho of a SignNet are: networks on the copies of a graph, and on what these make of a node."""

from __future__ import annotations

from abc import ABC, abstractmethod

from jaxtyping import Float
from torch import Tensor, nn

from tammes.spectral.copies import Copies


class Phi(nn.Module):
    """phi: a network on signals on graphs that treats eigenvectors one by one, and all nodes alike.

    A subclass sets `outputs`, the channels of its output. It gets all eigenvectors of a batch at once, and
    may take them in `copies.pieces()` where nodes see nothing of other graphs.
    """

    outputs: int

    def forward(
        self, signals: Float[Tensor, "rows signs inputs"], copies: Copies
    ) -> Float[Tensor, "rows signs outputs"]:
        """What phi makes of v and of -v, which must not see each other.

        Args:
            signals: for each row of `copies` those of v, then those of -v, if these are wanted.
            copies: which rows belong to one eigenvector, and which of these are neighbors.
        """
        raise NotImplementedError


class Rho(nn.Module):
    """rho: a network on all that phi made of a node's eigenvectors. A subclass sets `outputs`."""

    outputs: int

    def forward(
        self, encoded: Float[Tensor, "rows inputs"], copies: Copies
    ) -> Float[Tensor, "nodes outputs"]:
        """The encoding of each node.

        Args:
            encoded: phi(v) + phi(-v) for each row of `copies`, perhaps with the eigenvalue.
            copies: which rows belong to one node.
        """
        raise NotImplementedError


class PhiConfig(ABC):
    """Settings of a `Phi`."""

    @abstractmethod
    def build(self, inputs: int) -> Phi:
        """Build it for signals of so many channels, with weights from torch's generator."""


class RhoConfig(ABC):
    """Settings of a `Rho`."""

    @abstractmethod
    def build(self, inputs: int, outputs: int) -> Rho:
        """Build it from and to so many channels, with weights from torch's generator."""
