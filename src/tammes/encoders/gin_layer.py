"""The isomorphism layer of torch_geometric, with quicker sums over neighbors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jaxtyping import Float, Int64
from torch import Tensor
from torch_geometric.nn import GINConv
from typing_extensions import override

from tammes.data.graph_batch import GraphBatch
from tammes.listed_sum import listed_sum, lists_of


@dataclass(frozen=True, kw_only=True)
class NeighborSums:
    """Sum over the neighbors of each node, by a list of neighbors for each node.

        of(h)_i = sum of h_j over the edges (j, i)

    A list is read once, and each sum stays in registers; torch_geometric gathers a row for each edge, and
    scatters it into memory, which takes twice as long (`benchmarks/graphs.py --parts`, lists included). The
    sums are added up in the same order.

    Args:
        batch: graphs; of an edge in one direction only the node at its end has a neighbor.

    Example:
        >>> import torch
        >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> batch = GraphBatch(features=torch.ones(3, 1), edges=edges, owner=torch.zeros(3).long(), count=1)
        >>> NeighborSums(batch=batch).of(torch.tensor([[1.0], [2.0], [4.0]])).tolist()
        [[2.0], [5.0], [2.0]]
    """

    batch: GraphBatch

    def of(self, rows: Float[Tensor, "nodes d"]) -> Float[Tensor, "nodes d"]:
        """Return the sum of these rows over the neighbors of each node."""
        return listed_sum(rows, *self._incoming, *self._outgoing)

    @cached_property
    def _outgoing(self) -> tuple[Int64[Tensor, " edges"], Int64[Tensor, " nodes"]]:
        """The nodes at the end of each node's edges, one node after the other, and where each begins."""
        return lists_of(self.batch.edges[0], self.batch.edges[1], len(self.batch.owner))

    @cached_property
    def _incoming(self) -> tuple[Int64[Tensor, " edges"], Int64[Tensor, " nodes"]]:
        """The same the other way: the nodes from which each node's edges come."""
        return lists_of(self.batch.edges[1], self.batch.edges[0], len(self.batch.owner))


class IsomorphismLayer(GINConv):
    """Layer MLP((1 + epsilon) h_i + sum of h_j over the neighbors), which also takes `NeighborSums`.

    Args:
        nn: network MLP.

    Source: Xu et al., How Powerful are Graph Neural Networks?, 2019, eq. 4.1.

    Example:
        >>> import torch
        >>> edges = torch.tensor([[0, 1], [1, 0]])
        >>> batch = GraphBatch(features=torch.ones(2, 1), edges=edges, owner=torch.zeros(2).long(), count=1)
        >>> layer, h = IsomorphismLayer(torch.nn.Identity()), torch.tensor([[1.0], [2.0]])
        >>> layer(h, NeighborSums(batch=batch)).tolist(), layer(h, edges).tolist()
        ([[3.0], [3.0]], [[3.0], [3.0]])
    """

    @override
    def forward(self, x: Tensor, edge_index: Any, size: Any = None) -> Tensor:
        """Return the new features of the nodes.

        Args:
            x: features of the nodes.
            edge_index: sums over their neighbors, or edges (2, edges).
            size: see torch_geometric's layer.
        """
        if not isinstance(edge_index, NeighborSums):
            return super().forward(x, edge_index, size)
        return self.nn(edge_index.of(x) + (1 + self.eps) * x)
