"""A transformer whose nodes attend to their neighbors only."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from tammes.spectral.networks.convolutions import TransformerConv
from tammes.spectral.networks.heads import HeadsConfig


@dataclass(frozen=True, kw_only=True)
class SparseTransformerConfig(HeadsConfig):
    """Settings of attention over neighbors, each followed by a network of one hidden layer on each node.

    Raises:
        ValueError: for a width that is no multiple of the heads.

    Source: Kreuzer et al., Rethinking Graph Transformers with Spectral Attention, 2021; Robinson (2023),
    Table 7.1, which gives it no edge features.

    Example:
        >>> import torch
        >>> network = SparseTransformerConfig(width=8, layers=2).build(3)
        >>> network(torch.ones(2, 3), torch.tensor([[0, 1], [1, 0]])).shape
        torch.Size([2, 8])
    """

    def layer(self, edges: int | None) -> nn.Module:
        """See `GraphNetworkConfig.layer`."""
        return TransformerConv(self.width, self.width // self.heads, heads=self.heads, edge_dim=edges)

    def feed_forward(self) -> list[nn.Module]:
        """See `GraphNetworkConfig.feed_forward`."""
        width = self.width
        return [
            nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
            for _ in range(self.layers)
        ]
