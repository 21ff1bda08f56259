"""Positives by augmentation of graphs: two random changes of one graph that mean the same (GraphCL)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_number
from tammes.data.graph_batch import GraphBatch

_MIX = (-7046029254386353131, -4658895280553007687, -7723592293110705685)
"""The constants of splitmix64, as signed integers."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphNoise:
    """Random numbers that depend on the seed, the graph's row in its batch and a place in the graph alone.

    So a graph has the same change on its own, in its batch, and on any of several processes.

    Args:
        seed: random seed of a view.
        rows: (graphs,) row of each graph in the whole batch.
    """

    seed: int
    rows: Int64[Tensor, " graphs"]

    def uniform(
        self, graph: Int64[Tensor, " n"], place: Int64[Tensor, " n"], *, stream: int
    ) -> Float[Tensor, " n"]:
        """Return numbers in [0, 1), in float64.

        Args:
            graph: graph of each number.
            place: place of each number in its graph.
            stream: number of the purpose; other purposes have other numbers.
        """
        key = _mixed(torch.tensor((self.seed + stream * 0x9E3779B9) % 2**63, device=place.device))
        mixed = _mixed(_mixed(self.rows[graph] + key) + place)
        return (mixed & (2**53 - 1)).double() / 2**53

    def of_graphs(self, *, stream: int) -> Float[Tensor, " graphs"]:
        """Return a number for each graph."""
        graphs = torch.arange(len(self.rows), device=self.rows.device)
        return self.uniform(graphs, torch.zeros_like(graphs), stream=stream)

    def of_nodes(self, batch: GraphBatch, *, stream: int) -> Float[Tensor, " nodes"]:
        """Return a number for each node."""
        return self.uniform(batch.owner, _places(batch), stream=stream)

    def of_edges(self, batch: GraphBatch, *, stream: int) -> Float[Tensor, " edges"]:
        """Return a number for each edge, the same in both directions."""
        ends = _places(batch)[batch.edges].sort(0).values
        return self.uniform(batch.owner[batch.edges[0]], (ends[0] << 32) + ends[1], stream=stream)


def _mixed(numbers: Tensor) -> Tensor:
    """Return the finalizer of splitmix64; integers wrap around."""
    numbers = numbers + _MIX[0]
    for shift, factor in ((30, _MIX[1]), (27, _MIX[2])):
        # A logical shift: torch's repeats the sign.
        numbers = (numbers ^ ((numbers >> shift) & (2 ** (64 - shift) - 1))) * factor
    return numbers ^ ((numbers >> 31) & (2**33 - 1))


def _places(batch: GraphBatch) -> Int64[Tensor, " nodes"]:
    """Return the number of each node in its graph."""
    return torch.arange(len(batch.owner), device=batch.owner.device) - batch.starts[batch.owner]


def _first(
    order: Float[Tensor, " n"], owner: Int64[Tensor, " n"], count: Int64[Tensor, " graphs"]
) -> Bool[Tensor, " n"]:
    """Return which entries are among the `count` smallest of their graph."""
    by_order = torch.argsort(order, stable=True)
    places = by_order[torch.argsort(owner[by_order], stable=True)]
    sizes = torch.bincount(owner, minlength=len(count))
    rank = torch.empty_like(places)
    rank[places] = torch.arange(len(places), device=places.device) - (sizes.cumsum(0) - sizes)[owner[places]]
    return rank < count[owner]


@dataclass(frozen=True, kw_only=True)
class GraphAugmentation(ABC):
    """Random change of graphs that keeps their meaning; two calls make the two views of a pair.

    Each graph has its own change, by the seed and its row in the batch alone. No graph loses its last node.

    Raises:
        ValueError: a share outside [0, 1).

    Source: You et al., Graph Contrastive Learning with Augmentations, 2020, section 3.1.

    Example:
        >>> batch = GraphBatch(
        ...     features=torch.ones(6, 1), edges=torch.tensor([[0, 1, 3, 4], [1, 0, 4, 3]]),
        ...     owner=torch.tensor([0, 0, 0, 1, 1, 1]), count=2,
        ... )
        >>> DropNodes(share=0.4)(batch, seed=0).sizes.tolist()
        [2, 2]
    """

    share: float = 0.2
    """Share of the nodes, or of the edges, that is changed."""

    def __post_init__(self) -> None:
        check_number("share", self.share, minimum=0, below=1)

    @abstractmethod
    def changed(self, batch: GraphBatch, noise: GraphNoise, share: Float[Tensor, " graphs"]) -> GraphBatch:
        """Return the graphs with the given share of each changed."""

    @torch.no_grad()
    def __call__(
        self, batch: GraphBatch, seed: int, *, first_row: int = 0, batch_size: int | None = None
    ) -> GraphBatch:
        """Return a random view of each graph.

        Args:
            batch: graphs.
            seed: random seed of the call.
            first_row: place of the first graph in the whole batch, from 0.
            batch_size: number of graphs in the whole batch; it changes nothing.
        """
        rows = torch.arange(batch.count, device=batch.owner.device)
        noise = GraphNoise(seed=seed, rows=rows + first_row)
        shares = torch.full((batch.count,), self.share, dtype=torch.float64, device=rows.device)
        return self.changed(batch, noise, shares)


@dataclass(frozen=True, kw_only=True)
class DropNodes(GraphAugmentation):
    """A share of the nodes of each graph dropped, with their edges.

    Example:
        >>> DropNodes()
        DropNodes(share=0.2)
    """

    @override
    def changed(self, batch: GraphBatch, noise: GraphNoise, share: Float[Tensor, " graphs"]) -> GraphBatch:
        dropped = (batch.sizes * share).long()
        return batch.keeping(~_first(noise.of_nodes(batch, stream=0), batch.owner, dropped))


@dataclass(frozen=True, kw_only=True)
class PerturbEdges(GraphAugmentation):
    """A share of the edges of each graph dropped, and as many added between random nodes.

    Example:
        >>> PerturbEdges(share=0.1)
        PerturbEdges(share=0.1)
    """

    @override
    def changed(self, batch: GraphBatch, noise: GraphNoise, share: Float[Tensor, " graphs"]) -> GraphBatch:
        # An edge counts once, whether it has two directions or joins a node to itself. Both directions have
        # one number, so they are dropped together.
        numbers, once = noise.of_edges(batch, stream=1), batch.edges[0] <= batch.edges[1]
        owner = batch.owner[batch.edges[0, once]]
        number = (torch.bincount(owner, minlength=batch.count) * share).long()
        dropped = _first(numbers[once], owner, number)
        largest = numbers.new_full((batch.count,), -1.0)
        largest = largest.scatter_reduce(0, owner[dropped], numbers[once][dropped], "amax")
        kept = numbers > largest[batch.owner[batch.edges[0]]]
        graph = torch.arange(batch.count, device=owner.device).repeat_interleave(number)
        place = torch.arange(len(graph), device=owner.device) - (number.cumsum(0) - number)[graph]
        ends = [
            (noise.uniform(graph, place, stream=stream) * batch.sizes[graph]).long() + batch.starts[graph]
            for stream in (2, 3)
        ]
        added = torch.stack(ends)[:, ends[0] != ends[1]]
        edges = torch.cat([batch.edges[:, kept], added, added.flip(0)], dim=1)
        nodes = len(batch.owner)
        unique = (edges[0] * nodes + edges[1]).unique()  # an added edge may be there already
        return replace(batch, edges=torch.stack([unique // nodes, unique % nodes]))


@dataclass(frozen=True, kw_only=True)
class Subgraph(GraphAugmentation):
    """A connected part of each graph that has grown from a random node; the other nodes dropped.

    Each edge has a random length, and the nodes nearest to the first remain, those of other components last.

    Source: as of `GraphAugmentation`. Differs: the part grows from all its nodes and not along one walk; the
    published code keeps the share, and this drops it, as the other changes do.

    Example:
        >>> Subgraph()
        Subgraph(share=0.2)
    """

    @override
    def changed(self, batch: GraphBatch, noise: GraphNoise, share: Float[Tensor, " graphs"]) -> GraphBatch:
        sizes = batch.sizes
        root = (noise.of_graphs(stream=4) * sizes).long() + batch.starts
        lengths = -torch.log1p(-noise.of_edges(batch, stream=5)) + 1e-9
        distance = torch.full((len(batch.owner),), torch.inf, dtype=torch.float64, device=root.device)
        distance[root[sizes > 0]] = 0.0
        while True:  # Bellman and Ford: as many rounds as the longest shortest path has edges
            through = distance[batch.edges[0]] + lengths
            nearer = distance.scatter_reduce(0, batch.edges[1], through, "amin")
            if torch.equal(nearer, distance):
                break
            distance = nearer
        kept = sizes - (sizes * share).long()
        return batch.keeping(_first(distance, batch.owner, kept))


@dataclass(frozen=True, kw_only=True)
class MaskFeatures(GraphAugmentation):
    """The features of a share of the nodes replaced by the mean over their graph.

    Example:
        >>> MaskFeatures()
        MaskFeatures(share=0.2)
    """

    @override
    def changed(self, batch: GraphBatch, noise: GraphNoise, share: Float[Tensor, " graphs"]) -> GraphBatch:
        sizes = batch.sizes
        masked = _first(noise.of_nodes(batch, stream=6), batch.owner, (sizes * share).long())
        means = batch.sums(batch.features) / sizes.clamp(min=1)[:, None]
        return replace(batch, features=torch.where(masked[:, None], means[batch.owner], batch.features))


@dataclass(frozen=True, kw_only=True)
class OneChange(GraphAugmentation):
    """One of the four changes, drawn for each graph (GraphCL's usual views).

    Example:
        >>> OneChange(share=0.1)
        OneChange(share=0.1)
    """

    @override
    def changed(self, batch: GraphBatch, noise: GraphNoise, share: Float[Tensor, " graphs"]) -> GraphBatch:
        changes = DropNodes(), PerturbEdges(), Subgraph(), MaskFeatures()
        chosen = (noise.of_graphs(stream=7) * len(changes)).long()
        for number, change in enumerate(changes):  # a share of 0 changes nothing
            batch = change.changed(batch, noise, torch.where(chosen == number, share, 0.0))
        return batch
