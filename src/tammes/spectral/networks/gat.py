"""A graph attention network."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from tammes.spectral.networks.convolutions import GATConv
from tammes.spectral.networks.heads import HeadsConfig


@dataclass(frozen=True, kw_only=True)
class GATConfig(HeadsConfig):
    """Settings of layers sum_j a_ij W h_j over a node and its neighbors, a_ij the softmax over j of scores.

    A score is LeakyReLU(a . W h_i + b . W h_j + c . e_ij), by each head for its own part of the channels; the
    edge features of a node to itself are the mean of those of its edges.

    Raises:
        ValueError: for a width that is no multiple of the heads.

    Source: Veličković et al., Graph Attention Networks, 2018, eq. 1 to 5; Robinson (2023), Table E.4, which
    gives it no edge features.

    Example:
        >>> import torch
        >>> network = GATConfig(width=8, layers=2).build(3)
        >>> network(torch.ones(2, 3), torch.tensor([[0, 1], [1, 0]])).shape
        torch.Size([2, 8])
    """

    def layer(self, edges: int | None) -> nn.Module:
        """See `GraphNetworkConfig.layer`."""
        return GATConv(self.width, self.width // self.heads, heads=self.heads, edge_dim=edges)
