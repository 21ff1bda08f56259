"""Eigenpairs of many graphs: those of numpy, whatever the graph, and an error where there are none."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
import torch
from batches import edges_of
from hypothesis import given
from hypothesis import strategies as st

from tammes.spectral import (
    Combinatorial,
    Laplacian,
    RandomWalk,
    RelativeGap,
    Symmetric,
    eigenpairs,
    eigenvector_mask,
    laplacian_matrix,
)

LAPLACIANS = (Combinatorial(), Symmetric(), RandomWalk())


@st.composite
def graphs(draw: st.DrawFn) -> list[nx.Graph]:
    """A few random graphs, sparse and dense ones, with isolated nodes and without edges."""
    count = draw(st.integers(1, 5))
    return [
        nx.gnp_random_graph(draw(st.integers(1, 9)), draw(st.floats(0, 1)), seed=draw(st.integers(0, 999)))
        for _ in range(count)
    ]


@pytest.mark.parametrize("laplacian", LAPLACIANS, ids=repr)
@given(graphs=graphs())
def test_pairs_solve_the_equation_of_each_graph(laplacian: Laplacian, graphs: list[nx.Graph]) -> None:
    edges, batch = edges_of(graphs)
    pairs = eigenpairs(edges, batch, laplacian=laplacian)
    there = eigenvector_mask(pairs.vectors, batch)
    for number, graph in enumerate(graphs):
        size = len(graph)
        own, _ = edges_of([graph])
        matrix = laplacian_matrix(own, size, laplacian=laplacian)
        vectors, values = pairs.vectors[batch == number], pairs.values[number]
        assert there[number].tolist() == [True] * size + [False] * (len(values) - size)
        assert (matrix @ vectors - vectors * values).abs().max() < 1e-12
        assert (vectors[:, :size].norm(dim=0) - 1).abs().max() < 1e-12
        assert int((values[:size].abs() < 1e-9).sum()) == nx.number_connected_components(graph)
        assert not values[size:].any()


@given(graphs=graphs())
def test_values_are_those_of_numpy(graphs: list[nx.Graph]) -> None:
    edges, batch = edges_of(graphs)
    for laplacian, reference in (
        (Combinatorial(), nx.laplacian_matrix),
        (Symmetric(), nx.normalized_laplacian_matrix),
    ):
        values = eigenpairs(edges, batch, laplacian=laplacian).values
        for number, graph in enumerate(graphs):
            expected = np.linalg.eigvalsh(reference(graph).toarray().astype(float))
            np.testing.assert_allclose(values[number, : len(graph)], expected, atol=1e-12)


@given(graphs=graphs())
def test_vectors_of_a_random_walk_are_orthonormal_within_eigenspaces(graphs: list[nx.Graph]) -> None:
    edges, batch = edges_of(graphs)
    pairs = eigenpairs(edges, batch, laplacian=RandomWalk())
    spaces = RelativeGap(warn=False)(pairs.values, eigenvector_mask(pairs.vectors, batch))
    for number in range(len(graphs)):
        vectors = pairs.vectors[batch == number]
        together = spaces.number[number][:, None] == spaces.number[number]
        together &= (spaces.number[number] >= 0)[:, None]
        gram = (vectors.T @ vectors)[together]
        identity = torch.eye(len(together), dtype=torch.float64)[together]
        assert (gram - identity).abs().max() < 1e-10


def test_known_spectra() -> None:
    edges, batch = edges_of([nx.star_graph(5), nx.cycle_graph(6), nx.complete_graph(4)])
    values = eigenpairs(edges, batch, laplacian=Combinatorial()).values
    cycle = sorted(2 - 2 * math.cos(2 * math.pi * number / 6) for number in range(6))
    expected = [[0, 1, 1, 1, 1, 6], cycle, [0, 4, 4, 4, 0, 0]]
    assert (values - torch.tensor(expected, dtype=torch.float64)).abs().max() < 1e-12


def test_fewer_and_more_pairs_than_nodes() -> None:
    edges, batch = edges_of([nx.path_graph(4), nx.empty_graph(1)])
    few = eigenpairs(edges, batch, count=2)
    more = eigenpairs(edges, batch, count=6)
    assert few.vectors.shape == (5, 2)
    assert more.vectors.shape == (5, 6)
    assert eigenvector_mask(few.vectors, batch).tolist() == [[True, True], [True, False]]
    assert eigenvector_mask(more.vectors, batch).sum(1).tolist() == [4, 1]
    assert more.vectors[4].abs().tolist() == [1, 0, 0, 0, 0, 0]


@pytest.mark.equal_bits
def test_an_eigenspace_that_is_cut_is_left_out() -> None:
    edges, batch = edges_of([nx.star_graph(5), nx.cycle_graph(6), nx.path_graph(3)])
    pairs = eigenpairs(edges, batch, laplacian=Combinatorial(), count=3, whole_eigenspaces=True)
    expected = [[0.0, 0, 0], [0, 1, 1], [0, 1, 3]]  # of 0, 1, 1, ...; 0, 1, 1, 3, ...; 0, 1, 3
    assert (pairs.values - torch.tensor(expected)).abs().max() < 1e-12
    assert eigenvector_mask(pairs.vectors, batch).sum(1).tolist() == [1, 3, 3]
    plain = eigenpairs(edges, batch, laplacian=Combinatorial(), count=3)
    assert torch.equal(pairs.vectors[6:], plain.vectors[6:])
    everything = eigenpairs(edges, batch, whole_eigenspaces=True)
    assert eigenvector_mask(everything.vectors, batch).sum(1).tolist() == [6, 6, 3]


@pytest.mark.parametrize("weight", [1e-12, 1.0, 1e12])
def test_an_eigenspace_is_cut_whatever_the_unit_of_the_weights_is(weight: float) -> None:
    edges, batch = edges_of([nx.path_graph(3), nx.disjoint_union(nx.path_graph(5), nx.path_graph(7))])
    weights = torch.full((edges.shape[1],), weight, dtype=torch.float64)
    for count, kept in ((1, [1, 0]), (2, [2, 2])):  # 0, 1, 3; 0, 0, 0.198, 0.382, ...
        pairs = eigenpairs(
            edges, batch, laplacian=Combinatorial(), count=count, whole_eigenspaces=True, edge_weight=weights
        )
        assert eigenvector_mask(pairs.vectors, batch).sum(1).tolist() == kept


@pytest.mark.parametrize("smallest", [-12, -300])
@pytest.mark.parametrize("laplacian", [Combinatorial(), Symmetric()], ids=repr)
def test_weights_of_many_magnitudes_on_a_large_graph(laplacian: Laplacian, smallest: int) -> None:
    """As those of a Gaussian kernel: eigenvalues crowd at 0, where Lanczos iterations do not converge."""
    generator = torch.Generator().manual_seed(0)
    edges, batch = edges_of([nx.path_graph(1100)])
    between = (edges.min(0).values * 2654435761) % 1100
    weights = 10 ** (smallest * torch.rand(1100, generator=generator, dtype=torch.float64))[between]
    pairs = eigenpairs(edges, batch, laplacian=laplacian, count=6, edge_weight=weights)
    matrix = laplacian_matrix(edges, 1100, laplacian=laplacian, edge_weight=weights)
    assert (pairs.values[0] - torch.linalg.eigvalsh(matrix)[:6]).abs().max() < 1e-13
    assert (matrix @ pairs.vectors - pairs.vectors * pairs.values).abs().max() < 1e-13
    assert (pairs.vectors.T @ pairs.vectors - torch.eye(6)).abs().max() < 1e-12


def test_no_graphs_have_no_pairs() -> None:
    nothing = torch.zeros(0, dtype=torch.long)
    pairs = eigenpairs(nothing.view(2, 0), nothing)
    assert pairs.vectors.shape == (0, 0)
    assert pairs.values.shape == (0, 0)


@pytest.mark.equal_bits
@pytest.mark.parametrize("laplacian", LAPLACIANS, ids=repr)
def test_large_graphs_agree_with_dense_ones(laplacian: Laplacian) -> None:
    parts = [nx.grid_2d_graph(32, 32), nx.grid_2d_graph(5, 5), nx.empty_graph(3), nx.star_graph(300)]
    edges, batch = edges_of([nx.disjoint_union_all(parts)])
    count = 30
    pairs = eigenpairs(edges, batch, laplacian=laplacian, count=count)
    matrix = laplacian_matrix(edges, len(batch), laplacian=laplacian)
    similar = Symmetric() if laplacian == RandomWalk() else laplacian
    values = torch.linalg.eigvalsh(laplacian_matrix(edges, len(batch), laplacian=similar))
    assert (pairs.values[0] - values[:count]).abs().max() < 1e-11
    assert (matrix @ pairs.vectors - pairs.vectors * pairs.values).abs().max() < 1e-11
    again = eigenpairs(edges, batch, laplacian=laplacian, count=count)
    assert torch.equal(again.vectors, pairs.vectors)


@pytest.mark.equal_bits
@pytest.mark.parametrize("laplacian", LAPLACIANS, ids=repr)
def test_large_graphs_are_as_alone_in_any_company(laplacian: Laplacian) -> None:
    parts = [nx.path_graph(1100), nx.path_graph(5), nx.grid_2d_graph(33, 37)]
    edges, batch = edges_of(parts)
    together = eigenpairs(edges, batch, laplacian=laplacian, count=4)
    for number, part in enumerate(parts):
        alone = eigenpairs(*edges_of([part]), laplacian=laplacian, count=4)
        assert torch.equal(together.values[number], alone.values[0])
        assert torch.equal(together.vectors[batch == number], alone.vectors)


def test_lanczos_finds_every_copy_of_an_eigenvalue() -> None:
    edges, batch = edges_of([nx.star_graph(1200)])  # 1 is an eigenvalue 1199 times
    pairs = eigenpairs(edges, batch, count=12)
    assert (pairs.values[0] - torch.tensor([0.0] + [1.0] * 11)).abs().max() < 1e-10
    gram = pairs.vectors.T @ pairs.vectors
    assert (gram - torch.eye(12)).abs().max() < 1e-8


def test_large_signed_graphs_are_no_different() -> None:
    graph = nx.random_regular_graph(4, 1100, seed=0)
    edges, batch = edges_of([graph])
    half = torch.randn(len(graph.edges), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weights = torch.cat([half, half])
    pairs = eigenpairs(edges, batch, laplacian=Combinatorial(), edge_weight=weights, count=5)
    matrix = laplacian_matrix(edges, 1100, laplacian=Combinatorial(), edge_weight=weights)
    assert pairs.values[0, 0] < -1
    assert (pairs.values[0] - torch.linalg.eigvalsh(matrix)[:5]).abs().max() < 1e-10
    assert (matrix @ pairs.vectors - pairs.vectors * pairs.values).abs().max() < 1e-9


def test_weights_count_and_signed_ones_only_without_normalization() -> None:
    edges = torch.tensor([[0, 1], [1, 0]])
    batch = torch.zeros(2, dtype=torch.long)
    values = eigenpairs(edges, batch, laplacian=Combinatorial(), edge_weight=torch.tensor([3.0, 3.0])).values
    assert (values - torch.tensor([[0.0, 6.0]])).abs().max() < 1e-12
    signed = torch.tensor([-1.0, -1.0])
    assert eigenpairs(edges, batch, laplacian=Combinatorial(), edge_weight=signed).values.min() < -1.9
    with pytest.raises(ValueError, match="at least 0"):
        eigenpairs(edges, batch, edge_weight=signed)


def test_tiny_weights_are_weights_and_too_large_ones_are_refused() -> None:
    edges, batch = edges_of([nx.path_graph(2)])
    tiny = torch.full((2,), 1e-320, dtype=torch.float64)
    assert (eigenpairs(edges, batch, edge_weight=tiny).values - torch.tensor([[0.0, 2.0]])).abs().max() < 1e-3
    with pytest.raises(ValueError, match="a sum that overflows"):
        eigenpairs(edges, batch, edge_weight=torch.full((2,), 1e308, dtype=torch.float64))


@pytest.mark.parametrize(
    ("edges", "batch", "weights", "message"),
    [
        ([[0], [1]], [0, 0], None, "both directions"),
        ([[0, 1], [1, 0]], [0, 0], [1.0, 2.0], "both directions"),
        ([[0, 1], [1, 0]], [0, 0], [math.nan, math.nan], "finite edge weights"),
        ([[0, 1], [1, 0]], [0, 0], [1.0], "one for each edge"),
        ([[0, 1], [1, 0]], [0, 1], None, "joins two"),
        ([[0, 2], [2, 0]], [0, 0], None, "must be from 0 to 1, got 0 to 2"),
        ([[0, 1], [1, 0]], [1, 0], None, "ascends"),
    ],
)
def test_wrong_graphs_are_refused(
    edges: list[list[int]], batch: list[int], weights: list[float] | None, message: str
) -> None:
    given_weights = None if weights is None else torch.tensor(weights)
    with pytest.raises(ValueError, match=message):
        eigenpairs(torch.tensor(edges), torch.tensor(batch), edge_weight=given_weights)


def test_wrong_counts_and_shapes_are_refused() -> None:
    edges, batch = edges_of([nx.path_graph(3)])
    with pytest.raises(ValueError, match="count must be an integer"):
        eigenpairs(edges, batch, count=0)
    with pytest.raises(ValueError, match="int64"):
        eigenpairs(edges.float(), batch)
    with pytest.raises(ValueError, match="int64"):
        eigenpairs(edges, batch.int())
    with pytest.raises(ValueError, match=r"for one graph give torch.zeros\(nodes"):
        eigenpairs(edges, None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a row for each node"):
        eigenvector_mask(torch.zeros(2, 1), batch)


def test_a_one_way_graph_is_refused_beside_one_of_large_weights() -> None:
    edges, batch = torch.tensor([[0, 1, 2], [1, 0, 3]]), torch.tensor([0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"both directions.* differ by up to 1\)"):
        eigenpairs(edges, batch, laplacian=Combinatorial(), edge_weight=torch.tensor([1e7, 1e7, 1.0]))


def test_large_one_way_graphs_are_refused_too() -> None:
    edges = torch.stack([torch.arange(1100), torch.arange(1, 1101)])
    with pytest.raises(ValueError, match="both directions"):
        eigenpairs(edges, torch.zeros(1101, dtype=torch.long), count=2)


def test_inference_mode_reaches_the_threads_that_decompose() -> None:
    edges, batch = edges_of([nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(3)])
    usual = eigenpairs(edges, batch)
    with torch.inference_mode():
        found = eigenpairs(edges, batch)
    assert torch.equal(found.values, usual.values)
    assert torch.equal(found.vectors, usual.vectors)


def test_eigenvectors_of_a_random_walk_are_orthonormal_where_degrees_span_magnitudes() -> None:
    generator = torch.Generator().manual_seed(0)
    edges, batch = edges_of([nx.star_graph(7)] * 20)
    logarithms = 16 * torch.rand(edges.shape[1] // 2, generator=generator, dtype=torch.float64) - 8
    both = 10 ** logarithms.view(20, 7).repeat(1, 2).flatten()  # both directions of each star's edges
    found = eigenpairs(edges, batch, laplacian=RandomWalk(), edge_weight=both)
    for vectors, values in zip(found.vectors.split(8), found.values, strict=True):
        same = (values - 1).abs() < 1e-6
        gram = vectors[:, same].T @ vectors[:, same]
        torch.testing.assert_close(gram, torch.eye(int(same.sum()), dtype=gram.dtype), rtol=0, atol=1e-12)


def test_a_gradient_by_the_weights_of_a_large_graph_is_refused() -> None:
    edges, batch = edges_of([nx.cycle_graph(1100)])
    weight = torch.ones(edges.shape[1], requires_grad=True)
    with pytest.raises(ValueError, match="weights that require no gradient"):
        eigenpairs(edges, batch, count=4, edge_weight=weight)
