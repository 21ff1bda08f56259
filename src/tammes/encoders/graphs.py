"""Encoders of graphs: message passing by torch_geometric's layers, all layers summed over the nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from tammes.checks import check_integer, check_multiple
from tammes.data.graph_batch import GraphBatch
from tammes.encoders.encoder import Encoder
from tammes.encoders.graph_positions import LaplacianEigenvectors, SignInvariant


class GraphEncoder(Encoder):
    """Network with the outputs of all layers side by side, summed over the nodes of each graph.

        h^k = normalize(relu(layer_k(h^(k-1)))),    node = [h^1, ..., h^K],    graph = sum of its nodes

    Args:
        config: settings.
        inputs: number of features of a node.

    Source: Xu et al., How Powerful are Graph Neural Networks?, 2019, eq. 4.2; Sun et al., InfoGraph, 2020.

    Example:
        >>> edges = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
        >>> batch = GraphBatch(
        ...     features=torch.ones(4, 3), edges=edges, owner=torch.tensor([0, 0, 1, 1]), count=2
        ... )
        >>> encoder = GINEncoderConfig(width=8, layers=2).build(inputs=3)
        >>> encoder(batch).shape, encoder.nodes(batch).shape, encoder.features
        (torch.Size([2, 16]), torch.Size([4, 16]), 16)
    """

    def __init__(self, config: GraphEncoderConfig, inputs: int) -> None:
        super().__init__()
        self.positions = None if config.positions is None else config.positions.build()
        inputs += 0 if self.positions is None else self.positions.features
        self.inputs = inputs
        self.features = config.width * config.layers
        widths = [inputs] + [config.width] * (config.layers - 1)
        self.first = nn.Linear(inputs, config.width) if config.keeps_width else None
        self.layers = nn.ModuleList(config.layer(config.width if config.keeps_width else w) for w in widths)
        # Layers that keep their width bring a normalization with them.
        self.norms = nn.ModuleList(
            nn.Identity() if config.keeps_width else nn.Sequential(nn.ReLU(), nn.BatchNorm1d(config.width))
            for _ in widths
        )

    def nodes(self, batch: GraphBatch) -> Float[Tensor, "nodes features"]:
        """Return the features of each node: the outputs of all layers.

        Raises:
            ValueError: for other features of the nodes than the network was built for.
        """
        h = batch.features
        if self.positions is not None:
            h = torch.cat([h, self.positions(batch)], dim=1)
        if h.shape[1] != self.inputs:
            raise ValueError(f"expected nodes with {self.inputs} features, got {h.shape[1]}")
        if self.first is not None:
            h = self.first(h)
        outputs = []
        for layer, norm in zip(self.layers, self.norms, strict=True):
            h = norm(layer(h, batch.edges, batch.owner) if self.first is not None else layer(h, batch.edges))
            outputs.append(h)
        return torch.cat(outputs, dim=1)

    def forward(self, batch: GraphBatch) -> Float[Tensor, "graphs features"]:
        """Return the features of each graph."""
        return batch.sums(self.nodes(batch))


@dataclass(frozen=True, kw_only=True)
class GraphEncoderConfig(ABC):
    """Settings of a `GraphEncoder`; a subclass gives its layers. The defaults are InfoGraph's.

    Raises:
        ValueError: a width or a number of layers below 1.
    """

    width: int = 32
    """Channels of a layer; the features are those of all layers."""

    layers: int = 3
    """Number of layers: how many edges away a node's channels depend on others."""

    positions: LaplacianEigenvectors | SignInvariant | None = None
    """Positions of the nodes by Laplacian eigenvectors, as further features."""

    def __post_init__(self) -> None:
        check_integer("width", self.width)
        check_integer("layers", self.layers)

    @property
    def keeps_width(self) -> bool:
        """Whether a layer's inputs have its width, so that a linear map comes first."""
        return False

    @abstractmethod
    def layer(self, inputs: int) -> nn.Module:
        """Return a layer of torch_geometric from `inputs` channels."""

    def build(self, inputs: int) -> GraphEncoder:
        """Build the encoder for nodes with `inputs` features, with weights from torch's generator.

        Raises:
            ImportError: if torch_geometric is not installed.
        """
        check_integer("inputs", inputs)
        try:
            return GraphEncoder(self, inputs)
        except ModuleNotFoundError as error:
            raise ImportError(
                'encoders of graphs need torch_geometric: pip install "tammes[graphs]"'
            ) from error


@dataclass(frozen=True, kw_only=True)
class GINEncoderConfig(GraphEncoderConfig):
    """Settings of an isomorphism network, MLP(h_i + sum of h_j over the neighbors), as in InfoGraph.

    Source: Xu et al., How Powerful are Graph Neural Networks?, 2019, eq. 4.1 with epsilon = 0.

    Example:
        >>> GINEncoderConfig().build(inputs=7).features
        96
    """

    @override
    def layer(self, inputs: int) -> nn.Module:
        from torch_geometric.nn import GINConv

        return GINConv(
            nn.Sequential(nn.Linear(inputs, self.width), nn.ReLU(), nn.Linear(self.width, self.width))
        )


@dataclass(frozen=True, kw_only=True)
class GCNEncoderConfig(GraphEncoderConfig):
    """Settings of a convolutional network, W times the mean over the neighbors weighted by degrees.

    Source: Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks, 2017.

    Example:
        >>> GCNEncoderConfig(width=16).build(inputs=7).features
        48
    """

    @override
    def layer(self, inputs: int) -> nn.Module:
        from torch_geometric.nn import GCNConv

        return GCNConv(inputs, self.width)


@dataclass(frozen=True, kw_only=True)
class GATEncoderConfig(GraphEncoderConfig):
    """Settings of an attention network, whose weights of neighbors depend on both nodes.

    Raises:
        ValueError: a width that is no multiple of the heads.

    Source: Veličković et al., Graph Attention Networks, 2018.

    Example:
        >>> GATEncoderConfig(heads=4).build(inputs=7).features
        96
    """

    heads: int = 4
    """Attention heads of a layer, which share its width."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_multiple("width", self.width, "heads", check_integer("heads", self.heads))

    @override
    def layer(self, inputs: int) -> nn.Module:
        from torch_geometric.nn import GATConv

        return GATConv(inputs, self.width // self.heads, heads=self.heads)


@dataclass(frozen=True, kw_only=True)
class GPSEncoderConfig(GraphEncoderConfig):
    """Settings of blocks of a GIN layer beside attention between all nodes of a graph (GraphGPS).

    Memory grows with the square of the largest graph's nodes, times the graphs of a batch.

    Raises:
        ValueError: a width that is no multiple of the heads.

    Source: Rampášek et al., Recipe for a General, Powerful, Scalable Graph Transformer, 2022, eq. 1 to 4.

    Example:
        >>> GPSEncoderConfig(heads=4, layers=2).build(inputs=7).features
        64
    """

    heads: int = 4
    """Attention heads of a block, which share its width."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_multiple("width", self.width, "heads", check_integer("heads", self.heads))

    @property
    @override
    def keeps_width(self) -> bool:
        return True

    @override
    def layer(self, inputs: int) -> nn.Module:
        from torch_geometric.nn import GINConv, GPSConv

        mlp = nn.Sequential(nn.Linear(inputs, self.width), nn.ReLU(), nn.Linear(self.width, self.width))
        return GPSConv(self.width, GINConv(mlp), heads=self.heads)
