"""A gated graph convolutional network."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from tammes.spectral.networks.convolutions import ResGatedGraphConv
from tammes.spectral.networks.graph_network import GraphNetworkConfig


@dataclass(frozen=True, kw_only=True)
class GatedGCNConfig(GraphNetworkConfig):
    """Settings of layers W h_i + sum_j sigmoid(A [h_i, e_ij] + B [h_j, e_ij]) V [h_j, e_ij].

    Source: Bresson and Laurent, Residual Gated Graph ConvNets, 2017; Robinson (2023), Table 7.1. Differs:
    edge features stay the same in all layers, as in torch_geometric.

    Example:
        >>> import torch
        >>> network = GatedGCNConfig(width=8, layers=2).build(3, edge_features=2)
        >>> edges = torch.tensor([[0, 1], [1, 0]])
        >>> network(torch.ones(2, 3), edges, torch.ones(2, 2)).shape
        torch.Size([2, 8])
    """

    def layer(self, edges: int | None) -> nn.Module:
        """See `GraphNetworkConfig.layer`."""
        return ResGatedGraphConv(self.width, self.width, edge_dim=edges)
