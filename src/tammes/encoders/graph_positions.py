"""Positions of nodes by Laplacian eigenvectors, as further features in front of an encoder of graphs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from tammes.checks import check_integer
from tammes.data.graph_batch import GraphBatch


class GraphPositions(nn.Module):
    """The first k Laplacian eigenvectors of each graph, through a network or with random signs.

    They are computed for each batch anew, since an augmentation changes the graph.

    Args:
        count: number of eigenvectors, k.
        network: network of `tammes.spectral` from eigenpairs to node encodings; None takes the eigenvectors,
            with random signs in training.
        features: width of the encoding.
        whole_eigenspaces: whether the network needs all vectors of an eigenspace. It gets the constant one
            too, which shares its eigenspace where a graph is not connected, and no eigenspace that `count`
            cuts.
    """

    def __init__(
        self, *, count: int, network: nn.Module | None, features: int, whole_eigenspaces: bool = False
    ) -> None:
        super().__init__()
        self.count, self.network, self.features = count, network, features
        self.whole_eigenspaces = whole_eigenspaces

    def forward(self, batch: GraphBatch) -> Float[Tensor, "nodes features"]:
        """Return the encoding of each node."""
        from tammes.spectral import eigenpairs

        # Graphs are decomposed by threads, which would not be in the inference mode of this one.
        with torch.inference_mode(False), torch.no_grad():
            # The constant eigenvector comes first and says nothing, so one more is computed.
            whole = self.whole_eigenspaces
            pairs = eigenpairs(batch.edges, batch.owner, count=self.count + 1, whole_eigenspaces=whole)
            vectors, values = pairs.vectors.to(batch.features.dtype), pairs.values
            if not whole:
                vectors, values = vectors[:, 1:], values[:, 1:].to(vectors.dtype)
            if self.network is None:
                return vectors * self._signs(len(values), vectors)[batch.owner] if self.training else vectors
        found: Tensor = self.network(None, batch.edges, batch.owner, vectors, values)
        return found

    def _signs(self, graphs: int, like: Tensor) -> Float[Tensor, "graphs k"]:
        return torch.randint(2, (graphs, self.count), device=like.device).to(like.dtype) * 2 - 1


@dataclass(frozen=True, kw_only=True)
class PositionsConfig(ABC):
    """Settings of the positions of nodes.

    Raises:
        ValueError: a number below 1.
    """

    count: int = 8
    """Number of eigenvectors."""

    def __post_init__(self) -> None:
        check_integer("count", self.count)

    @abstractmethod
    def build(self) -> GraphPositions:
        """Build the positions, with weights from torch's generator."""


@dataclass(frozen=True, kw_only=True)
class LaplacianEigenvectors(PositionsConfig):
    """Laplacian eigenvectors as features of the nodes (LapPE), with random signs in training.

    Source: Dwivedi et al., Benchmarking Graph Neural Networks, 2020.

    Example:
        >>> LaplacianEigenvectors(count=4).build().features
        4
    """

    @override
    def build(self) -> GraphPositions:
        return GraphPositions(count=self.count, network=None, features=self.count)


@dataclass(frozen=True, kw_only=True)
class SignInvariant(PositionsConfig):
    """SignNet on the Laplacian eigenvectors: positions that do not depend on the signs of eigenvectors.

    Source: Robinson (2023), eq. 7.5.

    Example:
        >>> SignInvariant(count=4, width=16).build().features
        16
    """

    width: int = 16
    """Width of the encoding, and of SignNet's layers."""

    layers: int = 2
    """Layers of phi."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("width", self.width)
        check_integer("layers", self.layers)

    @override
    def build(self) -> GraphPositions:
        from tammes.spectral import GINConfig, SignNet, SummedConfig

        network = SignNet(
            dim=self.width,
            phi=GINConfig(width=self.width, layers=self.layers),
            rho=SummedConfig(),
        )
        return GraphPositions(count=self.count, network=network, features=self.width)


@dataclass(frozen=True, kw_only=True)
class BasisInvariant(PositionsConfig):
    """BasisNet on the Laplacian eigenspaces: positions that depend neither on signs nor on bases.

    The last eigenspace is left out where `count` cuts it.

    Source: Robinson (2023), eq. 7.8.

    Example:
        >>> BasisInvariant(count=4, width=16).build().features
        16
    """

    width: int = 16
    """Width of the encoding, and of the layers on each projector."""

    layers: int = 2
    """Layers of the network on each projector."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("width", self.width)
        check_integer("layers", self.layers)

    @override
    def build(self) -> GraphPositions:
        from tammes.spectral import BasisNet, IGNConfig, RelativeGap, SummedConfig

        network = BasisNet(
            dim=self.width,
            ign=IGNConfig(vector=(self.width,) * self.layers),
            rho=SummedConfig(),
            gap=RelativeGap(warn=False),  # augmentations make new eigenvalues in every batch
        )
        return GraphPositions(count=self.count, network=network, features=self.width, whole_eigenspaces=True)
