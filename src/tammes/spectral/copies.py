"""A batch of graphs with one copy of each graph for each of its eigenvectors.

The obvious ways to apply phi to every eigenvector are a loop over columns, many small operations, or a padded
tensor (nodes, k, channels), mostly zeros where graphs differ in size. Here every pair of a node and an
eigenvector of its graph is one row of a flat tensor: one large graph, nothing padded, and one sparse product
for all messages.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from tammes.spectral.batches import check_edges
from tammes.spectral.eigen.eigenpairs import eigenvector_mask

PIECE_ROWS = 4096
"""Rows of a piece on a CPU: with 64 channels and both signs, a tensor of a piece takes 2 MiB.

glibc fetches every tensor of 32 MiB or more from the system as fresh pages, and filling those pages took as
long as all arithmetic. Between 1 and 16 MiB the speed hardly depends on the size.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Partition of the rows of a flat tensor into sets of different sizes.

    Args:
        of: set of each row.
        place: number of each row within its set, from 0.
        count: number of sets.

    Example:
        >>> groups = Groups(of=torch.tensor([0, 1, 0]), place=torch.tensor([0, 0, 1]), count=2)
        >>> groups.mean(torch.tensor([[1.0], [2.0], [3.0]])).tolist()
        [[2.0], [2.0]]
        >>> groups.padded(torch.tensor([[1.0], [2.0], [3.0]])).squeeze(-1).tolist()
        [[1.0, 3.0], [2.0, 0.0]]
    """

    of: Int[Tensor, " rows"]
    place: Int[Tensor, " rows"]
    count: int

    @cached_property
    def sizes(self) -> Int[Tensor, " sets"]:
        """Number of rows of each set."""
        return torch.bincount(self.of, minlength=self.count)

    @cached_property
    def widest(self) -> int:
        """Size of the largest set."""
        return int(self.sizes.max()) if self.count else 0

    @cached_property
    def _slot(self) -> Int[Tensor, " rows"]:
        return self.of * self.widest + self.place

    @cached_property
    def mask(self) -> Bool[Tensor, "sets widest"]:
        """Whether a place of `padded` holds a row."""
        return torch.arange(self.widest, device=self.of.device) < self.sizes[:, None]

    def sum(self, values: Float[Tensor, "rows ..."]) -> Float[Tensor, "sets ..."]:
        """Return the sum of the rows of each set; 0 for an empty set."""
        return values.new_zeros(self.count, *values.shape[1:]).index_add(0, self.of, values)

    def mean(self, values: Float[Tensor, "rows ..."]) -> Float[Tensor, "sets ..."]:
        """Return the mean of the rows of each set; 0 for an empty set."""
        sizes = self.sizes.clamp(min=1).view(-1, *[1] * (values.dim() - 1))
        return self.sum(values) / sizes

    def padded(self, values: Float[Tensor, "rows ..."]) -> Float[Tensor, "sets widest ..."]:
        """Return the rows of each set in their places, padded with zeros to the largest set."""
        empty = values.new_zeros(self.count * self.widest, *values.shape[1:])
        return empty.index_copy(0, self._slot, values).unflatten(0, (self.count, self.widest))

    def flat(self, padded: Float[Tensor, "sets widest ..."]) -> Float[Tensor, "rows ..."]:
        """Return the rows of a padded tensor: the inverse of `padded`."""
        return padded.flatten(0, 1)[self._slot]


@dataclass(frozen=True, kw_only=True, eq=False)
class Copies:
    """One row for each node and each eigenvector of its graph; built by `Copies.of`.

    A network that treats eigenvectors alike sees each of them as a signal on its own copy of the graph.

    Args:
        node: node of each row, ascending.
        column: column of the eigenvector of each row, ascending within a node.
        row: row of each node and column; -1 where the graph lacks the column.
        batch: graph of each node.
        graphs: number of graphs.
        edge_index: edges of the graphs, from the first node to the second.
    """

    node: Int[Tensor, " rows"]
    column: Int[Tensor, " rows"]
    row: Int[Tensor, "nodes k"]
    batch: Int[Tensor, " nodes"]
    graphs: int
    edge_index: Int[Tensor, "2 m"]

    @classmethod
    def of(
        cls, edge_index: Tensor, batch: Int[Tensor, " nodes"], eigenvectors: Tensor, graphs: int
    ) -> Copies:
        """Return the copies of a batch: one for each eigenvector of each graph.

        Raises:
            ValueError: where vectors and batch have different numbers of nodes, and for edges that leave the
                nodes or join graphs.
        """
        check_edges(edge_index, batch)
        return cls.where(eigenvector_mask(eigenvectors, batch, graphs), batch, edge_index)

    @classmethod
    def where(
        cls, present: Bool[Tensor, "graphs k"], batch: Int[Tensor, " nodes"], edge_index: Int[Tensor, "2 m"]
    ) -> Copies:
        """Return one copy of a graph for each column that `present` marks.

        Args:
            present: whether a graph has a column.
            batch: graph of each node, ascending.
            edge_index: edges of the graphs, already checked.

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
        """Number of rows."""
        return len(self.node)

    def pieces(self) -> list[Copies]:
        """Return the copies in order, a few graphs at a time on a CPU, and all together elsewhere.

        Large tensors are slow on a CPU (see `PIECE_ROWS`); a GPU wants few large operations.
        """
        if self.node.device.type != "cpu" or self.rows <= PIECE_ROWS:
            return [self]
        sizes = torch.bincount(self.batch, minlength=self.graphs)
        nodes = [0, *sizes.cumsum(0).tolist()]
        rows = [0, *torch.bincount(self.batch[self.node], minlength=self.graphs).cumsum(0).tolist()]
        # Nodes and rows ascend with the graph; with sorted edges, every tensor of a piece is a slice.
        owner, order = self.batch[self.edge_index[0]].sort(stable=True)
        edges = [0, *torch.bincount(owner, minlength=self.graphs).cumsum(0).tolist()]
        edge_index = self.edge_index[:, order]
        parts, first = [], 0
        for last in range(1, self.graphs + 1):
            if last == self.graphs or rows[last + 1] - rows[first] > PIECE_ROWS:
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
        """Rows of each node: one for each eigenvector."""
        first = self.row.where(self.row >= 0, self.rows).amin(1)
        place = torch.arange(self.rows, device=self.node.device) - first[self.node]
        return Groups(of=self.node, place=place, count=len(self.batch))

    @cached_property
    def by_eigenvector(self) -> Groups:
        """Rows of each eigenvector: one for each node of its graph."""
        width = self.row.shape[1]
        number, of = (self.batch[self.node] * width + self.column).unique(return_inverse=True)
        sizes = torch.bincount(self.batch, minlength=self.graphs)
        starts = sizes.cumsum(0) - sizes
        return Groups(of=of, place=self.node - starts[self.batch[self.node]], count=len(number))

    def neighborhood_sum(self, values: Float[Tensor, "rows ..."]) -> Float[Tensor, "rows ..."]:
        """Return the sum of `values` over each row and the rows of its node's neighbors in the same copy."""
        flat = values.flatten(1)
        if flat.dtype in (torch.float16, torch.bfloat16):
            flat = flat.float()  # torch has no sparse products in half precision
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
        """Return (1 + A) over all copies in CSR form: where the entries of each row begin, and their columns.

        The edges are sorted once, for the graphs; the copies repeat them by index arithmetic. Row r of node i
        has the neighbors of i, in the same column of eigenvectors.
        """
        order = (target * len(self.batch) + source).argsort()  # by target, then source: CSR order
        source = source[order]
        degree = torch.bincount(target, minlength=len(self.batch))
        begins = degree.cumsum(0) - degree
        of_row = degree[self.node]
        ends = torch.nn.functional.pad(of_row.cumsum(0), (1, 0))
        row = torch.arange(self.rows, device=source.device).repeat_interleave(of_row)
        # Entry number `within` of a row is edge number `within` of its node.
        within = torch.arange(len(row), device=source.device) - ends[row]
        edge = begins[self.node[row]] + within
        return ends, self.row[source[edge], self.column[row]]


def _as_sparse(ends: Tensor, sources: Tensor, rows: int, dtype: torch.dtype) -> Tensor:
    ones = torch.ones(len(sources), dtype=dtype, device=sources.device)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
        return torch.sparse_csr_tensor(ends, sources, ones, size=(rows, rows), check_invariants=False)


class _NeighborhoodSum(torch.autograd.Function):
    """(1 + A) x for a sparse A.

    The backward pass needs the transpose. torch would sort all entries of A for it; sorting the edges of the
    graphs before they are copied is k times less work.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: Tensor, copies: Copies) -> Tensor:
        ctx.copies = copies
        return matrix @ x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        with torch.autocast(gradient.device.type, enabled=False):
            return ctx.copies._transpose(gradient.dtype) @ gradient, None, None
