"""Networks that learn spectral filters, on a small grid: their laws, their size, and what they can learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tammes.data.filter_images import FILTERS, filter_images
from tammes.papers.robinson_spectral.filter_baselines import (
    GeneralizedPageRank,
    Separate,
    bernstein,
    propagation,
)
from tammes.papers.robinson_spectral.filter_networks import Grid, OnEigenvectors, Spectral
from tammes.papers.robinson_spectral.filter_rows import (
    ABSOLUTE,
    ARMA,
    BASISNET,
    BERNNET,
    BUILD,
    CHEBNET,
    FLIPS,
    GAT,
    GCN,
    OURS,
    PAPER,
    SIGNNET,
    TRANSFORMER,
)
from tammes.papers.robinson_spectral.filters import FilterRun, decomposed, measure
from tammes.spectral import Eigenpairs, SignNet

pytest.importorskip("torch_geometric")
SIDE = 6
LIMIT = 50_000


@pytest.fixture
def data(image_folder: Path) -> Path:
    return image_folder


@pytest.fixture
def grid(data: Path) -> Grid:
    return decomposed(filter_images(data))


@pytest.fixture(scope="module")
def large() -> Grid:
    """As many nodes and eigenvectors as the paper's grid, on a path."""
    nodes = 1024
    path = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])
    return Grid(
        edges=torch.cat([path, path.flip(0)], dim=1),
        pairs=Eigenpairs(vectors=torch.zeros(nodes, nodes), values=torch.zeros(1, nodes)),
        multiplicities=(1, 2, 32),
    )


def test_networks_on_eigenvectors_can_be_filters(data: Path) -> None:
    images = filter_images(data)
    grid = decomposed(images)
    for method in OURS:
        cell = FilterRun(image=0, method=method, setting="one", steps=150)
        found = measure(cell, images=images, grid=grid)
        assert max(vars(found)[name] for name in FILTERS) < 0.05, method


@pytest.mark.parametrize("method", [BASISNET, FLIPS])
def test_the_same_cell_gives_the_same_score(method: str, data: Path) -> None:
    images = filter_images(data)
    cell = FilterRun(image=0, method=method, setting=next(iter(BUILD[method])), steps=3)
    first, again = (measure(cell, images=images, grid=decomposed(images)) for _ in range(2))
    assert [vars(first)[name] for name in FILTERS] == [vars(again)[name] for name in FILTERS]


def test_signs_and_bases_are_not_seen(grid: Grid) -> None:
    # Two eigenvectors of one eigenvalue are turned into each other, and all others change their signs.
    values = grid.pairs.values[0]
    pair = int((values.diff() < 1e-6).nonzero()[0, 0])
    changed = -grid.pairs.vectors
    turn = torch.tensor([[0.6, -0.8], [0.8, 0.6]])
    changed[:, pair : pair + 2] = changed[:, pair : pair + 2] @ turn
    signal = torch.rand(SIDE**2, 1, generator=torch.Generator().manual_seed(0))
    for method, vectors in ((SIGNNET, -grid.pairs.vectors), (BASISNET, changed)):
        other = Grid(
            edges=grid.edges,
            pairs=Eigenpairs(vectors=vectors, values=grid.pairs.values),
            multiplicities=grid.multiplicities,
        )
        found = []
        for each in (grid, other):
            torch.manual_seed(0)
            found.append(BUILD[method]["one"](each)(signal))
        torch.testing.assert_close(found[1], found[0], atol=1e-5, rtol=1e-5)


def test_the_baseline_is_a_polynomial(grid: Grid) -> None:
    adjacency = torch.eye(SIDE**2)
    adjacency[grid.edges[0], grid.edges[1]] = 1
    root = adjacency.sum(1).rsqrt()
    dense = root[:, None] * adjacency * root
    x = torch.rand(SIDE**2, 2)
    torch.testing.assert_close(propagation(grid.edges, SIDE**2, loops=True) @ x, dense @ x)
    network = GeneralizedPageRank(grid, width=3, layers=2, steps=2)
    h = x[:, :1]
    for linear in network.linear:
        h = linear(h).relu()
    g = network.gamma
    expected = network.last(g[0] * h + g[1] * dense @ h + g[2] * dense @ (dense @ h))
    torch.testing.assert_close(network(x[:, :1]), expected)


def test_a_polynomial_in_bernsteins_basis_has_its_response(grid: Grid) -> None:
    adjacency = propagation(grid.edges, SIDE**2, loops=False).double()
    dense = adjacency.to_dense()
    torch.testing.assert_close(dense, dense.T)
    values, vectors = torch.linalg.eigh(torch.eye(SIDE**2) - dense)
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(SIDE**2, 2, dtype=torch.float64, generator=generator)
    theta = torch.rand(11, dtype=torch.float64, generator=generator)
    share = values / 2
    binomials = torch.tensor([1, 10, 45, 120, 210, 252, 210, 120, 45, 10, 1])
    terms = [theta[k] * binomials[k] * share**k * (1 - share) ** (10 - k) for k in range(11)]
    expected = vectors @ (sum(terms)[:, None] * (vectors.T @ x))
    torch.testing.assert_close(bernstein(x, theta, adjacency), expected)
    torch.testing.assert_close(bernstein(x, torch.ones_like(theta), adjacency), x)  # its terms sum to one
    torch.testing.assert_close(bernstein(x, theta[:1], adjacency), theta[0] * x)


@pytest.mark.parametrize("method", BUILD)
def test_no_network_has_more_parameters_a_filter_than_the_paper_allows(method: str, large: Grid) -> None:
    counts = []
    for build in BUILD[method].values():
        network = build(large)
        count = sum(parameter.numel() for parameter in network.parameters())
        if isinstance(network, OnEigenvectors):  # without the heads of other filters
            count -= sum(each.numel() for each in network.heads[1:].parameters())
        else:
            count //= len(FILTERS)
        counts.append(count)
    assert max(counts) <= LIMIT
    if method not in OURS:  # the widest is just within the limit
        assert max(counts) > 0.95 * LIMIT
        assert len(counts) == 4


def test_every_row_of_the_table_has_networks() -> None:
    assert BUILD.keys() == PAPER.keys()
    assert len(PAPER) == 13


@pytest.mark.parametrize("method", BUILD)
def test_a_network_is_equivariant_to_permutations_of_nodes(method: str, grid: Grid) -> None:
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(SIDE**2, generator=generator)
    signal = torch.rand(SIDE**2, 1, generator=generator)
    permuted = replace(
        grid,
        edges=order.argsort()[grid.edges],
        pairs=Eigenpairs(vectors=grid.pairs.vectors[order], values=grid.pairs.values),
    )
    for build in BUILD[method].values():
        found = []
        for each, x in ((grid, signal), (permuted, signal[order])):
            torch.manual_seed(0)  # of the weights, and of random signs
            network = build(each)
            for parameter in network.parameters():
                if parameter.abs().max() == 0:
                    parameter.data.uniform_(-0.1, 0.1)  # biases count, too
            found.append(network(x))
        assert found[0].std(dim=0).min() > 1e-4
        torch.testing.assert_close(found[1], found[0][order], atol=1e-5, rtol=1e-4)


def smooth_twice(grid: Grid, x: Tensor) -> Tensor:
    """Return P^2 x with edges from each node to itself, as two graph convolutions compute it."""
    step = propagation(grid.edges, len(x), loops=True).double()
    return step @ (step @ x)


def mean_twice(grid: Grid, x: Tensor) -> Tensor:
    """Return means of nodes with their neighbors, twice, as attention with equal scores computes them."""
    ends, other = torch.cat([grid.edges, torch.arange(len(x)).expand(2, -1)], dim=1)
    for _ in range(2):
        x = torch.zeros_like(x).index_add(0, ends, x[other]) / torch.bincount(ends)[:, None]
    return x


def neighbors_twice(grid: Grid, x: Tensor) -> Tensor:
    """Return P^2 x without such edges, as two ARMA convolutions compute it."""
    step = propagation(grid.edges, len(x), loops=False).double()
    return step @ (step @ x)


def rough(grid: Grid, x: Tensor) -> Tensor:
    """Return L^2 x, as one Chebyshev convolution computes it."""
    adjacency = propagation(grid.edges, len(x), loops=False).double()
    once = x - adjacency @ x
    return once - adjacency @ once


def halved_twice(grid: Grid, x: Tensor) -> Tensor:
    """Return (1 - L / 2)^2 x, which is twice the polynomial with theta_k = 1 - k / K."""
    theta = torch.linspace(1, 0, 11, dtype=torch.float64)
    adjacency = propagation(grid.edges, len(x), loops=False).double()
    return bernstein(bernstein(x, theta, adjacency), theta, adjacency)


def same(grid: Grid, x: Tensor) -> Tensor:
    """Return x: without edges, a network represents those filters alone that are constant."""
    return x


def by_pixels(target: Tensor, x: Tensor) -> float:
    """Return the least squared error of a + b x, or of a where that is the target."""
    ones = torch.ones_like(x)
    columns = torch.stack([ones] if torch.equal(target, x) else [ones, x], dim=1)
    best = torch.linalg.lstsq(columns, target[:, None]).solution
    return float((target - (columns @ best)[:, 0]).square().sum())


@pytest.mark.parametrize(
    ("method", "filtered"),
    [
        (GCN, smooth_twice),
        (GAT, mean_twice),
        (ARMA, neighbors_twice),
        (CHEBNET, rough),
        (BERNNET, halved_twice),
        (TRANSFORMER, same),
        (FLIPS, same),
        (ABSOLUTE, same),
    ],
)
def test_a_baseline_learns_a_filter_that_it_can_represent(
    method: str, filtered: Callable[[Grid, Tensor], Tensor], data: Path, grid: Grid
) -> None:
    images = filter_images(data)
    target = filtered(grid, images.signals)
    images = replace(images, targets=dict.fromkeys(FILTERS, target))
    bound = by_pixels(target[images.inner, 0], images.signals[images.inner, 0])
    setting = next(iter(BUILD[method]))
    first, last = (
        measure(FilterRun(image=0, method=method, setting=setting, steps=steps), images=images, grid=grid)
        for steps in (1, 150)
    )
    assert min(vars(first)[name] for name in FILTERS) > bound
    assert max(vars(last)[name] for name in FILTERS) < 0.2 * bound


def test_networks_of_different_filters_share_no_weights(grid: Grid) -> None:
    network = BUILD[TRANSFORMER]["2 layers of 32"](grid)
    assert isinstance(network, Separate)
    network(torch.rand(SIDE**2, 1))[:, 0].sum().backward()
    learns = [any(bool(each.grad.any()) for each in one.parameters()) for one in network.networks]
    assert learns == [True, *[False] * 4]


def test_phi_wants_eigenvalues_and_one_feature(grid: Grid) -> None:
    network = SignNet(dim=4, phi=Spectral(width=2))
    with pytest.raises(ValueError, match="expected an eigenvector, its eigenvalue and one feature, got 2"):
        network(None, grid.edges, None, grid.pairs.vectors, grid.pairs.values)
