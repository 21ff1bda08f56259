"""Counts of sets of nodes: nodes, pairs, edges and degrees, of random sets and along sweeps."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
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


def expected_counts(graphs: Graphs, x: Float[Tensor, "*rows total"]) -> Counts:
    """Return the mean counts, `(*rows, inputs)`, of sets with each node independently with probability x.

    Those of an indicator vector are the counts of its set.

    >>> graphs = Graphs.of(torch.tensor([[0, 1, 2], [1, 2, 3]]), sizes=(4,))
    >>> expected_counts(graphs, torch.tensor([1.0, 1.0, 1.0, 0.0])).cut.item()
    1.0
    """
    size = graphs.ground.sum(x)
    return Counts(
        size=size,
        # sum_{i < j} x_i x_j = ((sum x)^2 - sum x^2) / 2
        pairs=(size.square() - graphs.ground.sum(x.square())) / 2,
        edges=graphs.sum_over_edges(x[..., graphs.edges[0]] * x[..., graphs.edges[1]]),
        volume=graphs.ground.sum(x * graphs.degree),
        nodes=graphs.ground.size.to(x.dtype).expand_as(size),
    )


def counts_along(graphs: Graphs, sweep: Sweep) -> Counts:
    """Count in the sets of a sweep, `(rows, total)`, in O(nodes + edges) once the order is known.

    An edge whose ends have the places a < b lies in the windows that end at b, ..., a + width - 1.
    """
    ground, rank = sweep.ground, sweep.rank
    first, second = (rank.index_select(1, ends) for ends in graphs.edges)
    leaves, volume = None, ground.cumsum(graphs.degree[sweep.order])
    if sweep.width is not None:
        leaves = first.minimum(second) + sweep.width
        earlier = torch.nn.functional.pad(volume, (sweep.width, 0))[:, : ground.total]
        volume = volume - earlier.where(ground.position >= sweep.width, 0)
    size = sweep.sizes
    return Counts(
        size=size.double(),
        pairs=(size * (size - 1) // 2).double(),
        edges=ground.overlaps(graphs.owner, first.maximum(second), leaves).double(),
        volume=volume.double(),
        nodes=ground.size[ground.owner].double().expand_as(rank),
    )
