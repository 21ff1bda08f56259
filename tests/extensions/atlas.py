"""All graphs with up to six nodes, and what is best in them by going through all sets."""

from __future__ import annotations

from functools import cache

import networkx
import torch
from brute_force import subsets
from torch import Tensor

from tammes.extensions import Graphs


@cache
def small_graphs(most: int = 6) -> tuple[Graphs, ...]:
    """The graphs of networkx's atlas with 1 to 6 nodes, each alone."""
    found = []
    for graph in networkx.graph_atlas_g():
        if 1 <= graph.number_of_nodes() <= most:
            edges = torch.tensor(list(graph.edges()), dtype=torch.long).reshape(-1, 2).T
            found.append(Graphs.of(edges, sizes=(graph.number_of_nodes(),)))
    return tuple(found)


def side_by_side(graphs: tuple[Graphs, ...]) -> Graphs:
    """All of them as one batch."""
    sizes = [graph.ground.total for graph in graphs]
    starts = torch.tensor([0, *sizes]).cumsum(0)[:-1].tolist()
    edges = torch.cat([graph.edges + start for graph, start in zip(graphs, starts, strict=True)], dim=1)
    return Graphs.of(edges, sizes=tuple(sizes))


def cut_of(graph: Graphs) -> Tensor:
    """The number of edges that leave each of the subsets."""
    sets = subsets(graph.ground.total)
    return (sets[:, graph.edges[0]] != sets[:, graph.edges[1]]).sum(1)


def are_cliques(graph: Graphs) -> Tensor:
    """Which of the subsets are cliques, from the adjacency alone."""
    n = graph.ground.total
    adjacent = torch.eye(n, dtype=torch.bool)
    adjacent[graph.edges[0], graph.edges[1]] = adjacent[graph.edges[1], graph.edges[0]] = True
    sets = subsets(n)
    both = sets[:, :, None] & sets[:, None, :]
    return ~(both & ~adjacent).any(2).any(1)


def are_independent(graph: Graphs) -> Tensor:
    """Which of the subsets are independent, from the adjacency alone."""
    sets = subsets(graph.ground.total)
    return ~(sets[:, graph.edges[0]] & sets[:, graph.edges[1]]).any(1)
