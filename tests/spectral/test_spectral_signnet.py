"""No sign changes what SignNet makes of eigenvectors, in training as in evaluation, and nodes stay nodes."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace

import networkx as nx
import pytest
import torch
from batches import Batch, batch_of, high_multiplicities
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tammes.spectral import (
    GIN,
    ConcatenatedConfig,
    Copies,
    EigenvectorSetsConfig,
    EigenvectorTransformerConfig,
    ElementwiseConfig,
    GINConfig,
    NodeSetsConfig,
    NodeTransformerConfig,
    PhiConfig,
    RhoConfig,
    SignNet,
    SummedConfig,
)
from tammes.spectral.copies import Groups
from tammes.spectral.phi import EigenvectorLayers
from tammes.spectral.universal import UnconstrainedSignNet

FEATURES = 2
PHIS: tuple[PhiConfig, ...] = (
    ElementwiseConfig(width=6, normalize=True, dropout=0.3),
    GINConfig(width=6, layers=3, dropout=0.3),
    GINConfig(width=6, layers=2, normalize=False),
    NodeSetsConfig(width=6, dropout=0.3),
    NodeTransformerConfig(width=6, heads=2, layers=1, dropout=0.3),
)
RHOS: tuple[RhoConfig, ...] = (
    ConcatenatedConfig(eigenvectors=9, width=6),
    SummedConfig(width=6, dropout=0.3),
    EigenvectorSetsConfig(width=6, dropout=0.3),
    EigenvectorTransformerConfig(width=6, heads=2, dropout=0.3),
)
# Every phi and every rho, each with one that normalizes by the batch.
PAIRS = [*itertools.product(PHIS, [SummedConfig(width=6)]), *((PHIS[1], rho) for rho in RHOS)]
DATA = high_multiplicities()
X = torch.randn(len(DATA.batch), FEATURES, dtype=torch.float64, generator=torch.Generator().manual_seed(5))


def network(phi: PhiConfig, rho: RhoConfig, *, training: bool) -> SignNet:
    signnet = SignNet(dim=4, phi=phi, rho=rho, rho_sees_eigenvalues=True, features=FEATURES)
    return signnet.double().train(training)


def called(signnet: nn.Module, x: Tensor, data: Batch) -> Tensor:
    torch.manual_seed(3)  # dropout
    return signnet(x, *data.arguments())


def is_same(one: Tensor, other: Tensor, tolerance: float = 1e-12) -> bool:
    return float((one - other).detach().abs().max() / other.detach().abs().max()) < tolerance


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize(("phi", "rho"), PAIRS, ids=lambda part: type(part).__name__)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**16))
def test_signs_change_nothing(phi: PhiConfig, rho: RhoConfig, training: bool, seed: int) -> None:
    signnet = network(phi, rho, training=training)
    generator = torch.Generator().manual_seed(seed)
    signs = 2 * torch.randint(2, DATA.values.shape, generator=generator) - 1
    flipped = Batch(
        edges=DATA.edges, batch=DATA.batch, vectors=DATA.vectors * signs[DATA.batch], values=DATA.values
    )
    one, other = called(signnet, X, DATA), called(signnet, X, flipped)
    assert is_same(one, other)
    gradients = [
        torch.autograd.grad(result.square().sum(), signnet.parameters(), allow_unused=True)
        for result in (one, other)
    ]
    for by_one, by_other in zip(*gradients, strict=True):
        if by_one is not None and by_one.abs().max() > 1e-9:
            assert is_same(by_one, by_other, 1e-9)


@pytest.mark.parametrize(("phi", "rho"), PAIRS, ids=lambda part: type(part).__name__)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**16))
def test_encodings_move_with_the_nodes(phi: PhiConfig, rho: RhoConfig, seed: int) -> None:
    signnet = network(phi, rho, training=False)
    moved, order = DATA.permuted(seed)
    assert is_same(called(signnet, X[order], moved), called(signnet, X, DATA)[order])


@pytest.mark.parametrize(("phi", "rho"), PAIRS, ids=lambda part: type(part).__name__)
def test_a_batch_is_its_graphs_one_by_one(phi: PhiConfig, rho: RhoConfig) -> None:
    signnet = network(phi, rho, training=True)
    called(signnet, X, DATA)  # statistics other than 0 and 1
    signnet.eval()
    together = called(signnet, X, DATA)
    for number, value in enumerate(DATA.values):
        rows = DATA.batch == number
        edges = DATA.edges[:, rows[DATA.edges[0]]] - int(rows.nonzero()[0])
        alone = signnet(X[rows], edges, None, DATA.vectors[rows], value[None])
        assert is_same(alone, together[rows])


def test_phi_sees_every_eigenvector_and_neighbor() -> None:
    """The formula, by a loop over graphs, eigenvectors and signs."""
    signnet = network(GINConfig(width=6, layers=2), SummedConfig(width=6), training=False)
    expected = []
    for number, values in enumerate(DATA.values):
        rows = DATA.batch == number
        size = int(rows.sum())
        edges = DATA.edges[:, rows[DATA.edges[0]]] - int(rows.nonzero()[0])
        around = torch.eye(size, dtype=torch.float64).index_put(
            (edges[1], edges[0]), torch.ones(edges.shape[1], dtype=torch.float64), accumulate=True
        )
        total = torch.zeros(size, 7, dtype=torch.float64)
        for column in range(size):
            vector = DATA.vectors[rows, column]
            value = values[column].expand(size)
            for sign in (1, -1):
                h = torch.cat([torch.stack([sign * vector, value], dim=1), X[rows]], dim=1)
                for layer in signnet.phi.layers:
                    h = layer.normalize(layer.mlp(around @ h))
                total[:, :6] += h
            total[:, 6] += value
        expected.append(signnet.rho.mlp(total))
    assert is_same(called(signnet, X, DATA), torch.cat(expected))


def encoded_apart(signnet: SignNet, data: Batch) -> Tensor:
    """SignNet as published: phi is called with v, and again with -v, each with its own batch statistics."""
    copies = Copies.of(data.edges, data.batch, data.vectors, len(data.values))
    value = data.values[data.batch[copies.node], copies.column][:, None]
    vector = data.vectors[copies.node, copies.column][:, None]
    others = torch.cat([value, X[copies.node]], dim=1)
    both = [signnet.phi(torch.cat([sign * vector, others], dim=1)[:, None], copies)[:, 0] for sign in (1, -1)]
    return signnet.rho(torch.cat([sum(both), value], dim=1), copies)


def test_signs_apart_give_the_same_in_evaluation_and_depend_on_signs_in_training() -> None:
    signnet = network(GINConfig(width=6, layers=3), SummedConfig(width=6), training=True)
    flips = torch.ones_like(DATA.vectors[0])
    flips[1] = -1  # the second eigenvector of each graph
    flipped = replace(DATA, vectors=DATA.vectors * flips)
    assert is_same(called(signnet, X, flipped), called(signnet, X, DATA))
    assert not is_same(encoded_apart(signnet, flipped), encoded_apart(signnet, DATA), 1e-3)
    signnet.eval()  # with the running statistics of these calls
    assert is_same(encoded_apart(signnet, DATA), called(signnet, X, DATA))
    assert is_same(encoded_apart(signnet, flipped), called(signnet, X, DATA))


def test_directed_edges_are_summed_at_their_heads() -> None:
    edges, batch = torch.tensor([[0, 0, 1], [1, 2, 2]]), torch.zeros(3, dtype=torch.long)
    copies = Copies.of(edges, batch, torch.eye(3, dtype=torch.float64), 1)
    signals = torch.randn(9, 2, 1, dtype=torch.float64, requires_grad=True)
    around = torch.tensor([[1.0, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=torch.float64)
    expected = torch.einsum("ij,jksc->iksc", around, signals.view(3, 3, 2, 1)).reshape(9, 2, 1)
    summed = copies.neighborhood_sum(signals)
    assert is_same(summed, expected)
    weights = torch.randn(9, 2, 1, dtype=torch.float64)
    pair = [torch.autograd.grad((each * weights).sum(), signals)[0] for each in (summed, expected)]
    assert is_same(*pair)


def test_eigenvalues_and_features_enter_where_they_are_asked_for() -> None:
    def changes(signnet: SignNet) -> tuple[bool, bool]:
        signnet.double()
        x = X if signnet.features else None
        before = signnet(x, *DATA.arguments())
        other_values = signnet(x, DATA.edges, DATA.batch, DATA.vectors, DATA.values + 1)
        other_x = signnet(None if x is None else x + 1, *DATA.arguments())
        return not torch.equal(before, other_values), not torch.equal(before, other_x)

    phi = GINConfig(width=6, layers=2, normalize=False)
    assert changes(SignNet(dim=2, phi=phi, phi_sees_eigenvalues=False)) == (False, False)
    assert changes(SignNet(dim=2, phi=phi)) == (True, False)
    seen_by_rho = SignNet(dim=2, phi=phi, phi_sees_eigenvalues=False, rho_sees_eigenvalues=True)
    assert changes(seen_by_rho) == (True, False)
    with_features = SignNet(dim=2, phi=phi, phi_sees_eigenvalues=False, features=FEATURES)
    assert changes(with_features) == (False, True)


def test_graphs_with_the_same_degrees_are_distinguished() -> None:
    data = batch_of(nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)))
    signnet = SignNet(dim=4, phi=GINConfig(width=6, layers=2)).double().eval()
    encoded = signnet(None, *data.arguments())
    assert (encoded[:6].sum(0) - encoded[6:].sum(0)).abs().max() > 1e-3


def test_a_single_node_without_edges_has_an_encoding() -> None:
    data = batch_of(nx.empty_graph(1))
    signnet = SignNet(dim=3, rho=SummedConfig(normalize=False)).double()
    assert signnet(None, *data.arguments()).isfinite().all()
    normalized = SignNet(dim=3).double()
    with pytest.raises(ValueError, match="at least two rows"):
        normalized(None, *data.arguments())
    assert normalized.eval()(None, *data.arguments()).isfinite().all()


@pytest.mark.parametrize("rho", RHOS, ids=lambda part: type(part).__name__)
@pytest.mark.parametrize("phi", PHIS, ids=lambda part: type(part).__name__)
def test_graphs_without_any_eigenvector_are_encoded(phi: PhiConfig, rho: RhoConfig) -> None:
    """As those whose only eigenspace was cut."""
    kept = (DATA.batch != 2)[:, None]
    vectors = DATA.vectors.where(kept, 0.0)
    signnet = network(phi, rho, training=True)
    encoded = signnet(X, DATA.edges, DATA.batch, vectors, DATA.values)
    encoded.square().sum().backward()
    assert encoded.isfinite().all()
    assert all(each.grad is None or each.grad.isfinite().all() for each in signnet.parameters())


def test_float32_and_double_eigenpairs_may_be_mixed() -> None:
    signnet = SignNet(dim=3)
    encoded = signnet(None, DATA.edges, DATA.batch, DATA.vectors.float(), DATA.values)
    assert encoded.dtype == torch.float32


@pytest.mark.parametrize("phi", PHIS, ids=lambda part: type(part).__name__)
def test_half_precision_is_near_full_precision(phi: PhiConfig) -> None:
    signnet = SignNet(dim=3, phi=phi, features=FEATURES)
    signnet.apply(lambda module: setattr(module, "p", 0.0) if hasattr(module, "p") else None)
    arguments = (X.float(), *DATA.single().arguments())
    full = signnet(*arguments)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = signnet(*arguments)
    half.float().sum().backward()
    assert is_same(half.float(), full, 0.2)
    assert all(parameter.grad.isfinite().all() for parameter in signnet.parameters())


@pytest.mark.parametrize("phi", PHIS, ids=lambda part: type(part).__name__)
def test_weights_may_be_of_half_precision(phi: PhiConfig) -> None:
    signnet = SignNet(dim=3, phi=phi).bfloat16()
    encoded = signnet(None, *DATA.single().arguments())
    assert encoded.dtype == torch.bfloat16
    assert encoded.isfinite().all()


def test_wrong_input_is_refused() -> None:
    signnet = SignNet(dim=3, features=FEATURES).double()
    edges, batch, vectors, values = DATA.arguments()
    nan = vectors.clone()
    nan[0, 0] = math.nan
    for arguments, message in (
        ((X, edges, batch[:-1], vectors, values), "a row for each node"),
        ((X, edges, batch, vectors, values[:-1]), "a row for each graph"),
        ((X, edges, batch, vectors, values[:, :-1]), "expected eigenvalues of shape"),
        ((X, edges, batch, nan, values), "finite eigenvectors"),
        ((X, edges, batch, vectors, values * math.nan), "finite eigenvalues"),
        ((X, edges, batch, vectors.to(torch.complex128), values), "real eigenvectors"),
        ((None, edges, batch, vectors, values), "got none"),
        ((X * math.nan, edges, batch, vectors, values), "finite node features"),
        ((X, edges, batch.flip(0), vectors, values), "ascends"),
        ((X, edges, batch - 1, vectors, values), "ascends"),
        ((X, edges, batch.float(), vectors, values), "int64"),
        ((X, edges + len(batch), batch, vectors, values), "the nodes of edge_index must be from 0"),
        ((X, edges.float(), batch, vectors, values), "int64"),
        ((X, edges.new_tensor([[0], [len(batch) - 1]]), batch, vectors, values), "joins two"),
        ((X, edges, batch, vectors.long(), values), "eigenvectors of a float type"),
        ((X, edges, batch, 0 * vectors, values), "got 0"),
        ((X[:, :1], edges, batch, vectors, values), "expected node features of shape"),
    ):
        with pytest.raises(ValueError, match=message):
            signnet(*arguments)
    fixed = SignNet(dim=3, rho=ConcatenatedConfig(eigenvectors=4)).double()
    with pytest.raises(ValueError, match="expected 4 columns"):
        fixed(None, edges, batch, vectors, values)


def test_wrong_settings_are_refused() -> None:
    for make, message in (
        (lambda: SignNet(dim=0), "dim"),
        (lambda: SignNet(dim=1, features=-1), "features"),
        (lambda: SignNet(dim=1, phi="gin"), r"expected phi as settings, such as GINConfig\(.*got a str"),
        (lambda: SignNet(dim=1, phi=nn.Linear(2, 3)), "expected phi as settings, .*got a Linear"),
        (lambda: SignNet(dim=1, phi=SummedConfig()), "expected phi as settings, .*got a SummedConfig"),
        (lambda: SignNet(dim=4, rho=SummedConfig().build(64, 4)), "expected rho as settings, .*got a Summed"),
        (lambda: GINConfig(layers=0), "layers"),
        (lambda: GINConfig(dropout=1.0), "dropout"),
        (lambda: NodeTransformerConfig(width=6, heads=4), "multiple of the heads"),
        (lambda: EigenvectorTransformerConfig(width=6, heads=4), "multiple of the heads"),
        (lambda: ConcatenatedConfig(eigenvectors=0), "eigenvectors"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


@pytest.mark.equal_bits
def test_weights_come_from_torchs_generator_and_load_again() -> None:
    def built() -> SignNet:
        return SignNet(dim=3, phi=GINConfig(width=4, layers=2))

    torch.manual_seed(1)
    one = built()
    torch.manual_seed(1)
    other = built()
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    assert isinstance(one.phi, GIN)
    third = built()
    third.load_state_dict(one.state_dict())
    assert torch.equal(next(third.parameters()), next(one.parameters()))


@pytest.mark.parametrize("training", [True, False])
@given(seed=st.integers(0, 2**16))
def test_unconstrained_is_invariant_too(training: bool, seed: int) -> None:
    data = batch_of(nx.path_graph(5), nx.lollipop_graph(3, 2), nx.random_labeled_tree(5, seed=1), count=3)
    signnet = UnconstrainedSignNet(nodes=5, eigenvectors=3, dim=4, width=8, normalize=True)
    signnet.double().train(training)
    generator = torch.Generator().manual_seed(seed)
    signs = 2 * torch.randint(2, data.values.shape, generator=generator) - 1
    flipped = data.vectors * signs[data.batch]
    one = signnet(None, *data.arguments())
    other = signnet(None, data.edges, data.batch, flipped, data.values)
    assert one.shape == (15, 4)
    assert is_same(one, other)


def test_unconstrained_refuses_other_sizes() -> None:
    data = batch_of(nx.path_graph(5), count=3)
    for signnet, message in (
        (UnconstrainedSignNet(nodes=4, eigenvectors=3, dim=2), "expected graphs of 4 nodes"),
        (UnconstrainedSignNet(nodes=5, eigenvectors=2, dim=2), "5 nodes and 2 columns"),
    ):
        with pytest.raises(ValueError, match=message):
            signnet.double()(None, *data.arguments())


def test_a_finished_phi_is_the_one_that_its_settings_build() -> None:
    edges, batch, pairs = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3).long(), torch.randn(3, 2)
    config, found = GINConfig(width=4, layers=2), []
    for built in (False, True):
        torch.manual_seed(0)
        signnet = SignNet(dim=3, phi=config.build(2) if built else config)
        found.append(signnet(None, edges, batch, pairs, torch.tensor([[0.0, 1.0]])))
    assert torch.equal(*found)


def test_rho_of_sets_is_its_formula() -> None:
    """Two nodes with three eigenvectors each: ReLU after every layer, then the mean, then a linear map."""
    rho = EigenvectorSetsConfig(width=6, layers=2).build(4, 5).double().eval()
    assert isinstance(rho, EigenvectorLayers)
    encoded = torch.randn(6, 4, dtype=torch.float64)
    groups = Groups(of=torch.arange(6) // 3, place=torch.arange(6) % 3, count=2)
    copies = SimpleNamespace(by_node=groups)
    values = encoded.view(2, 3, 4)
    for layer in rho.layers.layers:
        values = (layer.own(values) + layer.all(values.mean(1, keepdim=True))).relu()
    torch.testing.assert_close(rho.forward(encoded, copies), rho.last(values.mean(1)))


@pytest.mark.parametrize("config", PHIS, ids=lambda part: type(part).__name__)
def test_lists_of_neighbors_are_made_for_the_phi_that_reads_edges(config: PhiConfig) -> None:
    signnet = network(config, SummedConfig(width=6), training=False)
    seen: list[Copies] = []
    signnet.phi.register_forward_pre_hook(lambda _, given: seen.append(given[1]))
    called(signnet, X, DATA)
    assert ("neighborhoods" in vars(seen[0])) == isinstance(signnet.phi, GIN) == signnet.phi.reads_edges
