"""Automorphisms: the group that the generators make, against all permutations and against known groups."""

from __future__ import annotations

import itertools
from functools import cache

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tammes.papers.robinson_spectral.automorphism_group import (
    Permutation,
    composed,
    generators,
    refined,
    symmetry,
    twin_classes,
)


def neighbors_in(graph: nx.Graph) -> list[frozenset[int]]:
    numbered = nx.convert_node_labels_to_integers(graph)
    return [frozenset(numbered[node]) for node in range(len(numbered))]


@cache
def permutations(nodes: int) -> np.ndarray:
    return np.array(list(itertools.permutations(range(nodes))))


def all_automorphisms(graph: nx.Graph) -> set[Permutation]:
    """By going through all permutations."""
    matrix, every = nx.to_numpy_array(graph, dtype=bool), permutations(len(graph))
    kept = (matrix[every[:, :, None], every[:, None, :]] == matrix).all(axis=(1, 2))
    return set(map(tuple, every[kept].tolist()))


def group_of(made: list[Permutation], nodes: int) -> set[Permutation]:
    """All products of the generators."""
    found = {tuple(range(nodes))}
    left = list(found)
    while left:
        one = left.pop()
        new = {composed(one, each) for each in made} - found
        found |= new
        left += new
    return found


def is_above_two(automorphism: Permutation) -> bool:
    return composed(automorphism, automorphism) != tuple(range(len(automorphism)))


def is_automorphism(mapping: Permutation, graph: nx.Graph) -> bool:
    return all(graph.has_edge(mapping[one], mapping[other]) for one, other in graph.edges)


ATLAS = [graph for graph in nx.graph_atlas_g() if len(graph)]


def test_the_group_of_every_small_graph_is_that_of_all_permutations() -> None:
    """1,252 graphs of 1 to 7 nodes, disconnected ones and isolated nodes among them."""
    asymmetric = dict.fromkeys(range(1, 8), 0)
    for graph in ATLAS:
        expected, neighbors = all_automorphisms(graph), neighbors_in(graph)
        assert group_of(list(generators(neighbors)), len(graph)) == expected
        found = symmetry(neighbors)
        assert (found.automorphism is not None) == (len(expected) > 1)
        assert found.above_two == any(map(is_above_two, expected))
        if found.automorphism is not None:
            assert found.automorphism in expected - {tuple(range(len(graph)))}
            assert is_above_two(found.automorphism) == found.above_two
        asymmetric[len(graph)] += len(expected) == 1
    # As counted by others (A003400 of the encyclopedia of integer sequences).
    assert list(asymmetric.values()) == [1, 0, 0, 0, 0, 8, 152]


@pytest.mark.parametrize(
    ("graph", "order", "above_two"),
    [
        (nx.path_graph(300), 2, False),
        (nx.cycle_graph(20), 40, True),
        (nx.star_graph(6), 720, True),
        (nx.petersen_graph(), 120, True),
        (nx.hypercube_graph(4), 384, True),
        (nx.frucht_graph(), 1, False),  # regular, so that color refinement sees nothing
        (nx.paley_graph(13).to_undirected(), 78, True),  # strongly regular
        (nx.disjoint_union_all(3 * [nx.complete_graph(3)]), 6**3 * 6, True),
        (nx.disjoint_union(nx.frucht_graph(), nx.frucht_graph()), 2, False),
        (nx.disjoint_union(nx.frucht_graph(), nx.path_graph(2)), 2, False),
        (nx.empty_graph(2), 2, False),
        (nx.empty_graph(1), 1, False),
        (nx.grid_2d_graph(3, 4), 4, False),  # two reflections and their product
        (nx.grid_2d_graph(4, 4), 8, True),
    ],
)
def test_known_groups(graph: nx.Graph, order: int, above_two: bool) -> None:
    neighbors = neighbors_in(graph)
    assert len(group_of(list(generators(neighbors)), len(neighbors))) == order
    found = symmetry(neighbors)
    assert (found.automorphism is not None, found.above_two) == (order > 1, above_two)


def test_exchanges_of_twins_that_are_exchanged_themselves_have_order_four() -> None:
    """Two pairs of leaves, each at an end of an edge: the dihedral group of order 8."""
    neighbors = neighbors_in(nx.Graph([(0, 1), (0, 2), (0, 3), (1, 4), (1, 5)]))
    made = list(generators(neighbors))
    assert not any(map(is_above_two, made))
    assert len(group_of(made, 6)) == 8
    assert symmetry(neighbors).above_two


def test_groups_of_a_huge_order_are_decided() -> None:
    for graph in (
        nx.complete_graph(300),
        nx.empty_graph(300),
        nx.disjoint_union_all(100 * [nx.path_graph(2)]),
    ):
        assert symmetry(neighbors_in(graph)).above_two
    legs = [pair for leg in range(1, 121, 2) for pair in ((0, leg), (leg, leg + 1))]
    assert symmetry(neighbors_in(nx.Graph(legs))).above_two  # 60!


@settings(max_examples=40, deadline=None)
@given(nodes=st.integers(2, 14), chance=st.floats(0.1, 0.9), seed=st.integers(0, 10_000))
def test_random_graphs_have_an_automorphism_where_networkx_finds_one(
    nodes: int, chance: float, seed: int
) -> None:
    graph = nx.gnp_random_graph(nodes, chance, seed=seed)
    several = itertools.islice(nx.vf2pp_all_isomorphisms(graph, graph), 2)
    found = symmetry(neighbors_in(graph)).automorphism
    assert (found is not None) == (len(list(several)) == 2)
    assert found is None or is_automorphism(found, graph)


@settings(max_examples=30, deadline=None)
@given(half=st.integers(2, 12), chance=st.floats(0.2, 0.8), seed=st.integers(0, 1000))
def test_a_planted_automorphism_is_found(half: int, chance: float, seed: int) -> None:
    """Two copies of a graph, with an edge between each node and its copy, in any order of the nodes."""
    graph = nx.cartesian_product(nx.gnp_random_graph(half, chance, seed=seed), nx.path_graph(2))
    order = np.random.default_rng(seed).permutation(2 * half).tolist()
    numbered = nx.relabel_nodes(graph, dict(zip(graph, order, strict=True)))
    neighbors = [frozenset(numbered[node]) for node in range(2 * half)]
    found = symmetry(neighbors).automorphism
    assert found is not None
    assert is_automorphism(found, numbered)
    assert found != tuple(range(2 * half))


@settings(max_examples=30, deadline=None)
@given(nodes=st.integers(1, 12), chance=st.floats(0, 1), seed=st.integers(0, 1000))
def test_refined_colors_are_equitable_and_move_with_the_nodes(nodes: int, chance: float, seed: int) -> None:
    graph = nx.gnp_random_graph(nodes, chance, seed=seed)
    order = np.random.default_rng(seed).permutation(nodes).tolist()
    colors = refined(neighbors_in(graph), [0] * nodes)
    for one, other in itertools.combinations(range(nodes), 2):
        if colors[one] == colors[other]:
            assert sorted(colors[each] for each in graph[one]) == sorted(
                colors[each] for each in graph[other]
            )
    moved = nx.relabel_nodes(graph, dict(enumerate(order)))
    of_moved = refined([frozenset(moved[node]) for node in range(nodes)], [0] * nodes)
    assert [of_moved[order[node]] for node in range(nodes)] == colors


def test_twins_are_adjacent_or_not() -> None:
    # Two isolated nodes, a triangle with a tail, and its two other corners.
    graph = nx.Graph([(2, 3), (2, 4), (3, 4), (4, 5)])
    graph.add_nodes_from([0, 1])
    neighbors = [frozenset(graph[node]) for node in range(6)]
    assert sorted(map(sorted, twin_classes(neighbors))) == [[0, 1], [2, 3]]
    assert twin_classes(neighbors_in(nx.path_graph(4))) == []
