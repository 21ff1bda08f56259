"""The bases of all eigenspaces of a batch of graphs, and subsets of them as projectors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.checks import check_integer
from tammes.spectral.copies import Copies
from tammes.spectral.eigen.eigenpairs import eigenvector_mask
from tammes.spectral.eigen.eigenspaces import RelativeGap
from tammes.spectral.equivariant.matrices import Factored, Nodes

CONSTANTS = 3
"""Number of constants that a network gets with an eigenspace: its eigenvalue, log d, 1/n."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Bases:
    """The bases V_i of all eigenspaces of a batch, graph by graph; built by `Bases.of`.

    Eigenspaces are numbered through the batch, and methods take the numbers of some of them, `members`.
    Index tensors but `batch` are kept on the CPU, where chunks of eigenspaces are formed.

    Args:
        vectors: eigenvectors, orthonormal within an eigenspace.
        values: mean eigenvalue of each eigenspace.
        graph: graph of each eigenspace.
        number: number of each eigenspace within its graph.
        column: first column of each basis.
        dimension: number of columns of each basis, d_i.
        batch: graph of each node.
        sizes: number of nodes of each graph.
    """

    vectors: Float[Tensor, "nodes k"]
    values: Float[Tensor, " spaces"]
    graph: Int[Tensor, " spaces"]
    number: Int[Tensor, " spaces"]
    column: Int[Tensor, " spaces"]
    dimension: Int[Tensor, " spaces"]
    batch: Int[Tensor, " nodes"]
    sizes: Int[Tensor, " graphs"]

    @classmethod
    def of(
        cls, eigenvectors: Tensor, eigenvalues: Tensor, batch: Int[Tensor, " nodes"], gap: RelativeGap
    ) -> Bases:
        """Return the eigenvectors of each graph grouped by their eigenvalues.

        Args:
            eigenvectors: matrix of shape (nodes, k), 0 in the columns that a graph lacks; an
                `EigenvectorNetwork` has checked that it is finite.
            eigenvalues: matrix of shape (graphs, k), ascending.
            batch: graph of each node, ascending.
            gap: rule for equal eigenvalues.

        Raises:
            ValueError: for shapes that do not fit each other, and eigenvalues that are not finite or do not
                ascend.

        Example:
            >>> vectors, values = torch.eye(3), torch.tensor([[0.0, 2.0, 2.0]])
            >>> bases = Bases.of(vectors, values, torch.zeros(3).long(), RelativeGap())
            >>> bases.column.tolist(), bases.dimension.tolist()
            ([0, 1], [1, 2])
        """
        graphs = len(eigenvalues)
        mask = eigenvector_mask(eigenvectors, batch, graphs)
        found = gap(eigenvalues, mask)
        opens = found.number.diff(dim=1, prepend=found.number.new_full((graphs, 1), -1)) > 0
        graph, column = opens.nonzero(as_tuple=True)
        dimension = found.dimension[graph, column]
        space = opens[mask].cumsum(0) - 1
        totals = eigenvalues.new_zeros(len(graph)).index_add(0, space, eigenvalues[mask])
        return cls(
            vectors=eigenvectors,
            values=totals / dimension,
            graph=graph.cpu(),
            number=found.number[graph, column].cpu(),
            column=column.cpu(),
            dimension=dimension.cpu(),
            batch=batch,
            sizes=torch.bincount(batch, minlength=graphs).cpu(),
        )

    def to(self, dtype: torch.dtype) -> Bases:
        """Return the same eigenspaces with vectors and eigenvalues of another type."""
        return replace(self, vectors=self.vectors.to(dtype), values=self.values.to(dtype))

    def by_multiplicity(
        self, networks: nn.ModuleList, known: tuple[int, ...] | None
    ) -> list[tuple[nn.Module, Int[Tensor, " some"]]]:
        """Return the networks that get any eigenspaces, each with its own.

        Args:
            networks: one network, or one for each of the multiplicities.
            known: multiplicity that each network is for; None for one network for all of them.

        Raises:
            ValueError: for an eigenspace of another multiplicity.
        """
        if known is None:
            return [(networks[0], torch.arange(len(self.dimension)))] if len(self.dimension) else []
        missing = (~torch.isin(self.dimension, torch.tensor(known))).nonzero().flatten()
        if len(missing):
            raise ValueError(
                f"an eigenspace of graph {int(self.graph[missing[0]])} has multiplicity "
                f"{int(self.dimension[missing[0]])}, and there are networks for {known} alone: add it to "
                "multiplicities, or leave these out for one network that gets the multiplicity as an input"
            )
        shares = [(self.dimension == multiplicity).nonzero().flatten() for multiplicity in known]
        return [pair for pair in zip(networks, shares, strict=True) if len(pair[1])]

    def copies(self, edge_index: Int[Tensor, "2 m"] | None) -> Copies:
        """Return the graphs with one copy for each of their eigenspaces, as rho sees them."""
        counts = torch.bincount(self.graph, minlength=len(self.sizes))
        present = torch.arange(self.vectors.shape[1]) < counts[:, None]
        return Copies.where(present.to(self.batch.device), self.batch, edge_index)

    def nodes(self, members: Int[Tensor, " some"]) -> Nodes:
        """Return the sizes of the graphs of some eigenspaces, to pad them to the largest."""
        return Nodes(sizes=tuple(self.sizes[self.graph[members]].tolist()), device=self.vectors.device)

    def rows(self, members: Int[Tensor, " some"]) -> Int[Tensor, "some n"]:
        """Return the nodes of the graphs of some eigenspaces, with any node in the padding."""
        starts = (self.sizes.cumsum(0) - self.sizes)[self.graph[members]]
        within = torch.arange(self.nodes(members).width)
        return (starts[:, None] + within).clamp(max=len(self.vectors) - 1).to(self.vectors.device)

    def projectors(self, members: Int[Tensor, " some"]) -> Factored:
        """Return n V V^T for some eigenspaces, as thin factors sqrt(n) V.

        The factor n keeps the entries from shrinking on large graphs.
        """
        nodes = self.nodes(members)
        dimensions = self.dimension[members]
        within = torch.arange(int(dimensions.max()))
        columns = (self.column[members][:, None] + within).clamp(max=self.vectors.shape[1] - 1)
        beyond = (within >= dimensions[:, None]).to(self.vectors.device)
        factor = self.vectors[self.rows(members)[:, :, None], columns.to(self.vectors.device)[:, None]]
        factor = factor.masked_fill(beyond[:, None] | ~nodes.mask[..., None], 0.0)  # (some, n, d)
        root = nodes.counts.sqrt().to(factor)[:, None, None]
        return Factored(left=(factor * root)[:, None], nodes=nodes)

    def constants(self, members: Int[Tensor, " some"]) -> Float[Tensor, "some constants"]:
        """Return the eigenvalue, log d and 1/n of some eigenspaces, which stay small on large graphs."""
        sizes = self.sizes[self.graph[members]].double()
        others = torch.stack((self.dimension[members].double().log(), 1 / sizes), dim=1).to(self.values)
        return torch.cat((self.values[members.to(self.values.device)][:, None], others), dim=1)


def check_multiplicities(known: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return `known`, None or a tuple of different integers of at least 1; anything else raises ValueError.

    Example:
        >>> check_multiplicities((1, 1))
        Traceback (most recent call last):
            ...
        ValueError: multiplicities must be a tuple of different integers, at least one, got (1, 1)
    """
    if known is not None and (not isinstance(known, tuple) or not known or len(set(known)) < len(known)):
        raise ValueError(f"multiplicities must be a tuple of different integers, at least one, got {known!r}")
    for each in known or ():
        check_integer("each of multiplicities", each)
    return known
