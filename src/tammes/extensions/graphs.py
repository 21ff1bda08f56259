"""Graphs of different sizes in one batch, and their equitable partitions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.checks import check_indices
from tammes.extensions.ground_set import GroundSet
from tammes.listed_sum import lists_of

ROUNDS = 100
"""Rounds of color refinement at most; a long path needs half as many rounds as it has nodes."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EquitablePartition:
    """Partition of nodes into cells, such that all nodes of a cell have equally many neighbors in each cell.

    Node features that are equal within cells are still so after they are summed over neighbors. A network
    that starts from degrees therefore needs to be evaluated for one node of each cell only. Color refinement
    (the test of Weisfeiler and Leman) finds the coarsest such partition.

    Args:
        cell: `(total,)`, cell of each node.
        representative: `(cells,)`, a node of each cell.
        links: `(2, m)`, pairs of neighboring cells, sorted.
        count: `(m,)`, number of neighbors in the second cell that a node in the first one has.
    """

    cell: Int[Tensor, " total"]
    representative: Int[Tensor, " cells"]
    links: Int[Tensor, "2 m"]
    count: Int[Tensor, " m"]

    @classmethod
    def coarsest(cls, arcs: Int[Tensor, "2 m"], colors: Int[Tensor, " total"]) -> "EquitablePartition":
        """Return the equitable partition with the fewest cells, among those that do not mix colors.

        If refinement is not done after `ROUNDS` rounds, every node is a cell: equitable, but not coarse.

        Args:
            arcs: both directions of each edge, sorted.
            colors: initial color of each node.

        Example:
            >>> star = Graphs.of(torch.tensor([[0, 0, 0], [1, 2, 3]]), sizes=(4,)).partition
            >>> star.cell.tolist(), star.links.T.tolist(), star.count.tolist()
            ([0, 1, 1, 1], [[0, 1], [1, 0]], [3, 1])
        """
        degrees = torch.bincount(arcs[0], minlength=len(colors)).tolist()
        neighbors = [others.tolist() for others in arcs[1].split(degrees)]
        cell = torch.tensor(_refined(neighbors, colors.tolist()), device=arcs.device)
        # Cells are numbered in the order of their first nodes, which represent them.
        is_first = cell.cummax(0).values.diff(prepend=cell[:1] - 1) > 0
        links, count = cell[arcs[:, is_first[arcs[0]]]].unique(dim=1, return_counts=True)
        return cls(cell=cell, representative=is_first.nonzero().flatten(), links=links, count=count)

    @classmethod
    def join(cls, parts: Sequence["EquitablePartition"]) -> "EquitablePartition":
        """Return the partitions of several batches of graphs as one."""
        cells, nodes = [len(part.representative) for part in parts], [len(part.cell) for part in parts]
        return cls(
            cell=shifted([part.cell for part in parts], cells),
            representative=shifted([part.representative for part in parts], nodes),
            links=shifted([part.links for part in parts], cells),
            count=torch.cat([part.count for part in parts]),
        )

    @cached_property
    def neighbors(self) -> tuple[Int[Tensor, "..."], ...]:
        """For a node of each cell, the cells of its neighbors, and the transpose; lists for `listed_sum`."""
        node, neighbor = self.links.repeat_interleave(self.count, dim=1)
        cells = len(self.representative)
        return *lists_of(node, neighbor, cells), *lists_of(neighbor, node, cells)


def shifted(parts: Sequence[Int[Tensor, "..."]], sizes: Sequence[int]) -> Int[Tensor, "..."]:
    """Return indices into each of several lists as indices into their concatenation.

    >>> shifted([torch.tensor([0, 1]), torch.tensor([1])], [3, 2]).tolist()
    [0, 1, 4]
    """
    together = torch.cat(list(parts), dim=-1)
    size = torch.tensor(sizes, device=together.device)
    count = torch.tensor([part.shape[-1] for part in parts], device=together.device)
    return together + (size.cumsum(0) - size).repeat_interleave(count)


def _refined(neighbors: Sequence[list[int]], colors: list[int]) -> list[int]:
    """Return the stable colors of color refinement, counted from 0."""
    for _ in range(ROUNDS):
        seen: dict[tuple[int, tuple[int, ...]], int] = {}
        finer = [
            # A node's new color stands for its old one and those of its neighbors.
            seen.setdefault((own, tuple(sorted(colors[other] for other in others))), len(seen))
            for own, others in zip(colors, neighbors, strict=True)
        ]
        if len(seen) == len(set(colors)):
            return finer
        colors = finer
    return list(range(len(colors)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Graphs:
    """Undirected graphs without self-loops; the elements of their ground sets are the nodes.

    `Graphs.of` accepts any list of edges.

    Args:
        ground: ground sets of the nodes.
        edges: `(2, m)`, each edge once, as indices into all nodes, the smaller one first.
        parts: batches that these graphs were joined from; their sorted edges and partitions are reused.
    """

    ground: GroundSet
    edges: Int[Tensor, "2 m"]
    parts: tuple["Graphs", ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, edges: Int[Tensor, "2 any"], sizes: tuple[int, ...]) -> "Graphs":
        """Return graphs with these edges, in either or both directions; self-loops and repeats are dropped.

        Args:
            edges: pairs of indices into all nodes, as torch_geometric's `edge_index` of a batch.
            sizes: number of nodes of each graph.

        Raises:
            ValueError: for edges of another shape, with indices out of range, or between different graphs,
                and for a graph without nodes.

        Example:
            >>> Graphs.of(torch.tensor([[0, 1, 1], [1, 0, 1]]), sizes=(3,)).edges.tolist()
            [[0], [1]]
        """
        ground = GroundSet(sizes=sizes, device=edges.device)
        if edges.dim() != 2 or edges.shape[0] != 2 or edges.is_floating_point():
            got = f"{edges.dtype} {tuple(edges.shape)}"
            raise ValueError(f"expected edges as integers of shape (2, m), got {got}")
        check_indices("the nodes of edges", edges, ground.total)
        first, second = edges.long().sort(dim=0).values
        if bool((ground.owner[first] != ground.owner[second]).any()):
            raise ValueError("expected edges within graphs, got one that joins two; check the sizes")
        numbers = (first * ground.total + second)[first != second].unique()  # one number for each edge
        return cls(ground=ground, edges=torch.stack([numbers // ground.total, numbers % ground.total]))

    @classmethod
    def join(cls, parts: Sequence["Graphs"]) -> "Graphs":
        """Return several batches as one.

        >>> one = Graphs.of(torch.tensor([[0], [1]]), sizes=(2,))
        >>> Graphs.join([one, one]).edges.tolist()
        [[0, 2], [1, 3]]
        """
        nodes = [part.ground.total for part in parts]
        edges = shifted([part.edges for part in parts], nodes) if parts else torch.zeros(2, 0).long()
        sizes = tuple(size for part in parts for size in part.ground.sizes)
        return cls(ground=GroundSet(sizes=sizes, device=edges.device), edges=edges, parts=tuple(parts))

    @cached_property
    def arcs(self) -> Int[Tensor, "2 twice_m"]:
        """Both directions of each edge, sorted by the first node, then the second."""
        if self.parts:
            return shifted([part.arcs for part in self.parts], [part.ground.total for part in self.parts])
        arcs = torch.cat([self.edges, self.edges.flip(0)], dim=1)
        return arcs[:, (arcs[0] * self.ground.total + arcs[1]).argsort()]

    @cached_property
    def adjacent(self) -> tuple[Int[Tensor, "..."], ...]:
        """Neighbors of each node, as indices into all nodes."""
        return self.arcs[1].split(self.degree.tolist())

    @cached_property
    def partition(self) -> EquitablePartition:
        """Coarsest equitable partition of the nodes of each graph."""
        if self.parts:
            return EquitablePartition.join([part.partition for part in self.parts])
        return EquitablePartition.coarsest(self.arcs, self.ground.owner)

    @cached_property
    def singletons(self) -> EquitablePartition:
        """Partition with each node as a separate cell."""
        nodes = torch.arange(self.ground.total, device=self.edges.device)
        once = torch.ones_like(self.arcs[0])
        return EquitablePartition(cell=nodes, representative=nodes, links=self.arcs, count=once)

    @cached_property
    def owner(self) -> Int[Tensor, " m"]:
        """Graph of each edge."""
        return self.ground.owner[self.edges[0]]

    @cached_property
    def degree(self) -> Int[Tensor, " total"]:
        """Number of neighbors of each node."""
        return torch.bincount(self.edges.flatten(), minlength=self.ground.total)

    def sum_over_edges(self, values: Float[Tensor, "*rows m"]) -> Float[Tensor, "*rows inputs"]:
        """Sum the values of each graph's edges.

        >>> graphs = Graphs.of(torch.tensor([[0, 1, 3], [1, 2, 4]]), sizes=(3, 2))
        >>> graphs.sum_over_edges(torch.tensor([1.0, 2.0, 4.0])).tolist()
        [3.0, 4.0]
        """
        return self.ground.sum(values, self.owner)

    def neighbors(self, index: int) -> list[set[int]]:
        """Return the neighbors of each node of one graph, with nodes counted from 0 in it.

        >>> Graphs.of(torch.tensor([[0, 2], [1, 3]]), sizes=(2, 2)).neighbors(1)
        [{1}, {0}]
        """
        start = int(self.ground.offsets[index])
        own = self.adjacent[start : start + self.ground.sizes[index]]
        return [{other - start for other in others.tolist()} for others in own]

    def pairs(self, index: int) -> list[tuple[int, int]]:
        """Return the edges of one graph, with nodes counted from 0 in it."""
        own = self.edges[:, self.owner == index] - self.ground.offsets[index]
        return [(first, second) for first, second in own.T.tolist()]
