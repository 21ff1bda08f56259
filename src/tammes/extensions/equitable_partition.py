"""Equitable partitions: cells of nodes that a network on graphs cannot tell apart."""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

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
    def coarsest(
        cls, neighbors: Sequence[set[int]], colors: Sequence[int], device: torch.device | None = None
    ) -> "EquitablePartition":
        """Return the equitable partition with the fewest cells, among those that do not mix colors.

        If refinement is not done after `ROUNDS` rounds, every node is a cell: equitable, but not coarse.

        Args:
            neighbors: neighbors of each node.
            colors: initial color of each node.
            device: device of the partition; the CPU unless given.

        Example:
            >>> star = EquitablePartition.coarsest([{1, 2, 3}, {0}, {0}, {0}], [0, 0, 0, 0])
            >>> star.cell.tolist(), star.links.T.tolist(), star.count.tolist()
            ([0, 1, 1, 1], [[0, 1], [1, 0]], [3, 1])
        """
        cells = _refined(neighbors, colors)
        first: dict[int, int] = {}
        for node, cell in enumerate(cells):
            first.setdefault(cell, node)
        counts = [
            sorted(Counter(cells[other] for other in neighbors[node]).items()) for node in first.values()
        ]
        links = [(cell, other) for cell, row in zip(first, counts, strict=True) for other, _ in row]
        integers = partial(torch.tensor, dtype=torch.long, device=device)
        return cls(
            cell=integers(cells),
            representative=integers(list(first.values())),
            links=integers(links).reshape(-1, 2).T,
            count=integers([count for row in counts for _, count in row]),
        )

    @classmethod
    def join(cls, parts: Sequence["EquitablePartition"]) -> "EquitablePartition":
        """Return the partitions of several batches of graphs as one."""
        cells = [len(part.representative) for part in parts]
        return cls(
            cell=shifted([part.cell for part in parts], cells),
            representative=shifted(
                [part.representative for part in parts], [len(part.cell) for part in parts]
            ),
            links=shifted([part.links for part in parts], cells),
            count=torch.cat([part.count for part in parts]),
        )

    @cached_property
    def size(self) -> Int[Tensor, " cells"]:
        """Number of nodes of each cell."""
        return torch.bincount(self.cell, minlength=len(self.representative))

    @cached_property
    def quotient(self) -> Float[Tensor, "cells cells"]:
        """The counts as a sparse matrix B (CSR, float32); B' = D B D^-1, with D the sizes of the cells."""
        cells = len(self.representative)
        starts = torch.nn.functional.pad(torch.bincount(self.links[0], minlength=cells).cumsum(0), (1, 0))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
            return torch.sparse_csr_tensor(
                starts, self.links[1], self.count.float(), size=(cells, cells), check_invariants=False
            )


def shifted(parts: Sequence[Int[Tensor, "..."]], sizes: Sequence[int]) -> Int[Tensor, "..."]:
    """Return indices into each of several lists as indices into their concatenation.

    >>> shifted([torch.tensor([0, 1]), torch.tensor([1])], [3, 2]).tolist()
    [0, 1, 4]
    """
    together = torch.cat(list(parts), dim=-1)
    size = torch.tensor(sizes, device=together.device)
    count = torch.tensor([part.shape[-1] for part in parts], device=together.device)
    return together + (size.cumsum(0) - size).repeat_interleave(count)


def _refined(neighbors: Sequence[set[int]], colors: Sequence[int]) -> list[int]:
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
