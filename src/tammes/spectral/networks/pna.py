"""Principal neighborhood aggregation: several ways to join neighbors, scaled by their number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

from tammes.checks import check_integer, check_multiple
from tammes.spectral.networks.convolutions import Data, PNAConv
from tammes.spectral.networks.graph_network import GraphNetworkConfig


@dataclass(frozen=True, kw_only=True)
class PNAConfig(GraphNetworkConfig):
    """Settings of layers that take mean, minimum, maximum and standard deviation of the neighbors.

    Each of them enters as it is, amplified and attenuated by the logarithm of the degree.

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
    """How many nodes of the training set have 0, 1, 2, ... neighbors: `degree_counts`."""

    towers: int = 1
    """Parts of the channels that have layers of their own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("towers", self.towers)
        if sum(self.degrees[1:]) < 1 or min(self.degrees) < 0:
            raise ValueError(
                "expected degrees that count at least one node with a neighbor (degree_counts of the "
                f"training set), got {self.degrees}"
            )
        check_multiple("width", self.width, "towers", self.towers)

    def layer(self, edges: int | None) -> nn.Module:
        """See `GraphNetworkConfig.layer`."""
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
    """How many nodes of all graphs have 0, 1, 2, ... edges that point to them.

    Example:
        >>> degree_counts([Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=3)])
        (1, 2)
    """
    counts = torch.zeros(1, dtype=torch.long)
    for graph in graphs:
        own = torch.bincount(torch.bincount(graph.edge_index[1], minlength=graph.num_nodes))
        size = max(len(own), len(counts))
        counts = torch.nn.functional.pad(counts, (0, size - len(counts)))
        counts += torch.nn.functional.pad(own, (0, size - len(own)))
    return tuple(counts.tolist())
