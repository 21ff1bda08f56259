"""A batch of graphs as their disjoint union: what encoders of graphs read and augmentations change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GraphBatch:
    """Several graphs as one graph without edges between them.

    Memory is linear in nodes and edges; no matrix of nodes and graphs is formed.

    Args:
        features: (nodes, width) features of the nodes.
        edges: (2, edges) nodes that an edge joins, numbered from 0 through the batch; both directions.
        owner: (nodes,) graph of each node, ascending from 0.
        count: number of graphs, of which the last ones may have no nodes.

    Example:
        >>> of = torch.tensor
        >>> batch = GraphBatch(
        ...     features=torch.ones(5, 1), edges=of([[0, 1, 3, 4], [1, 0, 4, 3]]),
        ...     owner=of([0, 0, 1, 1, 1]), count=2,
        ... )
        >>> batch, batch.sizes.tolist(), batch.degrees.tolist()
        (GraphBatch(2 graphs, 5 nodes, 4 edges), [2, 3], [1, 1, 0, 1, 1])
    """

    features: Float[Tensor, "nodes width"]
    edges: Int64[Tensor, "2 edges"]
    owner: Int64[Tensor, " nodes"]
    count: int

    def __len__(self) -> int:
        return self.count

    @property
    def sizes(self) -> Int64[Tensor, " graphs"]:
        """Number of nodes of each graph."""
        return torch.bincount(self.owner, minlength=self.count)

    @property
    def degrees(self) -> Int64[Tensor, " nodes"]:
        """Number of neighbors of each node."""
        return torch.bincount(self.edges[0], minlength=len(self.owner))

    @property
    def starts(self) -> Int64[Tensor, " graphs"]:
        """First node of each graph."""
        sizes = self.sizes
        return sizes.cumsum(0) - sizes

    def sums(self, values: Float[Tensor, "nodes d"]) -> Float[Tensor, "graphs d"]:
        """Return the sum over the nodes of each graph.

        Example:
            >>> batch = GraphBatch(
            ...     features=torch.ones(3, 1), edges=torch.zeros(2, 0, dtype=torch.long),
            ...     owner=torch.tensor([0, 0, 1]), count=2,
            ... )
            >>> batch.sums(torch.tensor([[1.0], [2.0], [4.0]])).tolist()
            [[3.0], [4.0]]
        """
        return values.new_zeros(self.count, values.shape[1]).index_add_(0, self.owner, values)

    def keeping(self, nodes: Bool[Tensor, " nodes"]) -> GraphBatch:
        """Return the subgraphs of some nodes, with the edges between these."""
        number = nodes.cumsum(0) - 1
        edges = self.edges[:, nodes[self.edges].all(0)]
        return replace(self, features=self.features[nodes], edges=number[edges], owner=self.owner[nodes])

    @staticmethod
    def cat(parts: Sequence[GraphBatch]) -> GraphBatch:
        """Return the graphs of several batches, one batch after the other."""
        nodes = graphs = 0
        edges, owners = [], []
        for part in parts:
            edges.append(part.edges + nodes)
            owners.append(part.owner + graphs)
            nodes, graphs = nodes + len(part.owner), graphs + part.count
        return GraphBatch(
            features=torch.cat([part.features for part in parts]),
            edges=torch.cat(edges, dim=1),
            owner=torch.cat(owners),
            count=graphs,
        )

    def to(self, device: torch.device | str) -> GraphBatch:
        """Return the same graphs on another device."""
        return replace(
            self,
            features=self.features.to(device),
            edges=self.edges.to(device),
            owner=self.owner.to(device),
        )

    def __repr__(self) -> str:
        return f"GraphBatch({self.count} graphs, {len(self.owner)} nodes, {self.edges.shape[1]} edges)"
