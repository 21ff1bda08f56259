"""A batch of graphs with one copy of each graph for each of its eigenvectors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from tammes.spectral.adjacency import check_edges
from tammes.spectral.eigenpairs import exists
from tammes.spectral.groups import Groups

TOGETHER = 4096
"""Rows of a piece on a CPU: with 64 channels, what is made of their two signs takes 2 MiB.

From 32 MiB on glibc asks the system for fresh pages for each tensor, and filling these took as long as all
arithmetic; from 1 to 16 MiB, speed is much the same.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Copies:
    """One row for each node and eigenvector of its graph, and how rows belong together.

    A network that treats eigenvectors alike sees each of them as a signal on a copy of its graph. All copies
    of all graphs are one large graph, of which nothing is padded. `Copies.of` makes it.

    Args:
        node: the node of each row, ascending.
        column: the column of its eigenvector, ascending within a node.
        row: `(nodes, k)`, the row of each node and column; -1 where there is none.
        batch: the graph of each node.
        graphs: how many there are.
        edge_index: the edges of the graphs, from the first node to the second.
    """

    node: Int[Tensor, " rows"]
    column: Int[Tensor, " rows"]
    row: Int[Tensor, "nodes k"]
    batch: Int[Tensor, " nodes"]
    graphs: int
    edge_index: Int[Tensor, "2 m"]

    @classmethod
    def of(
        cls,
        edge_index: Int[Tensor, "2 m"],
        batch: Int[Tensor, " nodes"],
        eigenvectors: Float[Tensor, "nodes k"],
        graphs: int,
    ) -> Copies:
        """The copies that a batch of eigenvectors asks for.

        Raises:
            ValueError: where vectors and batch have different numbers of nodes, and for edges that leave the
                nodes or join graphs.
        """
        check_edges(edge_index, batch)
        return cls.where(exists(eigenvectors, batch, graphs), batch, edge_index)

    @classmethod
    def where(
        cls,
        present: Bool[Tensor, "graphs k"],
        batch: Int[Tensor, " nodes"],
        edge_index: Int[Tensor, "2 m"],
    ) -> Copies:
        """One copy of a graph for each of the columns that it has.

        Args:
            present: which columns each graph has.
            batch: the graph of each node, ascending.
            edge_index: of the graphs, known to be theirs.

        Example:
            >>> columns, batch = torch.tensor([[True, True], [True, False]]), torch.tensor([0, 0, 1])
            >>> Copies.where(columns, batch, torch.tensor([[0, 1], [1, 0]])).row.tolist()
            [[0, 1], [2, 3], [4, -1]]
        """
        of_node = present[batch]
        row = (of_node.flatten().cumsum(0) - 1).view_as(of_node).where(of_node, -1)
        node, column = of_node.nonzero(as_tuple=True)
        return cls(node=node, column=column, row=row, batch=batch, graphs=len(present), edge_index=edge_index)

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.node)

    def pieces(self) -> list[Copies]:
        """The copies of a few graphs at a time, in order; on a device other than a CPU, all together.

        Large tensors are slow on a CPU, where memory is fetched from the system anew for each of them.
        """
        if self.node.device.type != "cpu" or self.rows <= TOGETHER:
            return [self]
        sizes = torch.bincount(self.batch, minlength=self.graphs)
        nodes = [0, *sizes.cumsum(0).tolist()]
        rows = [0, *torch.bincount(self.batch[self.node], minlength=self.graphs).cumsum(0).tolist()]
        owner, order = self.batch[self.edge_index[0]].sort(stable=True)
        edges = [0, *torch.bincount(owner, minlength=self.graphs).cumsum(0).tolist()]
        edge_index = self.edge_index[:, order]
        parts, first = [], 0
        for last in range(1, self.graphs + 1):
            if last == self.graphs or rows[last + 1] - rows[first] > TOGETHER:
                of = slice(rows[first], rows[last])
                row = self.row[nodes[first] : nodes[last]]
                parts.append(
                    Copies(
                        node=self.node[of] - nodes[first],
                        column=self.column[of],
                        row=(row - rows[first]).where(row >= 0, -1),
                        batch=self.batch[nodes[first] : nodes[last]] - first,
                        graphs=last - first,
                        edge_index=edge_index[:, edges[first] : edges[last]] - nodes[first],
                    )
                )
                first = last
        return parts

    @cached_property
    def by_node(self) -> Groups:
        """The rows of each node: one for each eigenvector."""
        first = self.row.where(self.row >= 0, self.rows).amin(1)
        place = torch.arange(self.rows, device=self.node.device) - first[self.node]
        return Groups(of=self.node, place=place, count=len(self.batch))

    @cached_property
    def by_eigenvector(self) -> Groups:
        """The rows of each eigenvector: one for each node of its graph."""
        width = self.row.shape[1]
        number, of = (self.batch[self.node] * width + self.column).unique(return_inverse=True)
        sizes = torch.bincount(self.batch, minlength=self.graphs)
        starts = sizes.cumsum(0) - sizes
        return Groups(of=of, place=self.node - starts[self.batch[self.node]], count=len(number))

    def neighborhood_sum(self, values: Float[Tensor, "rows ..."]) -> Float[Tensor, "rows ..."]:
        """Adds, for each node, what it and its neighbors have in the same copy.

        Args:
            values: for each row.
        """
        flat = values.flatten(1)
        if flat.dtype in (torch.float16, torch.bfloat16):
            flat = flat.float()  # sparse products know no half precision
        with torch.autocast(flat.device.type, enabled=False):
            total = _NeighborhoodSum.apply(flat, self._matrix(flat.dtype), self)  # type: ignore[no-untyped-call]
        return total.view_as(values).to(values.dtype)

    def _matrix(self, dtype: torch.dtype) -> Tensor:
        return _as_sparse(*self._incoming, self.rows, dtype)

    def _transpose(self, dtype: torch.dtype) -> Tensor:
        return _as_sparse(*self._outgoing, self.rows, dtype)

    @cached_property
    def _incoming(self) -> tuple[Tensor, Tensor]:
        return self._lists(*self._with_loops)

    @cached_property
    def _outgoing(self) -> tuple[Tensor, Tensor]:
        return self._lists(*self._with_loops.flip(0))

    @cached_property
    def _with_loops(self) -> Tensor:
        nodes = torch.arange(len(self.batch), device=self.batch.device)
        return torch.cat([self.edge_index, nodes.expand(2, -1)], dim=1)

    def _lists(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """The sources of each row, one row after the other, and where those of each begin."""
        order = (target * len(self.batch) + source).argsort()
        source = source[order]
        degree = torch.bincount(target, minlength=len(self.batch))
        begins = degree.cumsum(0) - degree
        of_row = degree[self.node]
        ends = torch.nn.functional.pad(of_row.cumsum(0), (1, 0))
        row = torch.arange(self.rows, device=source.device).repeat_interleave(of_row)
        within = torch.arange(len(row), device=source.device) - ends[row]
        edge = begins[self.node[row]] + within
        return ends, self.row[source[edge], self.column[row]]


def _as_sparse(ends: Tensor, sources: Tensor, rows: int, dtype: torch.dtype) -> Tensor:
    ones = torch.ones(len(sources), dtype=dtype, device=sources.device)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
        return torch.sparse_csr_tensor(ends, sources, ones, size=(rows, rows), check_invariants=False)


class _NeighborhoodSum(torch.autograd.Function):
    """(1 + A) x for a sparse A, whose transpose is made from the edges: torch would sort all of A for it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: Tensor, copies: Copies) -> Tensor:
        ctx.copies = copies
        return matrix @ x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        with torch.autocast(gradient.device.type, enabled=False):
            return ctx.copies._transpose(gradient.dtype) @ gradient, None, None
