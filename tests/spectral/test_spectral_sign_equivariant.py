"""Encodings that change sign with the eigenvectors: what they tell apart, and invariant ones cannot."""

from __future__ import annotations

from collections import defaultdict

import networkx as nx
import pytest
import torch
from batches import Batch, batch_of, high_multiplicities
from torch import Tensor, nn

from tammes.spectral import (
    BasisNet,
    GINConfig,
    IGNConfig,
    SignEquivariantNet,
    SignNet,
    SummedConfig,
    link_features,
)
from tammes.spectral.layers import MLP

PATHS = batch_of(*(nx.path_graph(n) for n in (6, 7, 8, 9)))
"""An automorphism exchanges the ends of a path, and no eigenvalue is repeated."""


def signnet(dim: int = 8) -> SignNet:
    return SignNet(dim=dim, phi=GINConfig(width=8, layers=2), rho=SummedConfig(width=8, normalize=False))


def made(seed: int = 0) -> SignEquivariantNet:
    torch.manual_seed(seed)
    return SignEquivariantNet(dim=4, signnet=signnet(), width=16).double()


@pytest.mark.parametrize("training", [True, False])
def test_an_eigenvector_changes_the_sign_of_its_encoding_and_nothing_else(training: bool) -> None:
    network, batch = made().train(training), high_multiplicities()
    generator = torch.Generator().manual_seed(1)
    signs = 1.0 - 2 * torch.randint(2, (len(batch.values), batch.vectors.shape[1]), generator=generator)
    flipped = network(None, batch.edges, batch.batch, batch.vectors * signs[batch.batch], batch.values)
    straight = network(None, *batch.arguments())
    assert straight.shape == (*batch.vectors.shape, 4)
    torch.testing.assert_close(flipped, straight * signs[batch.batch][..., None], rtol=0, atol=1e-12)
    assert not straight[batch.vectors == 0].any()
    pairs = batch.edges
    torch.testing.assert_close(link_features(flipped, pairs), link_features(straight, pairs))


def test_permuted_nodes_have_permuted_encodings() -> None:
    network = made().eval()
    moved, order = PATHS.permuted(seed=2)
    torch.testing.assert_close(
        network(None, *moved.arguments()), network(None, *PATHS.arguments())[order], rtol=0, atol=1e-12
    )


def test_products_are_entries_of_functions_of_the_laplacian() -> None:
    path = batch_of(nx.path_graph(5))
    nodes = torch.arange(5)
    pairs = torch.cartesian_prod(nodes, nodes).T
    root = (-path.values).exp().sqrt()[0, :, None]  # g(lambda) = exp(-lambda)
    laplacian = (path.vectors * path.values) @ path.vectors.T
    found = link_features(path.vectors[..., None] * root, pairs).reshape(5, 5)
    torch.testing.assert_close(found, torch.matrix_exp(-laplacian))


def pairs_of(batch: Batch) -> tuple[Tensor, Tensor]:
    """All pairs of different nodes of each graph, and whether each is an edge."""
    n = len(batch.batch)
    adjacency = torch.zeros(n, n, dtype=torch.bool)
    adjacency[tuple(batch.edges)] = True
    together = (batch.batch[:, None] == batch.batch).triu(1)
    pairs = together.nonzero().T
    return pairs, adjacency[tuple(pairs)]


def accuracy(logits: Tensor, is_edge: Tensor) -> float:
    return ((logits > 0) == is_edge).double().mean().item()


def test_invariant_encodings_are_equal_where_an_automorphism_exchanges_nodes() -> None:
    pairs, is_edge = pairs_of(PATHS)
    mirrored = torch.cat([nodes.flip(0) for nodes in torch.arange(len(PATHS.batch)).split([6, 7, 8, 9])])
    for network in (
        signnet().double().eval(),
        BasisNet(dim=8, ign=IGNConfig(matrix=(4,), vector=(8, 8))).double().eval(),
    ):
        encodings = network(None, *PATHS.arguments())
        torch.testing.assert_close(encodings[mirrored], encodings, rtol=0, atol=1e-11)
    # So a decoder of two encodings sees a pair of classes of nodes, and at best answers as most of its pairs.
    classes = torch.arange(len(mirrored)).minimum(mirrored)
    of_classes = defaultdict(list)
    for (u, w), edge in zip(classes[pairs].sort(dim=0).values.T.tolist(), is_edge.tolist(), strict=True):
        of_classes[u, w].append(edge)
    best = sum(max(sum(edges), len(edges) - sum(edges)) for edges in of_classes.values()) / len(is_edge)
    assert best < 0.88
    # One edge and one other pair, that no invariant encoding tells apart: (0, 1) and (5, 1).
    assert is_edge[(torch.tensor([0, 1]) == pairs.T).all(1)].all()
    assert not is_edge[(torch.tensor([1, 5]) == pairs.T).all(1)].any()


def test_a_sign_equivariant_network_learns_the_edges_of_paths() -> None:
    network, decoder = made(), MLP([4, 16, 1]).double()
    modules = nn.ModuleList([network, decoder])
    optimizer = torch.optim.Adam(modules.parameters(), lr=1e-2)
    pairs, is_edge = pairs_of(PATHS)

    def logits(batch: Batch, pairs: Tensor) -> Tensor:
        return decoder(link_features(network(None, *batch.arguments()), pairs))[:, 0]

    for _ in range(150):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(logits(PATHS, pairs), is_edge.double())
        loss.backward()
        optimizer.step()
    modules.eval()
    assert accuracy(logits(PATHS, pairs), is_edge) == 1.0
    longer = batch_of(nx.path_graph(10))
    pairs, is_edge = pairs_of(longer)
    assert accuracy(logits(longer, pairs), is_edge) > 0.95


def test_wrong_sizes_and_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="dim must be"):
        SignEquivariantNet(dim=0, signnet=signnet())
    with pytest.raises(ValueError, match="width must be"):
        SignEquivariantNet(dim=1, signnet=signnet(), width=0)
    with pytest.raises(ValueError, match="the nodes of pairs must be from 0 to 1, got 0 to 2"):
        link_features(torch.ones(2, 1, 1), torch.tensor([[0], [2]]))
    with pytest.raises(ValueError, match=r"expected pairs as integers .*shape \(2, m\)"):
        link_features(torch.ones(2, 1, 1), torch.tensor([0, 1]))
