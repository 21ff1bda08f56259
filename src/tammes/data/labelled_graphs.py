"""Many graphs with numbers to be learned from them, one after the other in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelledGraphs:
    """Graphs whose nodes and edges carry a kind each, and the numbers that belong to each graph.

    Args:
        nodes: (nodes,), the kind of each node, from 0.
        edges: (2, edges), numbered from 0 *within* each graph; an undirected edge stands there both ways.
        bonds: (edges,), the kind of each edge, from 0.
        node_starts: (graphs + 1,), where each graph's nodes begin, and the number of all at the end.
        edge_starts: (graphs + 1,), likewise of edges.
        targets: (graphs, targets).

    Raises:
        ValueError: for lengths that do not belong together, a kind below 0, or an edge that leaves its graph.

    Example:
        >>> whole = torch.tensor
        >>> pair = LabelledGraphs(
        ...     nodes=whole([0, 0, 5]), edges=whole([[0, 1], [1, 0]]), bonds=whole([1, 1]),
        ...     node_starts=whole([0, 2, 3]), edge_starts=whole([0, 2, 2]), targets=whole([[0.5], [1.5]]),
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
        if self.edges.dim() != 2 or len(self.edges) != 2:
            raise ValueError(f"expected edges of shape (2, e), got {tuple(self.edges.shape)}")
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
                raise ValueError(f"expected {name} that do not fall")
        if len(self.bonds) != self.edges.shape[1]:
            raise ValueError(f"expected {self.edges.shape[1]} bonds, one an edge, got {len(self.bonds)}")
        if bool((self.nodes < 0).any()) or bool((self.bonds < 0).any()):
            raise ValueError("expected kinds of nodes and edges that are counted from 0, got one below")
        room = self.node_starts.diff().repeat_interleave(self.edge_starts.diff())
        if bool(((self.edges < 0) | (self.edges >= room)).any()):
            raise ValueError(
                "expected edges numbered from 0 within each graph, got one that leaves its graph"
            )

    def __len__(self) -> int:
        """The number of graphs."""
        return len(self.targets)

    def subset(self, indices: Sequence[int]) -> LabelledGraphs:
        """These graphs alone, in this order.

        Raises:
            IndexError: for an index that is none of a graph.
        """
        chosen = torch.as_tensor(indices, dtype=torch.long)
        if bool(((chosen < 0) | (chosen >= len(self))).any()):
            raise IndexError(f"expected indices from 0 to {len(self) - 1}")
        node_rows, node_starts = _rows(self.node_starts, chosen)
        edge_rows, edge_starts = _rows(self.edge_starts, chosen)
        return LabelledGraphs(
            nodes=self.nodes[node_rows],
            edges=self.edges[:, edge_rows],
            bonds=self.bonds[edge_rows],
            node_starts=node_starts,
            edge_starts=edge_starts,
            targets=self.targets[chosen],
        )


def _rows(starts: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """The rows of the chosen graphs, and where each graph's begin among them."""
    sizes = starts.diff()[chosen]
    new = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    rows = torch.arange(int(new[-1])) + (starts[chosen] - new[:-1]).repeat_interleave(sizes)
    return rows, new
