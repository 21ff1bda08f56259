"""Graph networks of torch_geometric's layers, to which encodings are given as node features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from typing_extensions import override

from tammes.checks import check_integer, check_multiple
from tammes.spectral.layers import MLP, AttentionSizes, Sizes

try:
    import torch_geometric.nn as pyg_nn
    from torch_geometric.data import Data
except ImportError as error:
    raise ImportError('networks on graphs need torch_geometric: pip install "tammes[graphs]"') from error


class GraphNetwork(nn.Module):
    """h := h + dropout(relu(normalize(layer(h)))), for each of torch_geometric's layers, from h = W x.

    Args:
        config: settings.
        features: number of features of a node.
        edge_features: number of features of an edge; 0 for none.
    """

    def __init__(self, config: GraphNetworkConfig, features: int, edge_features: int) -> None:
        super().__init__()
        self.features = check_integer("features", features)
        self.edge_features = check_integer("edge_features", edge_features, minimum=0)
        self.outputs = width = config.width
        layers = [config.layer(edge_features or None) for _ in range(config.layers)]
        feed_forward = config.feed_forward()
        self.first = nn.Linear(features, width)
        self.layers = nn.ModuleList(layers)
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in layers)
        self.feed_forward = nn.ModuleList(feed_forward)
        self.feed_norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in feed_forward)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "nodes features"],
        edge_index: Int[Tensor, "2 m"],
        edge_attr: Float[Tensor, "m edge_features"] | None = None,
    ) -> Float[Tensor, "nodes outputs"]:
        """Return the channels of each node.

        Args:
            x: node features, encodings among them.
            edge_index: edges; messages go from the first node to the second.
            edge_attr: edge features; ignored where the network was built for none.

        Raises:
            ValueError: for node or edge features not as many as the network was built for.
        """
        if x.dim() != 2 or x.shape[1] != self.features or not x.is_floating_point():
            raise ValueError(
                f"expected node features of shape (nodes, {self.features}) in floating point, got {x.dtype} "
                f"{tuple(x.shape)}; embed kinds of nodes first"
            )
        expected = (edge_index.shape[1], self.edge_features)
        if not self.edge_features:
            edge_attr = None
        elif edge_attr is None or edge_attr.shape != expected or not edge_attr.is_floating_point():
            came = "none" if edge_attr is None else f"{edge_attr.dtype} {tuple(edge_attr.shape)}"
            raise ValueError(f"expected edge features of shape {expected} in floating point, got {came}")
        h = self.first(x)
        for number, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            h = h + self.dropout(norm(layer(h, edge_index, edge_attr)).relu())
            if self.feed_forward:
                h = self.feed_norms[number](h + self.dropout(self.feed_forward[number](h)))
        return h


@dataclass(frozen=True, kw_only=True)
class GraphNetworkConfig(Sizes, ABC):
    """Settings of a `GraphNetwork`; a subclass gives its layers.

    Raises:
        ValueError: for a width or a number of layers below 1, or a share outside [0, 1).
    """

    layers: int = 4
    """Number of layers: how many edges away a node's channels depend on others."""

    @abstractmethod
    def layer(self, edges: int | None) -> nn.Module:
        """Return one layer of torch_geometric for edges with `edges` features, or None for no features."""

    def feed_forward(self) -> list[nn.Module]:
        """Return a network on single nodes to follow each layer; by default none."""
        return []

    def build(self, features: int, edge_features: int = 0) -> GraphNetwork:
        """Return the network, with weights from torch's generator.

        Args:
            features: number of features of a node.
            edge_features: number of features of an edge; 0 for none.

        Raises:
            ValueError: for fewer than one feature of a node, or a negative number of features of an edge.
        """
        return GraphNetwork(self, features, edge_features)


@dataclass(frozen=True, kw_only=True)
class GatedGCNConfig(GraphNetworkConfig):
    """Settings of layers W h_i + sum_j sigmoid(A [h_i, e_ij] + B [h_j, e_ij]) V [h_j, e_ij].

    Source: Bresson and Laurent, Residual Gated Graph ConvNets, 2017; Robinson (2023), Table 7.1. Differs:
    edge features stay the same in all layers, as in torch_geometric.

    Example:
        >>> network = GatedGCNConfig(width=8, layers=2).build(3, edge_features=2)
        >>> edges = torch.tensor([[0, 1], [1, 0]])
        >>> network(torch.ones(2, 3), edges, torch.ones(2, 2)).shape
        torch.Size([2, 8])
    """

    @override
    def layer(self, edges: int | None) -> nn.Module:
        return pyg_nn.ResGatedGraphConv(self.width, self.width, edge_dim=edges)


@dataclass(frozen=True, kw_only=True)
class GINEConfig(GraphNetworkConfig):
    """Settings of layers MLP((1 + epsilon) h_i + sum_j relu(h_j + W e_ij)).

    Source: Hu et al., Strategies for Pre-training Graph Neural Networks, 2020; Robinson (2023), Table 7.1.

    Example:
        >>> network = GINEConfig(width=8, layers=2).build(3)
        >>> network(torch.ones(2, 3), torch.tensor([[0, 1], [1, 0]])).shape
        torch.Size([2, 8])
    """

    @override
    def layer(self, edges: int | None) -> nn.Module:
        width = self.width
        mlp = nn.Sequential(
            nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width)
        )
        return _GINELayer(pyg_nn.GINEConv(mlp, train_eps=True, edge_dim=edges))


class _GINELayer(nn.Module):
    """torch_geometric's layer, which requires edge features: zeros where a graph has none."""

    def __init__(self, convolution: nn.Module) -> None:
        super().__init__()
        self.convolution = convolution

    def forward(
        self,
        h: Float[Tensor, "nodes width"],
        edge_index: Int[Tensor, "2 m"],
        edge_attr: Float[Tensor, "m edge_features"] | None,
    ) -> Float[Tensor, "nodes width"]:
        if edge_attr is None:
            edge_attr = h.new_zeros(1, h.shape[1]).expand(edge_index.shape[1], -1)
        return self.convolution(h, edge_index, edge_attr)


@dataclass(frozen=True, kw_only=True)
class GATConfig(GraphNetworkConfig, AttentionSizes):
    """Settings of layers sum_j a_ij W h_j over a node and its neighbors, a_ij the softmax over j of scores.

    A score is LeakyReLU(a . W h_i + b . W h_j + c . e_ij), in each head for its own part of the channels; the
    edge features of a node to itself are the mean of those of its edges.

    Raises:
        ValueError: for a width that is no multiple of the heads.

    Source: Veličković et al., Graph Attention Networks, 2018, eq. 1 to 5; Robinson (2023), Table E.4, which
    gives it no edge features.

    Example:
        >>> network = GATConfig(width=8, layers=2).build(3)
        >>> network(torch.ones(2, 3), torch.tensor([[0, 1], [1, 0]])).shape
        torch.Size([2, 8])
    """

    @override
    def layer(self, edges: int | None) -> nn.Module:
        return pyg_nn.GATConv(self.width, self.width // self.heads, heads=self.heads, edge_dim=edges)


@dataclass(frozen=True, kw_only=True)
class SparseTransformerConfig(GraphNetworkConfig, AttentionSizes):
    """Settings of attention over neighbors, each layer followed by a two-layer network on each node.

    Raises:
        ValueError: for a width that is no multiple of the heads.

    Source: Kreuzer et al., Rethinking Graph Transformers with Spectral Attention, 2021; Robinson (2023),
    Table 7.1, which gives it no edge features.

    Example:
        >>> network = SparseTransformerConfig(width=8, layers=2).build(3)
        >>> network(torch.ones(2, 3), torch.tensor([[0, 1], [1, 0]])).shape
        torch.Size([2, 8])
    """

    @override
    def layer(self, edges: int | None) -> nn.Module:
        return pyg_nn.TransformerConv(self.width, self.width // self.heads, heads=self.heads, edge_dim=edges)

    @override
    def feed_forward(self) -> list[nn.Module]:
        width = self.width
        return [
            nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
            for _ in range(self.layers)
        ]


@dataclass(frozen=True, kw_only=True)
class PNAConfig(GraphNetworkConfig):
    """Settings of layers with the mean, minimum, maximum and standard deviation of the neighbors.

    Each aggregate enters three times: as it is, and amplified and attenuated by the logarithm of the degree.

    Raises:
        ValueError: for degrees that count no node, and for a width that is no multiple of the towers.

    Source: Corso et al., Principal Neighbourhood Aggregation for Graph Nets, 2020; Robinson (2023), Table
    7.1.

    Example:
        >>> network = PNAConfig(width=8, layers=2, degrees=(0, 2)).build(3)
        >>> network(torch.ones(2, 3), torch.tensor([[0, 1], [1, 0]])).shape
        torch.Size([2, 8])
    """

    degrees: tuple[int, ...]
    """Number of nodes of the training set with 0, 1, 2, ... neighbors, as `degree_counts` returns it."""

    towers: int = 1
    """Number of parts of the channels that have separate layers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_multiple("width", self.width, "towers", check_integer("towers", self.towers))
        if sum(self.degrees[1:]) < 1 or min(self.degrees) < 0:
            raise ValueError(
                "expected degrees that count at least one node with a neighbor (degree_counts of the "
                f"training set), got {self.degrees}"
            )

    @override
    def layer(self, edges: int | None) -> nn.Module:
        return pyg_nn.PNAConv(
            self.width,
            self.width,
            aggregators=["mean", "min", "max", "std"],
            scalers=["identity", "amplification", "attenuation"],
            deg=torch.tensor(self.degrees),
            edge_dim=edges,
            towers=self.towers,
            divide_input=True,
        )


def degree_counts(graphs: Iterable[Data]) -> tuple[int, ...]:
    """Return the number of nodes of all graphs with 0, 1, 2, ... incoming edges.

    Example:
        >>> degree_counts([Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=3)])
        (1, 2)
    """
    return tuple(pyg_nn.PNAConv.get_degree_histogram(graphs).tolist())


class Readout(nn.Module):
    """Perceptron on the mean, or the sum, of a graph's nodes.

    Args:
        inputs: channels of a node.
        outputs: numbers of a graph.
        layers: number of linear layers, each with half the channels of the one before.
        sums: whether nodes are summed, instead of averaged.

    Raises:
        ValueError: for sizes below 1.

    Example:
        >>> import torch
        >>> Readout(8, 1)(torch.ones(3, 8), torch.tensor([0, 0, 1])).shape
        torch.Size([2, 1])
    """

    def __init__(self, inputs: int, outputs: int, *, layers: int = 3, sums: bool = False) -> None:
        super().__init__()
        check_integer("layers", layers)
        self.sums = sums
        self.mlp = MLP([inputs, *(max(1, inputs // 2**i) for i in range(1, layers)), outputs])

    def forward(
        self, h: Float[Tensor, "nodes inputs"], batch: Int[Tensor, " nodes"], graphs: int | None = None
    ) -> Float[Tensor, "graphs outputs"]:
        """Return the numbers of each graph.

        Args:
            h: channels of the nodes.
            batch: graph of each node, ascending.
            graphs: number of graphs; left out, one more than the last number in `batch`.

        Raises:
            ValueError: where there is not one row for each node of the batch.
        """
        if len(h) != len(batch):
            raise ValueError(f"expected a row for each of {len(batch)} nodes, got {len(h)}")
        pool = pyg_nn.global_add_pool if self.sums else pyg_nn.global_mean_pool
        return self.mlp(pool(h, batch, graphs))
