"""The numbers of nodes and edges in a set of nodes: one set, a sweep of sets, or a random set."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tammes.extensions.graphs import Graphs
from tammes.extensions.sweep import Sweep


@dataclass(frozen=True, eq=False, kw_only=True)
class Counts:
    """What is counted of a set S of nodes; all fields have the shape of what they are counted for.

    Args:
        size: |S|.
        pairs: |S| (|S| - 1) / 2.
        edges: the number of edges with both ends in S.
        volume: the sum of the degrees of the nodes in S.
        nodes: the number of nodes of the whole graph.
    """

    size: Float[Tensor, ...]
    pairs: Float[Tensor, ...]
    edges: Float[Tensor, ...]
    volume: Float[Tensor, ...]
    nodes: Float[Tensor, ...]

    @property
    def missing(self) -> Float[Tensor, ...]:
        """The number of pairs in S that are no edges."""
        return self.pairs - self.edges

    @property
    def cut(self) -> Float[Tensor, ...]:
        """The number of edges with one end in S."""
        return self.volume - 2 * self.edges


def counts_of(graphs: Graphs, members: Bool[Tensor, "*sets total"]) -> Counts:
    """Of sets that are given by indicator vectors: `(*sets, inputs)`.

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
    """Of the sets of a sweep, `(rows, total)`, in O(nodes + edges) after sorting.

    An edge whose ends have the places a < b lies in the windows that end at b, ..., a + width - 1: it enters
    at b, leaves at a + width, and running sums do the rest.
    """
    ground, rank = sweep.ground, sweep.rank
    first, second = (rank.index_select(1, ends) for ends in graphs.edges)
    start = ground.offsets.index_select(0, graphs.owner)
    enters = first.maximum(second) + start
    changes = torch.zeros_like(rank).scatter_add_(1, enters, torch.ones_like(enters))
    volume = ground.running(graphs.degree[sweep.order])
    if sweep.width is not None:
        leaves = first.minimum(second) + sweep.width
        # An edge whose ends are too far apart never enters; what leaves after the last place is not counted.
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
        edges=ground.running(changes).double(),
        volume=volume.double(),
        nodes=ground.size[ground.owner].double().expand_as(rank),
    )


def expected_counts(graphs: Graphs, x: Float[Tensor, "rows total"]) -> Counts:
    """The means over sets that have each node independently with probability x: `(rows, inputs)`."""
    size = graphs.ground.sum(x)
    return Counts(
        size=size,
        pairs=(size.square() - graphs.ground.sum(x.square())) / 2,
        edges=graphs.sum_over_edges(x[:, graphs.edges[0]] * x[:, graphs.edges[1]]),
        volume=graphs.ground.sum(x * graphs.degree),
        nodes=graphs.ground.size.to(x.dtype).expand_as(size),
    )
