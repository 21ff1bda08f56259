"""Samples of the neighborhoods of some nodes of a large graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from tammes.data.labeled_graphs import rows_within


@dataclass(frozen=True, kw_only=True, eq=False)
class Neighborhood:
    """Nodes around some roots and drawn edges between them.

    Args:
        nodes: (nodes,) numbers in the graph, those of the roots first, then hop by hop.
        edges: (2, edges) from a neighbor to the node that it was drawn for, as places in `nodes`.
        hops: (nodes,) number of drawn edges from the nearest root.
        roots: (roots,) place of each root in `nodes`.
    """

    nodes: Int64[Tensor, " nodes"]
    edges: Int64[Tensor, "2 edges"]
    hops: Int64[Tensor, " nodes"]
    roots: Int64[Tensor, " roots"]


def neighborhood(
    starts: Int64[Tensor, " nodes_and_one"],
    neighbors: Int64[Tensor, " edges"],
    roots: Int64[Tensor, " roots"],
    fanouts: Sequence[int],
    *,
    generator: torch.Generator,
) -> Neighborhood:
    """Draw neighbors of the roots, neighbors of these, and so on.

    A node that is drawn gets up to `fanout` of its neighbors, without repetition and equally likely: all of
    them if it has no more. A node is drawn for once, however many paths lead to it.

    Args:
        starts: index of each node's first neighbor, and the number of all at the end.
        neighbors: neighbors of all nodes, one node after the other.
        roots: nodes to begin with, in any order and with repetitions.
        fanouts: largest number of neighbors of a node at each hop.
        generator: source of the draws.

    Source: Hamilton, Ying and Leskovec, Inductive Representation Learning on Large Graphs, 2017.

    Example:
        >>> path = torch.tensor([0, 1, 3, 4]), torch.tensor([1, 0, 2, 1])         # 0 - 1 - 2
        >>> found = neighborhood(*path, torch.tensor([0]), [5, 5], generator=torch.Generator())
        >>> found.nodes.tolist(), found.edges.tolist(), found.hops.tolist()
        ([0, 1, 2], [[1, 0, 2], [0, 1, 1]], [0, 1, 2])
    """
    frontier = roots.unique()
    nodes, edges = [frontier], [torch.zeros(2, 0, dtype=torch.int64)]
    known = torch.zeros(len(starts) - 1, dtype=torch.bool)
    known[frontier] = True
    for fanout in fanouts:
        rows, first = rows_within(starts, frontier)
        drawn = _drawn(first, fanout, generator)
        ends = frontier.repeat_interleave(first.diff())[drawn]
        sources = neighbors[rows[drawn]]
        edges.append(torch.stack([sources, ends]))
        frontier = sources[~known[sources]].unique()
        known[frontier] = True
        nodes.append(frontier)
    found = torch.cat(nodes)
    place = torch.empty(len(known), dtype=torch.int64)  # only the places of found nodes are written and read
    place[found] = torch.arange(len(found))
    sizes = torch.tensor([len(each) for each in nodes])
    return Neighborhood(
        nodes=found,
        edges=place[torch.cat(edges, dim=1)],
        hops=torch.arange(len(nodes)).repeat_interleave(sizes),
        roots=place[roots],
    )


def _drawn(
    first: Int64[Tensor, " groups_and_one"], fanout: int, generator: torch.Generator
) -> Bool[Tensor, " rows"]:
    """Return which rows are drawn: `fanout` of each group, or the whole of a smaller one."""
    sizes = first.diff()
    drawn = torch.ones(int(first[-1]), dtype=torch.bool)
    if len(sizes) == 0 or int(sizes.max()) <= fanout:
        return drawn
    # Only groups that are too large are shuffled: the rank in the order of random numbers decides.
    large = (sizes > fanout).nonzero()[:, 0]
    rows, new = rows_within(first, large)
    group = torch.arange(len(large)).repeat_interleave(new.diff())
    keys = torch.rand(len(rows), dtype=torch.float64, generator=generator)
    order = torch.argsort(group + keys)
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order)) - new[:-1][group]
    drawn[rows] = rank < fanout
    return drawn
