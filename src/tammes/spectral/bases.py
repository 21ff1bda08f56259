"""The bases of all eigenspaces of a batch of graphs, one after the other, and parts of them as projectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.spectral.batches import check_eigenpairs
from tammes.spectral.copies import Copies
from tammes.spectral.eigenpairs import exists
from tammes.spectral.eigenspaces import RelativeGap
from tammes.spectral.matrices import Factored
from tammes.spectral.nodes import Nodes

CONSTANTS = 3
"""What a network is told of an eigenspace: its eigenvalue, log d, 1/n."""


@dataclass(frozen=True, kw_only=True)
class Basis:
    """Where the basis V_i of one eigenspace stands.

    Args:
        graph: whose it is.
        number: of the eigenspace within its graph.
        column: the first of its columns.
        dimension: how many there are, d_i.
    """

    graph: int
    number: int
    column: int
    dimension: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Bases:
    """All eigenspaces of a batch; `Bases.of` finds them, and checks what it is given.

    Args:
        vectors: `(nodes, k)`, orthonormal columns within an eigenspace.
        spaces: where each basis stands, graph by graph.
        values: the mean eigenvalue of each eigenspace.
        starts: the first node of each graph.
        sizes: the number of nodes of each graph.
    """

    vectors: Float[Tensor, "nodes k"]
    spaces: tuple[Basis, ...]
    values: Float[Tensor, " spaces"]
    starts: tuple[int, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(
        cls,
        eigenvectors: Float[Tensor, "nodes k"],
        eigenvalues: Float[Tensor, "graphs k"],
        batch: Int[Tensor, " nodes"],
        gap: RelativeGap,
    ) -> Bases:
        """Groups the eigenvectors of each graph by their eigenvalues.

        Args:
            eigenvectors: columns beyond a graph's own number are 0.
            eigenvalues: ascending.
            batch: the graph of each node, ascending.
            gap: which eigenvalues count as equal.

        Raises:
            ValueError: for shapes that do not fit each other, for numbers that are not finite, and for what
                `RelativeGap` refuses.

        Example:
            >>> vectors, values = torch.eye(3), torch.tensor([[0.0, 2.0, 2.0]])
            >>> bases = Bases.of(vectors, values, torch.zeros(3).long(), RelativeGap())
            >>> [(basis.column, basis.dimension) for basis in bases.spaces]
            [(0, 1), (1, 2)]
        """
        check_eigenpairs(batch, eigenvectors, eigenvalues)
        graphs = len(eigenvalues)
        there = exists(eigenvectors, batch, graphs)
        if not bool(there.any()):
            raise ValueError("expected at least one eigenvector, got columns that are zero throughout")
        found = gap(eigenvalues, there)
        opens = found.number.diff(dim=1, prepend=found.number.new_full((graphs, 1), -1)) > 0
        graph, column = opens.nonzero(as_tuple=True)
        places = zip(
            graph.tolist(),
            found.number[graph, column].tolist(),
            column.tolist(),
            found.dimension[graph, column].tolist(),
            strict=True,
        )
        offset = found.count.cumsum(0) - found.count
        target = (found.number + offset[:, None])[there]
        totals = eigenvalues.new_zeros(len(graph)).index_add(0, target, eigenvalues[there])
        sizes = torch.bincount(batch, minlength=graphs)
        return cls(
            vectors=eigenvectors,
            spaces=tuple(
                Basis(graph=g, number=number, column=first, dimension=d) for g, number, first, d in places
            ),
            values=totals / found.dimension[graph, column],
            starts=tuple((sizes.cumsum(0) - sizes).tolist()),
            sizes=tuple(sizes.tolist()),
        )

    def to(self, dtype: torch.dtype) -> Bases:
        """The same with vectors and eigenvalues of another type; which of them are equal does not change."""
        return replace(self, vectors=self.vectors.to(dtype), values=self.values.to(dtype))

    def copies(self, edge_index: Int[Tensor, "2 m"] | None) -> Copies:
        """The graphs with one copy for each of their eigenspaces, as a network on all of these sees them."""
        counts = [0] * len(self.sizes)
        for basis in self.spaces:
            counts[basis.graph] += 1
        return copies_of_spaces(self.sizes, counts, self.vectors.shape[1], edge_index, self.vectors.device)

    def nodes(self, members: Sequence[int]) -> Nodes:
        """Which rows are nodes, where the graphs of some eigenspaces are filled up to the widest."""
        sizes = tuple(self.sizes[self.spaces[member].graph] for member in members)
        return Nodes(sizes=sizes, device=self.vectors.device)

    def rows(self, members: Sequence[int]) -> Int[Tensor, "some n"]:
        """The nodes of the graphs of some eigenspaces, with any node where there is none."""
        starts = [self.starts[self.spaces[member].graph] for member in members]
        within = torch.arange(self.nodes(members).width)
        return (
            (torch.tensor(starts)[:, None] + within).clamp(max=len(self.vectors) - 1).to(self.vectors.device)
        )

    def projectors(self, members: Sequence[int]) -> Factored:
        """N V V^T for some eigenspaces, as thin factors: its entries do not become small on large graphs."""
        nodes = self.nodes(members)
        dimensions = torch.tensor([self.spaces[member].dimension for member in members])
        within = torch.arange(int(dimensions.max()))
        first = torch.tensor([self.spaces[member].column for member in members])
        columns = (first[:, None] + within).clamp(max=self.vectors.shape[1] - 1).to(self.vectors.device)
        beyond = (within >= dimensions[:, None]).to(self.vectors.device)
        factor = self.vectors[self.rows(members)[:, :, None], columns[:, None]]  # (some, n, d)
        factor = factor.masked_fill(beyond[:, None] | ~nodes.mask[..., None], 0.0)
        root = nodes.counts.sqrt().to(factor)[:, None, None]
        return Factored(left=(factor * root)[:, None], nodes=nodes)

    def constants(self, members: Sequence[int]) -> Float[Tensor, "some constants"]:
        """The eigenvalue, log d and 1/n of some eigenspaces: small numbers, on large graphs, too."""
        dimensions = torch.tensor([self.spaces[member].dimension for member in members]).double()
        sizes = torch.tensor([self.sizes[self.spaces[member].graph] for member in members])
        others = torch.stack((dimensions.log(), 1 / sizes.double()), dim=1).to(self.values)
        chosen = self.values[torch.tensor(members, device=self.values.device)]
        return torch.cat((chosen[:, None], others), dim=1)


def copies_of_spaces(
    sizes: Sequence[int],
    counts: Sequence[int],
    columns: int,
    edge_index: Int[Tensor, "2 m"] | None,
    device: torch.device,
) -> Copies:
    """What `rho` sees of graphs that have so many eigenspaces, where a `Copies` has eigenvectors.

    Args:
        sizes: the number of nodes of each graph.
        counts: the number of eigenspaces of each graph.
        columns: how many there could be.
        edge_index: of the graphs, if there are edges.
        device: where the tensors are.
    """
    batch = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes)).to(device)
    present = torch.arange(columns, device=device) < torch.tensor(counts, device=device)[:, None]
    edges = batch.new_zeros(2, 0) if edge_index is None else edge_index
    return Copies.where(present, batch, edges)
