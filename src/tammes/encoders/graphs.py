"""Encoders of graphs: message passing by torch_geometric's layers, all layers summed over the nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from typing_extensions import override

from tammes.checks import check_integer, check_multiple
from tammes.data.graph_batch import GraphBatch
from tammes.data.node_batch import NodeBatch
from tammes.encoders.encoder import Encoder
from tammes.encoders.graph_positions import BasisInvariant, LaplacianEigenvectors, SignInvariant


class GraphEncoder(Encoder):
    """Network with the outputs of all layers side by side, summed over the nodes of each graph.

        h^k = normalize(relu(layer_k(h^(k-1)))),    node = [h^1, ..., h^K],    graph = sum of its nodes

    Of a `NodeBatch` the rows are nodes, whose features are not summed: each layer computes only the nodes
    that the roots still depend on.

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
        self.config = config
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
        h = self._inputs(batch)
        messages = self.config.messages(batch)
        outputs = []
        for layer, norm in zip(self.layers, self.norms, strict=True):
            h = norm(layer(h, *messages))
            outputs.append(h)
        return torch.cat(outputs, dim=1)

    def forward(self, batch: GraphBatch) -> Float[Tensor, "rows features"]:
        """Return the features of each graph; of a `NodeBatch`, those of its roots."""
        if isinstance(batch, NodeBatch):
            return (
                self.nodes(batch)[batch.roots] if batch.hops is None else self._of_sample(batch, batch.hops)
            )
        return batch.sums(self.nodes(batch))

    def _inputs(self, batch: GraphBatch) -> Float[Tensor, "nodes inputs"]:
        h = batch.features
        own = self.inputs - (0 if self.positions is None else self.positions.features)
        if h.shape[1] != own:
            raise ValueError(f"expected nodes with {own} features, got {h.shape[1]}")
        if self.positions is not None:
            h = torch.cat([h, self.positions(batch)], dim=1)
        return h if self.first is None else self.first(h)

    def _of_sample(self, batch: NodeBatch, hops: Int64[Tensor, " nodes"]) -> Float[Tensor, "rows features"]:
        """Return the features of the roots.

        After a layer only the nodes remain that the next ones need: those farther away lack some of their
        neighbors, and would distort the statistics of batch normalization.
        """
        h, roots, outputs = self._inputs(batch), batch.roots, []
        edges, *weights = self.config.messages(batch)
        for number, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True), start=1):
            h = layer(h, edges, *weights)
            kept = hops <= len(self.layers) - number
            place, inside = kept.cumsum(0) - 1, kept[edges].all(0)
            h, hops, roots = norm(h[kept]), hops[kept], place[roots]
            edges, weights = place[edges[:, inside]], [each[inside] for each in weights]
            outputs.append(h[roots])
        return torch.cat(outputs, dim=1)


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

    positions: LaplacianEigenvectors | SignInvariant | BasisInvariant | None = None
    """Positions of the nodes by Laplacian eigenvectors, as further features."""

    def __post_init__(self) -> None:
        check_integer("width", self.width)
        check_integer("layers", self.layers)

    @property
    def keeps_width(self) -> bool:
        """Whether a layer's inputs have its width, so that a linear map comes first."""
        return False

    def messages(self, batch: GraphBatch) -> tuple[Any, ...]:
        """Return what each layer takes beside the nodes: the edges, and perhaps a number for each of them."""
        return (batch.edges,)

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
    def messages(self, batch: GraphBatch) -> tuple[Any, ...]:
        from tammes.encoders.gin_layer import NeighborSums

        if isinstance(batch, NodeBatch) and batch.hops is not None:
            return super().messages(batch)  # a sample, which loses edges from layer to layer
        return (NeighborSums(batch=batch),)

    @override
    def layer(self, inputs: int) -> nn.Module:
        from tammes.encoders.gin_layer import IsomorphismLayer

        return IsomorphismLayer(
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
    def messages(self, batch: GraphBatch) -> tuple[Tensor, ...]:
        from torch_geometric.nn.conv.gcn_conv import gcn_norm

        # Once for all layers, and before a sample loses edges: the weights depend on the degrees.
        edges, weights = gcn_norm(batch.edges, num_nodes=len(batch.owner), dtype=batch.features.dtype)
        return edges, weights

    @override
    def layer(self, inputs: int) -> nn.Module:
        from torch_geometric.nn import GCNConv

        return GCNConv(inputs, self.width, normalize=False)


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
    def messages(self, batch: GraphBatch) -> tuple[Tensor, ...]:
        return batch.edges, batch.owner

    @override
    def layer(self, inputs: int) -> nn.Module:
        from torch_geometric.nn import GINConv, GPSConv

        mlp = nn.Sequential(nn.Linear(inputs, self.width), nn.ReLU(), nn.Linear(self.width, self.width))
        return GPSConv(self.width, GINConv(mlp), heads=self.heads)
