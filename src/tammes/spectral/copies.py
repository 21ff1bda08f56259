"""A batch of graphs with one copy of each graph for each of its eigenvectors.

Every pair of a node and an eigenvector of its graph is one row of a flat tensor: all copies of all graphs
form one large graph, nothing is padded, and one sum over lists of rows passes all messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tammes.listed_sum import listed_sum
from tammes.spectral.batches import check_edges
from tammes.spectral.eigen.eigenpairs import eigenvector_mask


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Partition of the rows of a flat tensor into sets of different sizes.

    Args:
        of: set of each row.
        place: number of each row within its set, from 0.
        count: number of sets.
        sizes: number of rows of each set; computed.
        widest: size of the largest set; computed.

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
    sizes: Int[Tensor, " sets"] = field(init=False)
    widest: int = field(init=False)

    def __post_init__(self) -> None:
        sizes = counts_of(self.of, self.count)
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "widest", torch.nn.functional.pad(sizes, (0, 1)).max().item())

    @property
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
        empty = values.new_zeros(self.count, self.widest, *values.shape[1:])
        return empty.index_put((self.of, self.place), values)

    def flat(self, padded: Float[Tensor, "sets widest ..."]) -> Float[Tensor, "rows ..."]:
        """Return the rows of a padded tensor: the inverse of `padded`."""
        return padded[self.of, self.place]


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
        cls, edge_index: Tensor | None, batch: Int[Tensor, " nodes"], eigenvectors: Tensor, graphs: int
    ) -> Copies:
        """Return the copies of a batch: one for each eigenvector of each graph.

        Raises:
            ValueError: where vectors and batch have different numbers of nodes, and for edges that leave the
                nodes or join graphs.
        """
        if not torch.compiler.is_exporting():  # an exported program does not look at numbers
            check_edges(edge_index, batch)
        return cls.where(eigenvector_mask(eigenvectors, batch, graphs), batch, edge_index)

    @classmethod
    def where(
        cls,
        present: Bool[Tensor, "graphs k"],
        batch: Int[Tensor, " nodes"],
        edge_index: Int[Tensor, "2 m"] | None,
    ) -> Copies:
        """Return one copy of a graph for each column that `present` marks.

        Args:
            present: whether a graph has a column.
            batch: graph of each node, ascending.
            edge_index: edges of the graphs, already checked; None for graphs without edges.

        Example:
            >>> columns, batch = torch.tensor([[True, True], [True, False]]), torch.tensor([0, 0, 1])
            >>> Copies.where(columns, batch, torch.tensor([[0, 1], [1, 0]])).row.tolist()
            [[0, 1], [2, 3], [4, -1]]
        """
        edge_index = batch.new_zeros(2, 0) if edge_index is None else edge_index
        of_node = present[batch]
        row = (of_node.flatten().cumsum(0) - 1).view_as(of_node).where(of_node, -1)
        node, column = of_node.nonzero(as_tuple=True)
        graphs = present.shape[0]
        return cls(node=node, column=column, row=row, batch=batch, graphs=graphs, edge_index=edge_index)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.node.shape[0]

    @cached_property
    def by_node(self) -> Groups:
        """Rows of each node: one for each eigenvector."""
        first = torch.searchsorted(self.node, self.node)  # row of its node, for each row
        place = torch.arange(self.rows, device=self.node.device) - first
        return Groups(of=self.node, place=place, count=self.batch.shape[0])

    @cached_property
    @torch.compiler.disable  # type: ignore[untyped-decorator]  # the sizes of the sets are numbers
    def by_eigenvector(self) -> Groups:
        """Rows of each eigenvector: one for each node of its graph."""
        width = self.row.shape[1]
        number, of = (self.batch[self.node] * width + self.column).unique(return_inverse=True)
        first = torch.searchsorted(self.batch, self.batch)  # node of its graph, for each node
        return Groups(of=of, place=self.node - first[self.node], count=number.shape[0])

    @cached_property
    def neighborhoods(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The rows that each row sums, itself among them, as lists for `listed_sum`, and their transpose.

        Row s is in the list of row r as many times as there are edges from s to r, in one copy of a graph.
        """
        nodes = self.batch.shape[0]
        loops = torch.arange(nodes, device=self.batch.device).expand(2, -1)
        source, target = torch.cat([self.edge_index, loops], dim=1)
        return *self._lists(target, source), *self._lists(source, target)

    def _lists(self, target: Int[Tensor, " edges"], source: Int[Tensor, " edges"]) -> tuple[Tensor, Tensor]:
        """Return the rows at the sources of each row's edges, list after list, and where each list begins.

        The edges are sorted once, for the graphs; the copies repeat them by index arithmetic. Row r of node i
        has the neighbors of i, in the same column of eigenvectors.
        """
        nodes = self.batch.shape[0]
        # By target, and then by source: the order of the edges does not change how sums are rounded.
        source, degree = (target * nodes + source).sort().values % nodes, counts_of(target, nodes)
        first, of_row = degree.cumsum(0) - degree, degree[self.node]
        begins = of_row.cumsum(0) - of_row
        row = torch.arange(self.rows, device=source.device).repeat_interleave(of_row)
        # Entry number `within` of a list is edge number `within` of its node.
        within = torch.arange(row.shape[0], device=source.device) - begins[row]
        return self.row[source[first[self.node[row]] + within], self.column[row]], begins

    def neighborhood_sum(self, values: Float[Tensor, "rows ..."]) -> Float[Tensor, "rows ..."]:
        """Return the sum of `values` over each row and the rows of its node's neighbors in the same copy."""
        return listed_sum(values.flatten(1), *self.neighborhoods).view_as(values)


def counts_of(numbers: Int[Tensor, " some"], count: int) -> Int[Tensor, " count"]:
    """Return how often each of 0 to count - 1 occurs; unlike `torch.bincount`, this can be exported."""
    return numbers.new_zeros(count).index_add(0, numbers, torch.ones_like(numbers))
