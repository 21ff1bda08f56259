"""A graph isomorphism network that sees edge features."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.spectral.networks.convolutions import GINEConv
from tammes.spectral.networks.graph_network import GraphNetworkConfig


@dataclass(frozen=True, kw_only=True)
class GINEConfig(GraphNetworkConfig):
    """Settings of layers MLP((1 + epsilon) h_i + sum_j relu(h_j + W e_ij)).

    Source: Hu et al., Strategies for Pre-training Graph Neural Networks, 2020; Robinson (2023), Table 7.1.

    Example:
        >>> network = GINEConfig(width=8, layers=2).build(3)
        >>> network(torch.ones(2, 3), torch.tensor([[0, 1], [1, 0]])).shape
        torch.Size([2, 8])
    """

    def layer(self, edges: int | None) -> nn.Module:
        """See `GraphNetworkConfig.layer`."""
        width = self.width
        mlp = nn.Sequential(
            nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width)
        )
        return _Layer(GINEConv(mlp, train_eps=True, edge_dim=edges), width)


class _Layer(nn.Module):
    """torch_geometric's layer, which asks for edge features: zeros, where there are none."""

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
