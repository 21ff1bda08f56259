"""Counts of sets of nodes: nodes, pairs, edges and degrees, of listed sets, along sweeps and on average."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tammes.extensions.graphs import Graphs
from tammes.extensions.ground_set import Sweep


@dataclass(frozen=True, eq=False, kw_only=True)
class Counts:
    """Counts of a set S of nodes; all fields have one shape, an entry for each set.

    Args:
        size: |S|.
        pairs: |S| (|S| - 1) / 2.
        edges: number of edges with both ends in S.
        volume: sum of the degrees of the nodes in S.
        nodes: number of nodes of the whole graph.
    """

    size: Float[Tensor, "..."]
    pairs: Float[Tensor, "..."]
    edges: Float[Tensor, "..."]
    volume: Float[Tensor, "..."]
    nodes: Float[Tensor, "..."]

    @property
    def missing(self) -> Float[Tensor, "..."]:
        """Number of pairs in S without an edge."""
        return self.pairs - self.edges

    @property
    def cut(self) -> Float[Tensor, "..."]:
        """Number of edges with one end in S."""
        return self.volume - 2 * self.edges

    @property
    def density(self) -> Float[Tensor, "..."]:
        """Fraction of the pairs in S that are edges; 0 for sets without pairs."""
        return self.edges / self.pairs.clamp(min=1)


def counts_of(graphs: Graphs, members: Bool[Tensor, "*sets total"]) -> Counts:
    """Count in sets given by indicator vectors; the fields have the shape `(*sets, inputs)`.

    >>> graphs = Graphs.of(torch.tensor([[0, 1, 2], [1, 2, 3]]), sizes=(4,))
    >>> counts_of(graphs, torch.tensor([True, True, True, False])).cut.item()
    1.0
    """
    inside = members.double()
    size = graphs.ground.sum(inside)
    both = inside[..., graphs.edges[0]] * inside[..., graphs.edges[1]]
    return Counts(
        size=size,
        pairs=size * (size - 1) / 2,
        edges=graphs.sum_over_edges(both),
        volume=graphs.ground.sum(inside * graphs.degree),
        nodes=graphs.ground.size.double().expand_as(size),
    )


def counts_along(graphs: Graphs, sweep: Sweep) -> Counts:
    """Count in the sets of a sweep, `(rows, total)`, in O(nodes + edges) once the order is known.

    An edge whose ends have the places a < b lies in the windows that end at b, ..., a + width - 1. Writing +1
    at b and -1 at a + width, the cumulative sums of these changes are the numbers of edges.
    """
    ground, rank = sweep.ground, sweep.rank
    first, second = (rank.index_select(1, ends) for ends in graphs.edges)
    start = ground.offsets.index_select(0, graphs.owner)
    enters = first.maximum(second) + start
    changes = torch.zeros_like(rank).scatter_add_(1, enters, torch.ones_like(enters))
    volume = ground.cumsum(graphs.degree[sweep.order])
    if sweep.width is not None:
        leaves = first.minimum(second) + sweep.width
        # An edge whose ends are width or more places apart is in no window: its +1 is taken back. An edge
        # that leaves after the last place has no -1.
        ever = first.sub(second).abs() < sweep.width
        stays = leaves >= ground.size[graphs.owner]
        changes.scatter_add_(1, enters, (ever.long() - 1))
        changes.scatter_add_(1, (leaves + start).where(~stays, start), -(ever & ~stays).long())
        earlier = torch.nn.functional.pad(volume, (sweep.width, 0))[:, : ground.total]
        volume = volume - earlier.where(ground.position >= sweep.width, 0)
    size = sweep.sizes
    return Counts(
        size=size.double(),
        pairs=(size * (size - 1) // 2).double(),
        edges=ground.cumsum(changes).double(),
        volume=volume.double(),
        nodes=ground.size[ground.owner].double().expand_as(rank),
    )


def expected_counts(graphs: Graphs, x: Float[Tensor, "rows total"]) -> Counts:
    """Return the mean counts, `(rows, inputs)`, of sets with each node independently with probability x."""
    size = graphs.ground.sum(x)
    return Counts(
        size=size,
        # sum_{i < j} x_i x_j = ((sum x)^2 - sum x^2) / 2
        pairs=(size.square() - graphs.ground.sum(x.square())) / 2,
        edges=graphs.sum_over_edges(x[:, graphs.edges[0]] * x[:, graphs.edges[1]]),
        volume=graphs.ground.sum(x * graphs.degree),
        nodes=graphs.ground.size.to(x.dtype).expand_as(size),
    )
