"""What BasisNet can compute: graph angles, walks, cycles, encodings and filters, and whom it tells apart."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest
import torch
from batches import batch_of
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tammes.spectral import (
    BasisNet,
    GINConfig,
    IGNConfig,
    RelativeGap,
    SignNet,
    SummedConfig,
)
from tammes.spectral.bases import Bases

graphs = st.integers(2, 1252).map(lambda number: nx.graph_atlas(number))


def adjacency_of(graph: nx.Graph) -> Tensor:
    return torch.from_numpy(nx.to_numpy_array(graph)).double()


def spaces_of(matrix: Tensor) -> Bases:
    """The eigenspaces of a symmetric matrix."""
    values, vectors = torch.linalg.eigh(matrix)
    return Bases.of(vectors, values[None], torch.zeros(len(matrix)).long(), RelativeGap(warn=False))


def angles_of(bases: Bases) -> Tensor:
    """sqrt(diag(V_i V_i^T)), from what the first layer has: `(spaces, n)`."""
    n = int(bases.sizes[0])
    vectors, _ = bases.projectors(torch.arange(len(bases.values))).contractions()
    return (vectors[:, 0, 0] / n).clamp(min=0).sqrt()


def closed_walks(values: Tensor, angles: Tensor, length: int) -> Tensor:
    """(A^k)_jj = sum_i mu_i^k alpha_ij^2."""
    return (values.pow(length)[:, None] * angles.square()).sum(0)


@given(graph=graphs)
def test_graph_angles_are_those_of_the_projectors(graph: nx.Graph) -> None:
    """Eq. E.41: alpha_ij = |V_i V_i^T e_j|."""
    bases = spaces_of(adjacency_of(graph))
    angles = angles_of(bases)
    for row, first, dimension in zip(angles, bases.column, bases.dimension, strict=True):
        columns = bases.vectors[:, first : first + dimension]
        torch.testing.assert_close(row, (columns @ columns.T).norm(dim=0), rtol=0, atol=1e-7)
    torch.testing.assert_close(angles.square().sum(0), torch.ones(len(graph)).double())


@given(graph=graphs, length=st.integers(0, 7))
def test_closed_walks_follow_from_eigenvalues_and_angles(graph: nx.Graph, length: int) -> None:
    matrix = adjacency_of(graph)
    bases = spaces_of(matrix)
    found = closed_walks(bases.values, angles_of(bases), length)
    torch.testing.assert_close(found, matrix.matrix_power(length).diagonal(), rtol=1e-9, atol=1e-7)


@given(graph=graphs)
def test_short_cycles_and_connectedness_follow_from_eigenvalues_and_angles(graph: nx.Graph) -> None:
    bases = spaces_of(adjacency_of(graph))
    values, angles = bases.values, angles_of(bases)
    two, three, four, five = (closed_walks(values, angles, length) for length in (2, 3, 4, 5))
    counted = [0] * 6
    for cycle in nx.simple_cycles(graph, length_bound=5):
        counted[len(cycle)] += 1
    triangles = three.sum() / 6
    squares = (four.sum() - two.sum() - 2 * (two * (two - 1)).sum()) / 8
    pentagons = (five.sum() - 5 * three.sum() - 5 * ((two - 2) * three).sum()) / 10
    torch.testing.assert_close(
        torch.stack([triangles, squares, pentagons]), torch.tensor(counted[3:]).double(), rtol=0, atol=1e-6
    )
    simple = bool(bases.dimension[-1] == 1)  # by Perron and Frobenius
    assert nx.is_connected(graph) == (simple and bool((angles[-1] > 1e-6).all()))


def test_a_linear_layer_has_the_squares_of_the_angles() -> None:
    """And the rectified layers after it take their roots, as closely as they are wide."""
    config = IGNConfig(vector=(1,))
    network = BasisNet(dim=1, ign=config).double()
    layer = network.igns[0].collect
    for weight in layer.parameters():
        nn.init.zeros_(weight)
    layer.vectors.data[0, 0, 0] = 1.0
    bases = spaces_of(adjacency_of(nx.petersen_graph()))
    copies = bases.copies(None)
    found = network.encodings(bases, copies)[copies.row[:, : len(bases.values)], 0] / 10
    torch.testing.assert_close(found.T, angles_of(bases).square())


@given(graph=graphs, steps=st.integers(1, 6), time=st.floats(0.1, 3))
def test_heat_kernels_and_random_walks_are_sums_over_projectors(
    graph: nx.Graph, steps: int, time: float
) -> None:
    """Proposition 16, of nodes and of pairs: sum_i h(lambda_i) V_i V_i^T."""
    adjacency = adjacency_of(graph)
    degrees = adjacency.sum(0)
    root = torch.where(degrees > 0, degrees, math.inf).rsqrt()
    walk = root[:, None] * adjacency * root
    laplacian = torch.diag((degrees > 0).double()) - walk
    bases = spaces_of(laplacian)
    projectors = bases.projectors(torch.arange(len(bases.values)))
    n, values = int(bases.sizes[0]), bases.values
    diagonals, entries = projectors.contractions()[0][:, 0, 0] / n, projectors.entries()[:, 0] / n

    heat = (-time * values).exp()
    torch.testing.assert_close(
        torch.einsum("i,ijk->jk", heat, entries), torch.linalg.matrix_exp(-time * laplacian)
    )
    torch.testing.assert_close(heat @ diagonals, torch.linalg.matrix_exp(-time * laplacian).diagonal())
    if bool((degrees > 0).all()):
        back = (adjacency / degrees).matrix_power(steps).diagonal()  # (A D^-1)^k, as in RWPE
        torch.testing.assert_close((1 - values).pow(steps) @ diagonals, back)


def test_a_small_network_learns_walks_and_heat_on_graphs_it_has_not_seen() -> None:
    """Theorem 8 and Proposition 9, by training: diag((A D^-1)^k) for k = 2, 3 and diag(exp(-L))."""
    batches, targets = [], []
    for seed in (0, 1):
        members = [nx.gnp_random_graph(7, 0.4, seed=1000 * seed + number) for number in range(64)]
        members = [nx.compose(graph, nx.path_graph(7)) for graph in members]
        batch = batch_of(*members)
        squares = batch.vectors.square()
        values = batch.values[batch.batch]
        powers = [(1 - values).pow(2), (1 - values).pow(3), (-values).exp()]
        batches.append(batch.single())
        targets.append(torch.stack([(power * squares).sum(1) for power in powers], 1).float())
    center, scale = targets[0].mean(0), targets[0].std(0)
    network = BasisNet(
        dim=3, ign=IGNConfig(vector=(32, 32, 32)), rho=SummedConfig(width=32, layers=2, normalize=False)
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 250)

    def error(which: int) -> Tensor:
        found = network(None, *batches[which].arguments())
        return (found - (targets[which] - center) / scale).square().mean()

    for _ in range(250):
        optimizer.zero_grad()
        error(0).backward()
        optimizer.step()
        schedule.step()
    assert error(1) < 0.15  # 1 is the error of the mean


def proof_pair(n: int) -> tuple[nx.Graph, nx.Graph]:
    """Two graphs with the same degrees, of which one is bipartite: the proof of Proposition 8."""
    with_triangle = nx.Graph([(1, 2), (2, 3), (3, 1), (1, 4)])
    nx.add_path(with_triangle, range(4, n + 1))
    bipartite = nx.Graph([(1, 3), (1, 4), (1, 5), (2, 3), (2, 4)])
    nx.add_path(bipartite, range(5, n + 1))
    return with_triangle, bipartite


def by_degree(found: Tensor, degrees: Tensor) -> Tensor:
    return found[degrees.argsort(stable=True)]


class SpectralGNN(nn.Module):
    """V Diag(theta_2) V^T relu(V Diag(theta_1) V^T X W_1) W_2 with any theta for each graph's eigenvalues."""

    def __init__(self, biases: bool = False) -> None:
        super().__init__()
        self.filters = nn.ModuleList(
            nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1)) for _ in "12"
        )
        self.mix = nn.ModuleList((nn.Linear(1, 8, bias=biases), nn.Linear(8, 3, bias=biases)))

    def forward(self, x: Tensor, vectors: Tensor, values: Tensor) -> Tensor:
        for place, (theta, mix) in enumerate(zip(self.filters, self.mix, strict=True)):
            x = mix(vectors @ (theta(values.T) * (vectors.T @ x)))
            x = torch.relu(x) if place == 0 else x
        return x


@pytest.mark.parametrize("n", [5, 6, 7, 12])
def test_graphs_that_look_alike_to_spectral_networks_are_distinguished(n: int) -> None:
    """Proposition 8, with node features sqrt(degree).

    Without biases, as section 7.2.1 defines spectral networks: a bias adds a signal of ones, which is no
    eigenvector, and a second layer sees its projections.
    """
    pair = proof_pair(n)
    assert [nx.is_bipartite(graph) for graph in pair] == [False, True]
    layers = pytest.importorskip("torch_geometric.nn")
    spectral = SpectralGNN().double()
    gpr = torch.randn(11, dtype=torch.float64)
    arma = layers.ARMAConv(1, 3, num_layers=3, bias=False).double()
    cheb = layers.ChebConv(1, 3, K=5, bias=False).double()
    biased = SpectralGNN(biases=True).double()
    signnet = SignNet(dim=3, phi=GINConfig(width=8, layers=2)).double().eval()
    basisnet = BasisNet(dim=3, features=1).double().eval()
    blind, seeing = [], []
    for graph in pair:
        batch = batch_of(graph)
        degrees = torch.bincount(batch.edges[0])
        x = degrees.double().sqrt()[:, None]
        walk = batch.vectors * (1 - batch.values) @ batch.vectors.T
        pagerank = sum(weight * walk.matrix_power(k) @ x for k, weight in enumerate(gpr))  # GPR-GNN
        outputs = (
            spectral(x, batch.vectors, batch.values),
            pagerank,
            arma(x, batch.edges),
            cheb(x, batch.edges, lambda_max=torch.tensor(2.0).double()),
        )
        blind.append([by_degree(output, degrees) for output in outputs])
        seeing.append([by_degree(net(x, *batch.arguments()), degrees) for net in (signnet, basisnet)])
        seeing[-1].append(by_degree(biased(x, batch.vectors, batch.values), degrees))
    for mine, theirs in zip(*blind, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-9)
    for mine, theirs in zip(*seeing, strict=True):
        assert (mine - theirs).abs().max() > 1e-4


@pytest.mark.parametrize("half", [3, 4, 5])
def test_one_cycle_and_two_are_distinguished(half: int) -> None:
    """Message passing cannot: every node has two neighbors."""
    network = BasisNet(dim=4).double().eval()
    one, two = batch_of(nx.cycle_graph(2 * half)), batch_of(nx.union(*cycles(half)))
    difference = network(None, *one.arguments()).sum(0) - network(None, *two.arguments()).sum(0)
    assert difference.abs().max() > 1e-3


def cycles(n: int) -> tuple[nx.Graph, nx.Graph]:
    return nx.cycle_graph(n), nx.relabel_nodes(nx.cycle_graph(n), lambda node: node + n)


@settings(max_examples=8)
@given(seed=st.integers(0, 2**16))
def test_a_parametric_filter_is_a_weighted_sum_of_the_projected_features(seed: int) -> None:
    """Theorem 7 from what the network is given: sum_i h(lambda_i) V_i V_i^T x."""
    torch.manual_seed(seed)
    graph = nx.gnp_random_graph(8, 0.5, seed=seed)
    bases = spaces_of(adjacency_of(graph))
    x = torch.randn(8, 2, dtype=torch.float64)
    factor = bases.projectors(torch.arange(len(bases.values))).left[:, 0]
    projected = factor @ (factor.mT @ x) / 8
    found = (bases.values.sin()[:, None, None] * projected).sum(0)
    values, vectors = np.linalg.eigh(nx.to_numpy_array(graph))
    expected = torch.from_numpy(vectors * np.sin(values) @ vectors.T) @ x
    torch.testing.assert_close(found, expected)


def test_the_atlas_holds_what_the_properties_are_about() -> None:
    """Multiplicities up to 6, cycles of all three lengths, connected graphs and others."""
    chosen = [nx.graph_atlas(number) for number in itertools.chain(range(2, 1253, 50), (1252,))]
    assert max(int(spaces_of(adjacency_of(g)).dimension.max()) for g in chosen) == 6
    assert {nx.is_connected(graph) for graph in chosen} == {True, False}
