"""Graph attention: each node takes a weighted mean over itself and its neighbors."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tammes.extensions.equitable_partition import EquitablePartition

SLOPE = 0.2


class Attention(nn.Module):
    """x_i := W sum_j a_ij x_j + b, over i itself and its neighbors: torch_geometric's `GATConv`, one head.

        a_ij = softmax_j leaky_relu(u . W x_j + v . W x_i)

    Means are taken before W is applied, of a few features instead of many. Nodes are those of the cells of an
    equitable partition: a neighboring cell counts as often as there are neighbors in it.

    Args:
        features: of a node that come.
        width: of a node that leave.

    Source: Veličković et al., Graph Attention Networks, 2018, as torch_geometric has it.

    Example:
        >>> from tammes.extensions import Graphs
        >>> graph = Graphs.of(torch.tensor([[0, 1], [1, 2]]), sizes=(3,))
        >>> Attention(features=1, width=4)(torch.ones(3, 1), graph.singletons).shape
        torch.Size([3, 4])
    """

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.of_sender = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, width)))
        self.of_receiver = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, width)))
        self.bias = nn.Parameter(torch.zeros(width))
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(width, features)))

    def forward(
        self, x: Float[Tensor, "cells features"], partition: EquitablePartition
    ) -> Float[Tensor, "cells width"]:
        """The features of a node of each cell."""
        sender, receiver = (x @ (torch.cat([self.of_sender, self.of_receiver]) @ self.weight).T).unbind(1)
        to_node, from_node = partition.links
        logits = nn.functional.leaky_relu(
            sender.index_select(0, from_node) + receiver.index_select(0, to_node), SLOPE
        )
        own = nn.functional.leaky_relu(sender + receiver, SLOPE)
        with torch.no_grad():
            most = own.scatter_reduce(0, to_node, logits, "amax")
        share = (logits - most.index_select(0, to_node)).exp() * partition.count
        share_of_own = (own - most).exp()
        mass = share_of_own.index_add(0, to_node, share)
        seen = share * x.T.index_select(1, from_node)  # (features, arcs)
        mean = (share_of_own * x.T).scatter_add(1, to_node.expand_as(seen), seen) / mass
        return torch.addmm(self.bias, mean.T, self.weight.T)
