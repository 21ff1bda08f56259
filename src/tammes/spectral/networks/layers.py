"""Graph networks by their layers: GatedGCN, GINE, GAT, PNA and a sparse transformer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GINEConv, PNAConv, ResGatedGraphConv, TransformerConv
from typing_extensions import override

from tammes.checks import check_integer, check_multiple
from tammes.spectral.layers import check_sizes
from tammes.spectral.networks.graph_network import GraphNetworkConfig


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
        return ResGatedGraphConv(self.width, self.width, edge_dim=edges)


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
        return _GINELayer(GINEConv(mlp, train_eps=True, edge_dim=edges), width)


class _GINELayer(nn.Module):
    """torch_geometric's layer, which requires edge features: zeros where a graph has none."""

    def __init__(self, convolution: nn.Module, width: int) -> None:
        super().__init__()
        self.convolution = convolution
        self.width = width

    def forward(
        self,
        h: Float[Tensor, "nodes width"],
        edge_index: Int[Tensor, "2 m"],
        edge_attr: Float[Tensor, "m edge_features"] | None,
    ) -> Float[Tensor, "nodes width"]:
        if edge_attr is None:
            edge_attr = torch.zeros(1, self.width, dtype=h.dtype, device=h.device)
            edge_attr = edge_attr.expand(edge_index.shape[1], -1)
        return self.convolution(h, edge_index, edge_attr)


@dataclass(frozen=True, kw_only=True)
class GATConfig(GraphNetworkConfig):
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

    heads: int = 4
    """Number of attention heads."""

    def __post_init__(self) -> None:
        check_sizes(width=self.width, layers=self.layers, dropout=self.dropout, heads=self.heads)

    @override
    def layer(self, edges: int | None) -> nn.Module:
        return GATConv(self.width, self.width // self.heads, heads=self.heads, edge_dim=edges)


@dataclass(frozen=True, kw_only=True)
class SparseTransformerConfig(GraphNetworkConfig):
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

    heads: int = 4
    """Number of attention heads."""

    def __post_init__(self) -> None:
        check_sizes(width=self.width, layers=self.layers, dropout=self.dropout, heads=self.heads)

    @override
    def layer(self, edges: int | None) -> nn.Module:
        return TransformerConv(self.width, self.width // self.heads, heads=self.heads, edge_dim=edges)

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
        check_integer("towers", self.towers)
        if sum(self.degrees[1:]) < 1 or min(self.degrees) < 0:
            raise ValueError(
                "expected degrees that count at least one node with a neighbor (degree_counts of the "
                f"training set), got {self.degrees}"
            )
        check_multiple("width", self.width, "towers", self.towers)

    @override
    def layer(self, edges: int | None) -> nn.Module:
        return PNAConv(
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
    counts = torch.zeros(1, dtype=torch.long)
    for graph in graphs:
        own = torch.bincount(torch.bincount(graph.edge_index[1], minlength=graph.num_nodes))
        size = max(len(own), len(counts))
        counts = nn.functional.pad(counts, (0, size - len(counts)))
        counts += nn.functional.pad(own, (0, size - len(own)))
    return tuple(counts.tolist())
