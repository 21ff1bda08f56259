"""Random graphs: every graph of a kind is drawn, and equally often where the docstring says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from tammes.papers.robinson_spectral.random_graphs import (
    KINDS,
    Edges,
    connected_with_edges,
    erdos_renyi,
    labeled_tree,
    regular,
    with_edges,
)

Draw = Callable[[np.random.Generator], Edges]


def drawn_sets(draw: Draw, times: int) -> Counter[frozenset[tuple[int, int]]]:
    generator = np.random.default_rng(0)
    found: Counter[frozenset[tuple[int, int]]] = Counter()
    for _ in range(times):
        pairs = np.sort(draw(generator), axis=1)
        edges = frozenset(map(tuple, pairs.tolist()))
        assert len(edges) == len(pairs)  # no double edge
        assert bool((pairs[:, 0] < pairs[:, 1]).all())  # no loop
        found[edges] += 1
    return found


@pytest.mark.parametrize(
    ("draw", "graphs"),
    [
        (partial(labeled_tree, 5), 5**3),  # Cayley's formula
        (partial(regular, 6, degree=3), 70),  # 10 of K_3,3 and 60 prisms
        (partial(with_edges, 5, 3), 120),  # 10 pairs choose 3
        (partial(erdos_renyi, 3, chance=0.5), 8),
    ],
)
def test_graphs_of_a_kind_are_equally_probable(draw: Draw, graphs: int) -> None:
    counts = drawn_sets(draw, 30 * graphs)
    assert len(counts) == graphs
    assert stats.chisquare(list(counts.values())).pvalue > 0.001


def test_trees_are_connected_and_have_a_node_more_than_edges() -> None:
    for nodes in (1, 2, 3, 50):
        pairs = labeled_tree(nodes, np.random.default_rng(nodes))
        assert pairs.shape == (nodes - 1, 2)
        graph = nx.empty_graph(nodes)
        graph.add_edges_from(pairs.tolist())
        assert nx.is_tree(graph)


def test_connected_graphs_are_drawn_with_all_edge_sets_that_connect() -> None:
    generator = np.random.default_rng(0)
    counts = drawn_sets(lambda own: connected_with_edges(4, 4, own), 500)
    assert len(counts) == 15  # 3 rings, and 12 triangles with a tail
    for edges in counts:
        assert nx.is_connected(nx.Graph(edges))
    # A graph with fewer edges than a tree is a part of one, and one with all pairs is complete.
    few = nx.Graph(connected_with_edges(6, 3, generator).tolist())
    assert nx.is_forest(few)
    assert few.number_of_edges() == 3
    assert len(connected_with_edges(5, 10, generator)) == 10
    assert connected_with_edges(1, 0, generator).shape == (0, 2)


def test_edges_are_as_frequent_as_their_probability() -> None:
    generator = np.random.default_rng(0)
    for kind, chance in (("G(n, 1/2)", 0.5), ("G(n, 1/5)", 0.2), ("G(n, 1/10)", 0.1), ("G(n, 2/n)", 2 / 30)):
        count = sum(len(KINDS[kind](30, generator)) for _ in range(50))
        assert stats.binomtest(count, 50 * 435, chance).pvalue > 0.001
    assert len(KINDS["3-regular graphs"](20, generator)) == 30


@pytest.mark.parametrize(("nodes", "degree"), [(5, 3), (3, 3), (4, -1)])
def test_degrees_that_no_graph_has_are_refused(nodes: int, degree: int) -> None:
    with pytest.raises(ValueError, match=f"even product of both, got degree {degree} and {nodes} nodes"):
        regular(nodes, np.random.default_rng(0), degree=degree)
