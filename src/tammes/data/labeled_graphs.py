"""Many graphs with their regression targets, packed into a few tensors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from tammes.checks import check_shape
from tammes.data.labels import Rows, integers_of


@dataclass(frozen=True, kw_only=True, eq=False)
class LabeledGraphs:
    """Graphs with a type for each node and edge, and regression targets for each graph.

    Args:
        nodes: (nodes,) type of each node, from 0.
        edges: (2, edges) end points, numbered from 0 *within* each graph; an undirected edge is listed in
            both directions.
        bonds: (edges,) type of each edge, from 0.
        node_starts: (graphs + 1,) index of each graph's first node, and the number of all nodes at the end.
        edge_starts: (graphs + 1,) the same for edges.
        targets: (graphs, targets) finite numbers.

    Raises:
        ValueError: If lengths do not match, a type is below 0, or an edge leaves its graph.

    Example:
        >>> of = torch.tensor
        >>> pair = LabeledGraphs(
        ...     nodes=of([0, 0, 5]), edges=of([[0, 1], [1, 0]]), bonds=of([1, 1]),
        ...     node_starts=of([0, 2, 3]), edge_starts=of([0, 2, 2]), targets=of([[0.5], [1.5]]),
        ... )
        >>> len(pair), pair.subset([1]).nodes.tolist()
        (2, [5])
    """

    nodes: Int64[Tensor, " n"]
    edges: Int64[Tensor, "2 e"]
    bonds: Int64[Tensor, " e"]
    node_starts: Int64[Tensor, " g_and_one"]
    edge_starts: Int64[Tensor, " g_and_one"]
    targets: Float[Tensor, "g t"]

    def __post_init__(self) -> None:
        graphs = len(self.targets)
        check_shape("edges", self.edges.shape, (2, None))
        if not bool(self.targets.isfinite().all()):
            raise ValueError("expected finite targets, got infinities or NaN")
        for name, starts, end in (
            ("node_starts", self.node_starts, len(self.nodes)),
            ("edge_starts", self.edge_starts, self.edges.shape[1]),
        ):
            if len(starts) != graphs + 1 or int(starts[0]) != 0 or int(starts[-1]) != end:
                raise ValueError(
                    f"expected {graphs + 1} {name} from 0 to {end}, for {graphs} graphs, got {len(starts)} "
                    f"from {starts[:1].tolist()} to {starts[-1:].tolist()}"
                )
            if bool((starts.diff() < 0).any()):
                raise ValueError(f"expected {name} that never decrease")
        check_shape("bonds, one for each edge,", self.bonds.shape, self.edges.shape[1:])
        if bool((self.nodes < 0).any()) or bool((self.bonds < 0).any()):
            raise ValueError("expected types of nodes and edges counted from 0, got one below 0")
        sizes = self.node_starts.diff().repeat_interleave(self.edge_starts.diff())
        if bool(((self.edges < 0) | (self.edges >= sizes)).any()):
            raise ValueError("expected edges numbered within each graph, got one that leaves its graph")

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def owner(self) -> Int64[Tensor, " n"]:
        """Graph of each node."""
        return torch.arange(len(self)).repeat_interleave(self.node_starts.diff())

    @property
    def joined_edges(self) -> Int64[Tensor, "2 e"]:
        """Edges of all graphs as one graph, numbered from 0 through all nodes."""
        return self.edges + self.node_starts[:-1].repeat_interleave(self.edge_starts.diff())

    def subset(self, indices: Rows) -> LabeledGraphs:
        """Return the graphs with these indices, in this order.

        Raises:
            IndexError: If an index is below 0 or not below the number of graphs.
            ValueError: If the indices are no integers.
        """
        chosen = integers_of(indices)
        if bool(((chosen < 0) | (chosen >= len(self))).any()):
            raise IndexError(f"expected indices from 0 to {len(self) - 1}")
        node_rows, node_starts = rows_within(self.node_starts, chosen)
        edge_rows, edge_starts = rows_within(self.edge_starts, chosen)
        return LabeledGraphs(
            nodes=self.nodes[node_rows],
            edges=self.edges[:, edge_rows],
            bonds=self.bonds[edge_rows],
            node_starts=node_starts,
            edge_starts=edge_starts,
            targets=self.targets[chosen],
        )


def rows_within(starts: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rows of the chosen graphs, and the index of each graph's first row among them.

    Args:
        starts: (graphs + 1,) index of each graph's first row, and the number of all rows at the end.
        chosen: (n,) graphs, in any order.

    Example:
        >>> rows_within(torch.tensor([0, 2, 3]), torch.tensor([1, 0]))
        (tensor([2, 0, 1]), tensor([0, 1, 3]))
    """
    sizes = starts.diff()[chosen]
    new = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    rows = torch.arange(int(new[-1])) + (starts[chosen] - new[:-1]).repeat_interleave(sizes)
    return rows, new
