"""Encodings by formulas equal dense matrix functions, and do not depend on bases where they should not."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from batches import Batch, batch_of, high_multiplicities
from torch import Tensor

from tammes.spectral import (
    Combinatorial,
    Eigenpairs,
    GINConfig,
    RandomWalk,
    SignNet,
    Symmetric,
    laplacian_matrix,
)
from tammes.spectral.encodings import (
    graph_angles,
    heat_kernel_encoding,
    laplacian_encoding,
    projected_ones,
    random_walk_encoding,
)

DATA = high_multiplicities()


def pairs_of(data: Batch) -> Eigenpairs:
    return Eigenpairs(vectors=data.vectors, values=data.values)


def matrices(data: Batch) -> list[Tensor]:
    """The dense Laplacian of each graph."""
    found = []
    for graph in range(len(data.values)):
        nodes = (data.batch == graph).nonzero().flatten()
        own = data.batch[data.edges[0]] == graph
        edges = data.edges[:, own] - nodes[0]
        found.append(laplacian_matrix(edges, len(nodes), laplacian=Symmetric()))
    return found


def invariant(data: Batch) -> Tensor:
    """All encodings that must not depend on bases, side by side."""
    pairs = pairs_of(data)
    return torch.cat(
        [
            random_walk_encoding(pairs, data.batch, steps=4),
            heat_kernel_encoding(pairs, data.batch, times=(0.5, 2.0)),
            graph_angles(pairs, data.batch, count=4).square(),
            projected_ones(pairs, data.batch, count=4),
        ],
        dim=1,
    )


def test_walks_are_powers_of_the_transition_matrix() -> None:
    expected = []
    for laplacian in matrices(DATA):
        # D^{-1} A has the diagonal of D^{-1/2} A D^{-1/2}, whose powers are similar to its own.
        walk = torch.diag((laplacian.diagonal() > 0).double()) - laplacian
        expected.append(torch.stack([torch.linalg.matrix_power(walk, t).diagonal() for t in (1, 2, 3)], 1))
    found = random_walk_encoding(pairs_of(DATA), DATA.batch, steps=3)
    torch.testing.assert_close(found, torch.cat(expected), rtol=0, atol=1e-12)


def test_walks_are_those_of_torch_geometric() -> None:
    pytest.importorskip("torch_geometric")
    from torch_geometric.data import Data
    from torch_geometric.transforms import AddRandomWalkPE

    theirs = AddRandomWalkPE(5)(Data(edge_index=DATA.edges, num_nodes=len(DATA.batch)))
    found = random_walk_encoding(pairs_of(DATA), DATA.batch, steps=5)
    torch.testing.assert_close(found.float(), theirs.random_walk_pe, rtol=0, atol=1e-6)


def test_heat_is_the_matrix_exponential() -> None:
    expected = torch.cat([torch.matrix_exp(-1.5 * each).diagonal() for each in matrices(DATA)])
    found = heat_kernel_encoding(pairs_of(DATA), DATA.batch, times=(1.5,))
    torch.testing.assert_close(found[:, 0], expected, rtol=0, atol=1e-12)


def test_after_any_time_heat_is_even_within_each_component() -> None:
    """The eigenvalue 0 is computed as about 1e-16 of either sign, whose exponential would grow or vanish."""
    found = heat_kernel_encoding(pairs_of(DATA), DATA.batch, times=np.array([1e12, 1e300]))
    kernel = [torch.linalg.eigh(each) for each in matrices(DATA)]
    expected = torch.cat([vectors[:, values < 1e-12].square().sum(1) for values, vectors in kernel])
    torch.testing.assert_close(found, expected[:, None].expand(-1, 2), rtol=0, atol=1e-12)


def test_no_basis_matters() -> None:
    torch.testing.assert_close(invariant(DATA.rotated(3)), invariant(DATA), rtol=0, atol=1e-12)


def test_permuted_nodes_have_permuted_encodings() -> None:
    moved, order = DATA.permuted(1)
    torch.testing.assert_close(invariant(moved), invariant(DATA)[order], rtol=0, atol=1e-12)


def test_all_eigenspaces_together_give_the_axes_and_the_ones() -> None:
    count = DATA.values.shape[1]
    squares = graph_angles(pairs_of(DATA), DATA.batch, count=count).square().sum(1)
    ones = projected_ones(pairs_of(DATA), DATA.batch, count=count + 3)
    torch.testing.assert_close(squares, torch.ones_like(squares), rtol=0, atol=1e-12)
    torch.testing.assert_close(ones.sum(1), torch.ones_like(squares), rtol=0, atol=1e-12)
    assert not ones[:, -3:].any()


def test_eigenvectors_follow_the_first_and_are_padded() -> None:
    found = laplacian_encoding(pairs_of(DATA), DATA.batch, count=12)
    columns = DATA.vectors.shape[1] - 1
    assert torch.equal(found[:, :columns], DATA.vectors[:, 1:])
    assert not found[:, columns:].any()


def test_only_eigenvectors_tell_nodes_apart_that_a_symmetry_exchanges() -> None:
    """The ends of a path, whose eigenvalues are all different."""
    path = batch_of(nx.path_graph(6))
    torch.manual_seed(0)
    signnet = SignNet(dim=4, phi=GINConfig(width=8, layers=2)).double()
    encoded = signnet(None, path.edges, path.batch, path.vectors, path.values)
    torch.testing.assert_close(encoded[0], encoded[5], rtol=0, atol=1e-12)
    assert (encoded[0] - encoded[1]).abs().max() > 1e-3
    torch.testing.assert_close(invariant(path)[0], invariant(path)[5], rtol=0, atol=1e-12)
    own = laplacian_encoding(pairs_of(path), path.batch, count=5)
    assert (own[0] - own[5]).abs().max() > 0.1
    # The pairs (1, 0) and (1, 5) differ, and the products keep that for every choice of signs.
    other = laplacian_encoding(pairs_of(path.rotated(2)), path.batch, count=5)
    products = own[1] * own[0], own[1] * own[5]
    assert (products[0] - products[1]).abs().max() > 0.1
    torch.testing.assert_close(other[1] * other[0], products[0], rtol=0, atol=1e-12)
    torch.testing.assert_close(other[1] * other[5], products[1], rtol=0, atol=1e-12)


def test_eigenpairs_of_another_laplacian_are_refused() -> None:
    path, small = nx.path_graph(3), nx.star_graph(5)
    for laplacian in (Combinatorial(), RandomWalk()):
        data = batch_of(path, small, laplacian=laplacian)
        with pytest.raises(ValueError, match=r"expected eigenpairs of Symmetric\(\)"):
            random_walk_encoding(pairs_of(data), data.batch, steps=2)
    with pytest.raises(ValueError, match=r"expected eigenpairs of Symmetric\(\), Combinatorial\(\)"):
        heat_kernel_encoding(pairs_of(data), data.batch, times=(0.0,))
    data = batch_of(path, small, laplacian=Combinatorial(), count=4)
    assert heat_kernel_encoding(pairs_of(data), data.batch, times=(0.0, 1.0)).min() >= 0
    # On regular graphs all three have the same eigenvectors; on single edges the same matrix.
    data = batch_of(nx.cycle_graph(5), laplacian=RandomWalk())
    assert random_walk_encoding(pairs_of(data), data.batch, steps=2)[:, 1].sub(0.5).abs().max() < 1e-12
    data = batch_of(nx.path_graph(2), laplacian=Combinatorial())
    assert random_walk_encoding(pairs_of(data), data.batch, steps=2)[:, 1].sub(1).abs().max() < 1e-12


def test_rounding_is_no_other_laplacian() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        pairs = Eigenpairs(vectors=DATA.vectors.to(dtype), values=DATA.values)
        walks = random_walk_encoding(pairs, DATA.batch, steps=2)
        expected = random_walk_encoding(pairs_of(DATA), DATA.batch, steps=2)
        assert (walks.double() - expected).abs().max() < 0.02
        assert heat_kernel_encoding(pairs, DATA.batch, times=(0.0,)).sub(1).abs().max() < 0.02


def test_what_raises() -> None:
    some = batch_of(nx.path_graph(5), count=2)
    with pytest.raises(ValueError, match="expected at least 4 eigenpairs, got 2"):
        laplacian_encoding(pairs_of(some), some.batch, count=3)
    with pytest.raises(ValueError, match="expected all eigenpairs of every graph, got fewer"):
        random_walk_encoding(pairs_of(some), some.batch, steps=2)
    with pytest.raises(ValueError, match="expected at least one of times, got none"):
        heat_kernel_encoding(pairs_of(some), some.batch, times=())
    with pytest.raises(ValueError, match="each of times must be"):
        heat_kernel_encoding(pairs_of(some), some.batch, times=(-1.0,))
    with pytest.raises(ValueError, match="count must be"):
        graph_angles(pairs_of(some), some.batch, count=0)
