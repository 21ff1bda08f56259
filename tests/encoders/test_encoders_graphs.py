"""Encoders of graphs: invariant to the order of nodes, separate for each graph, after any positions."""

import builtins
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from tammes.data import GraphBatch
from tammes.encoders import (
    BasisInvariant,
    GATEncoderConfig,
    GCNEncoderConfig,
    GINEncoderConfig,
    GPSEncoderConfig,
    GraphEncoderConfig,
    LaplacianEigenvectors,
    ShortcutHeadConfig,
    SignInvariant,
)
from tiny import random_graph_set

pytest.importorskip("torch_geometric")
KINDS = [
    GINEncoderConfig(width=8),
    GCNEncoderConfig(width=8),
    GATEncoderConfig(width=8),
    GPSEncoderConfig(width=8),
]
POSITIONS = [
    None,
    LaplacianEigenvectors(count=3),
    SignInvariant(count=3, width=4),
    BasisInvariant(count=30, width=4),
]


def shuffled(batch: GraphBatch) -> tuple[GraphBatch, Tensor]:
    """The same graphs with their nodes in another order, and the node of before at each place."""
    noise = torch.rand(len(batch.owner), generator=torch.Generator().manual_seed(1))
    order = torch.argsort(batch.owner + noise)
    place = torch.argsort(order)
    return replace(batch, features=batch.features[order], edges=place[batch.edges].flip(1)), order


@pytest.mark.parametrize(
    "positions",
    [None, SignInvariant(count=20, width=4), BasisInvariant(count=20, width=4)],
    ids=["plain", "signnet", "basisnet"],
)
@pytest.mark.parametrize("config", KINDS, ids=lambda config: type(config).__name__)
def test_graphs_do_not_depend_on_the_order_of_their_nodes(
    config: GraphEncoderConfig, positions: SignInvariant | BasisInvariant | None
) -> None:
    encoder = replace(config, positions=positions).build(inputs=2).eval()
    batch = random_graph_set().batch([0, 1, 2])
    if isinstance(positions, SignInvariant):
        batch = weighted(batch)
    other, order = shuffled(batch)
    torch.testing.assert_close(encoder.nodes(batch)[order], encoder.nodes(other), rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(encoder(batch), encoder(other), rtol=1e-3, atol=1e-4)


def weighted(batch: GraphBatch) -> GraphBatch:
    """Paths, whose eigenvalues are all different."""
    sizes = batch.sizes
    ends = torch.cat(
        [torch.arange(int(size) - 1) + int(start) for size, start in zip(sizes, batch.starts, strict=True)]
    )
    edges = torch.stack([ends, ends + 1])
    return replace(batch, edges=torch.cat([edges, edges.flip(0)], dim=1))


@pytest.mark.parametrize("positions", POSITIONS, ids=["none", "eigenvectors", "signnet", "basisnet"])
@pytest.mark.parametrize("config", KINDS, ids=lambda config: type(config).__name__)
def test_a_graph_does_not_depend_on_others_of_its_batch(
    config: GraphEncoderConfig, positions: LaplacianEigenvectors | SignInvariant | BasisInvariant | None
) -> None:
    encoder = replace(config, positions=positions).build(inputs=2).eval()
    graphs = random_graph_set()
    together = encoder(graphs.batch([0, 5, 9]))
    alone = torch.cat([encoder(graphs.batch([row])) for row in (0, 5, 9)])
    assert together.shape == (3, encoder.features) == (3, 24)
    # Eigenspaces of several dimensions have no basis of their own.
    if positions is None or isinstance(positions, BasisInvariant):
        torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("positions", POSITIONS, ids=["none", "eigenvectors", "signnet", "basisnet"])
@pytest.mark.parametrize("config", KINDS, ids=lambda config: type(config).__name__)
def test_every_weight_has_a_gradient(
    config: GraphEncoderConfig, positions: LaplacianEigenvectors | SignInvariant | BasisInvariant | None
) -> None:
    encoder = replace(config, positions=positions).build(inputs=2)
    # A node's sum over the batch is normalized away, so the squares are summed.
    encoder(random_graph_set().batch(range(8))).square().sum().backward()
    assert not [name for name, weight in encoder.named_parameters() if weight.grad is None]


def test_eigenvectors_have_random_signs_in_training_alone() -> None:
    batch = weighted(random_graph_set().batch(range(6)))
    positions = LaplacianEigenvectors(count=3).build()
    first, second = positions(batch), positions(batch)
    assert not torch.equal(first, second)
    torch.testing.assert_close(first.abs(), second.abs())
    positions.eval()
    assert torch.equal(positions(batch), positions(batch))


def test_basis_invariant_positions_see_whole_eigenspaces() -> None:
    """A cycle, and two components: eigenspaces of two dimensions, the first of them that of 0."""
    positions = BasisInvariant(count=8, width=4).build().double().eval()
    ring = torch.arange(6)
    cycle = torch.stack([ring, (ring + 1) % 6])
    for pairs in (cycle, torch.tensor([[0, 1, 3, 4], [1, 2, 4, 5]])):
        edges = torch.cat([pairs, pairs.flip(0)], dim=1)
        batch = GraphBatch(
            features=torch.ones(6, 1, dtype=torch.float64),
            edges=edges,
            owner=torch.zeros(6, dtype=torch.long),
            count=1,
        )
        turn = (ring + 1) % 6 if pairs is cycle else (ring + 3) % 6
        torch.testing.assert_close(positions(batch)[turn], positions(batch), rtol=0, atol=1e-9)


def test_what_does_not_fit_is_refused() -> None:
    for positions in (None, LaplacianEigenvectors(count=4)):
        encoder = GINEncoderConfig(positions=positions).build(inputs=3)
        with pytest.raises(ValueError, match="expected nodes with 3 features, got 2"):
            encoder(random_graph_set().batch([0]))
    for kind in (GATEncoderConfig, GPSEncoderConfig):
        with pytest.raises(
            ValueError, match="expected a width that is a multiple of the heads, got 10 and 4"
        ):
            kind(width=10)
    with pytest.raises(ValueError, match="layers must be an integer"):
        GINEncoderConfig(layers=0)
    with pytest.raises(ValueError, match="count must be an integer"):
        SignInvariant(count=0)


def test_without_torch_geometric_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object, **named: object) -> object:
        if name.startswith("torch_geometric"):
            raise ModuleNotFoundError(name)
        return real(name, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r'pip install "tammes\[graphs\]"'):
        GINEncoderConfig().build(inputs=1)


def test_the_head_of_info_graph_has_a_shortcut() -> None:
    head = ShortcutHeadConfig(dim=5).build(features=3)
    rows = torch.randn(4, 3)
    torch.testing.assert_close(head(rows), head.layers(rows) + head.shortcut(rows))
    assert len([layer for layer in head.layers if isinstance(layer, nn.ReLU)]) == 3
    with pytest.raises(ValueError, match="dim must be an integer"):
        ShortcutHeadConfig(dim=0)
