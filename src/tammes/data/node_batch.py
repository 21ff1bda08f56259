"""A batch of nodes of one graph, with the part of the graph around them that an encoder reads."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int64  # noqa: F401 - inherited fields have Float in their annotations
from torch import Tensor
from typing_extensions import override

from tammes.data.graph_batch import GraphBatch


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NodeBatch(GraphBatch):
    """Nodes of one graph within the whole graph, or within a sample of their neighborhoods.

    A sample has an edge from each drawn neighbor to the node that it was drawn for; the whole graph has both
    directions. Two views are two graphs, side by side.

    Args:
        roots: (rows,) nodes that the rows of the batch are.
        hops: (nodes,) number of edges from the nearest root; None for the whole graph.

    Example:
        >>> of = torch.tensor
        >>> batch = NodeBatch(
        ...     features=torch.ones(3, 1), edges=of([[0, 1, 1, 2], [1, 0, 2, 1]]), owner=of([0, 0, 0]),
        ...     count=1, roots=of([2, 0]),
        ... )
        >>> batch, len(batch)
        (NodeBatch(2 rows, 3 nodes, 4 edges), 2)
    """

    roots: Int64[Tensor, " rows"]
    hops: Int64[Tensor, " nodes"] | None = None

    @override
    def __len__(self) -> int:
        return len(self.roots)

    @override
    def keeping(self, nodes: Bool[Tensor, " nodes"]) -> NodeBatch:
        """Return the subgraph of some nodes, with the edges between these; the roots must be among them."""
        number = nodes.cumsum(0) - 1
        edges = self.edges[:, nodes[self.edges].all(0)]
        return replace(
            self,
            features=self.features[nodes],
            edges=number[edges],
            owner=self.owner[nodes],
            roots=number[self.roots],
            hops=None if self.hops is None else self.hops[nodes],
        )

    def beside(self, other: NodeBatch) -> NodeBatch:
        """Return the rows of this batch and those of another, each within its own graph."""
        nodes = len(self.owner)
        pairs = None if self.hops is None or other.hops is None else (self.hops, other.hops)
        return NodeBatch(
            features=torch.cat([self.features, other.features]),
            edges=torch.cat([self.edges, other.edges + nodes], dim=1),
            owner=torch.cat([self.owner, other.owner + self.count]),
            count=self.count + other.count,
            roots=torch.cat([self.roots, other.roots + nodes]),
            hops=None if pairs is None else torch.cat(pairs),
        )

    @override
    def to(self, device: torch.device | str) -> NodeBatch:
        """Return the same batch on another device."""
        return replace(
            self,
            features=self.features.to(device),
            edges=self.edges.to(device),
            owner=self.owner.to(device),
            roots=self.roots.to(device),
            hops=None if self.hops is None else self.hops.to(device),
        )

    def __repr__(self) -> str:
        return f"NodeBatch({len(self)} rows, {len(self.owner)} nodes, {self.edges.shape[1]} edges)"
