"""Equitable partitions: by their definition, and as what a network on graphs computes once."""

from __future__ import annotations

import networkx
import pytest
import torch
from atlas import small_graphs
from hypothesis import given, settings
from hypothesis import strategies as st

from tammes.extensions import Graphs
from tammes.extensions.graphs import ROUNDS, EquitablePartition
from tammes.extensions.solvers import NetworkConfig, SolverNetwork
from tammes.listed_sum import listed_sum


def graph_of(source: networkx.Graph) -> Graphs:
    edges = torch.tensor(list(source.edges), dtype=torch.long).reshape(-1, 2)
    return Graphs.of(edges.T, sizes=(source.number_of_nodes(),))


def quotient(partition: EquitablePartition) -> torch.Tensor:
    """Number of neighbors in each cell that a node of each cell has."""
    cells = len(partition.representative)
    return torch.zeros(cells, cells).double().index_put(tuple(partition.links), partition.count.double())


def assert_equitable(graphs: Graphs) -> None:
    """A P = P B: the neighbors of a node in each cell are as many as the quotient matrix says."""
    partition = graphs.partition
    indicator = torch.nn.functional.one_hot(partition.cell).double()
    adjacency = quotient(graphs.singletons)
    torch.testing.assert_close(adjacency @ indicator, indicator @ quotient(partition), rtol=0, atol=0)
    assert torch.equal(partition.cell[partition.representative], torch.arange(indicator.shape[1]))


def test_all_small_graphs_have_equitable_partitions() -> None:
    for graph in small_graphs():
        assert_equitable(graph)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(2, 30), chance=st.floats(0, 1), seed=st.integers(0, 1000))
def test_nodes_that_a_symmetry_exchanges_share_a_cell(n: int, chance: float, seed: int) -> None:
    """Two copies of a graph, side by side in one: each node shares its cell with its copy."""
    half = networkx.gnp_random_graph(n, chance, seed=seed)
    graphs = graph_of(networkx.disjoint_union(half, half))
    assert_equitable(graphs)
    assert torch.equal(graphs.partition.cell[:n], graphs.partition.cell[n:])


def test_graphs_of_a_batch_keep_their_own_cells() -> None:
    ring, star = graph_of(networkx.cycle_graph(5)), graph_of(networkx.star_graph(3))
    edges = torch.cat([ring.edges, star.edges + 5, ring.edges + 9], dim=1)
    for batch in (Graphs.join([ring, star, ring]), Graphs.of(edges, sizes=(5, 4, 5))):
        assert batch.partition.cell.tolist() == [0] * 5 + [1, 2, 2, 2] + [3] * 5
        assert batch.partition.cell.bincount().tolist() == [5, 1, 3, 5]
        assert_equitable(batch)
        assert torch.equal(quotient(batch.singletons), quotient(batch.singletons).T)


def test_the_transposed_quotient_is_scaled_by_the_sizes() -> None:
    graphs = Graphs.join([graph_of(networkx.barbell_graph(4, 3)), graph_of(networkx.balanced_tree(2, 3))])
    sizes, found = graphs.partition.cell.bincount().double(), quotient(graphs.partition)
    torch.testing.assert_close(found.T, sizes[:, None] * found / sizes)


def test_sums_over_neighbors_are_products_with_the_quotient() -> None:
    graphs = Graphs.join([graph_of(networkx.barbell_graph(4, 3)), graph_of(networkx.balanced_tree(2, 3))])
    x = torch.randn(len(graphs.partition.representative), 2, dtype=torch.float64, requires_grad=True)
    found = listed_sum(x, *graphs.partition.neighbors)
    torch.testing.assert_close(found, quotient(graphs.partition) @ x)
    along = torch.randn_like(found)
    (gradient,) = torch.autograd.grad((found * along).sum(), x)
    torch.testing.assert_close(gradient, quotient(graphs.partition).T @ along)


def test_a_graph_without_edges_is_one_cell() -> None:
    graphs = Graphs.of(torch.zeros(2, 0, dtype=torch.long), sizes=(3,))
    assert graphs.partition.cell.tolist() == [0, 0, 0]
    assert quotient(graphs.partition).tolist() == [[0.0]]


def test_refinement_that_takes_too_long_leaves_every_node_alone() -> None:
    nodes = 2 * ROUNDS + 10
    path = graph_of(networkx.path_graph(nodes))
    assert path.partition.cell.tolist() == list(range(nodes))
    assert_equitable(path)


@pytest.mark.parametrize("scalar", [False, True])
def test_a_network_gives_the_same_on_cells_as_on_nodes(scalar: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    sources = (
        networkx.barbell_graph(4, 2),
        networkx.gnp_random_graph(9, 0.3, seed=1),
        networkx.star_graph(5),
    )
    parts = [graph_of(source) for source in sources]
    network = SolverNetwork(NetworkConfig(width=6, layers=4), scalar=scalar).double()

    def value_and_gradients() -> tuple[torch.Tensor, ...]:
        found = network(Graphs.join(parts))
        along = torch.linspace(-1, 1, found.numel(), dtype=found.dtype).reshape(found.shape)
        return found, *torch.autograd.grad((found * along).sum(), [*network.parameters()])

    assert Graphs.join(parts).partition.representative.numel() < Graphs.join(parts).ground.total
    on_cells = value_and_gradients()
    monkeypatch.setattr(Graphs, "partition", Graphs.singletons)
    for mine, expected in zip(on_cells, value_and_gradients(), strict=True):
        torch.testing.assert_close(mine, expected, rtol=1e-11, atol=1e-12)
