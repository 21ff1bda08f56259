"""BasisNet depends on eigenspaces alone, in training mode too, and moves with the nodes."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from batches import Batch, batch_of, high_multiplicities
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tammes.spectral import Combinatorial, eigenpairs
from tammes.spectral.bases import Bases
from tammes.spectral.basisnet import BasisNet, ProjectorBasisNet
from tammes.spectral.copies import Copies
from tammes.spectral.eigen.eigenspaces import RelativeGap
from tammes.spectral.equivariant.ign import IGN, IGNConfig
from tammes.spectral.equivariant.matrices import Dense, Nodes
from tammes.spectral.phi import Rho, RhoConfig
from tammes.spectral.universal import ExpressiveBasisNet, UnconstrainedBasisNet

seeds = st.integers(0, 2**16)


class Summed(Rho):
    """The sum over eigenspaces, perhaps with statistics of the batch, which training mode computes anew."""

    def __init__(self, width: int, normalized: bool) -> None:
        super().__init__()
        self.normalize = nn.BatchNorm1d(width) if normalized else nn.Identity()

    def forward(self, encoded: Tensor, copies: Copies) -> Tensor:
        return self.normalize(copies.by_node.sum(encoded))


class Total(RhoConfig):
    def build(self, inputs: int, outputs: int) -> Rho:
        assert inputs == outputs
        return Summed(outputs, normalized=False)


class Normalized(RhoConfig):
    def build(self, inputs: int, outputs: int) -> Rho:
        assert inputs == outputs
        return Summed(outputs, normalized=True)


def thin(**options: object) -> BasisNet:
    ign = IGNConfig(vector=(8, 4))
    return BasisNet(dim=4, rho=Normalized(), ign=ign, **options)


def with_matrices(**options: object) -> BasisNet:
    ign = IGNConfig(matrix=(3, 5), vector=(8, 4))
    return BasisNet(dim=4, rho=Normalized(), ign=ign, **options)


def one_each(**options: object) -> BasisNet:
    return with_matrices(multiplicities=(1, 2, 3, 4, 5, 6), **options)


def expressive() -> ExpressiveBasisNet:
    return ExpressiveBasisNet(dim=4, order=3, width=3)


NETWORKS = [thin, with_matrices, one_each, expressive]


def called(network: nn.Module, batch: Batch, x: Tensor | None = None) -> Tensor:
    return network(x, *batch.arguments())


@pytest.mark.parametrize("make", NETWORKS)
@settings(max_examples=8)
@given(seed=seeds)
def test_neither_signs_nor_bases_matter(make: object, seed: int) -> None:
    torch.manual_seed(0)
    network, batch = make().double(), high_multiplicities()  # type: ignore[operator]
    assert network.training
    found = called(network, batch.rotated(seed))
    torch.testing.assert_close(found, called(network, batch), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("make", NETWORKS)
@settings(max_examples=8)
@given(seed=seeds)
def test_permuting_nodes_permutes_encodings(make: object, seed: int) -> None:
    torch.manual_seed(0)
    network, batch = make().double(), high_multiplicities()  # type: ignore[operator]
    moved, order = batch.permuted(seed)
    torch.testing.assert_close(called(network, moved), called(network, batch)[order], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("make", [thin, with_matrices])
@settings(max_examples=8)
@given(seed=seeds)
def test_node_features_are_projected_and_keep_every_symmetry(make: object, seed: int) -> None:
    torch.manual_seed(0)
    network, batch = make(features=2).double(), high_multiplicities()  # type: ignore[operator]
    x = torch.randn(len(batch.batch), 2, dtype=torch.float64)
    found = called(network, batch, x)
    torch.testing.assert_close(called(network, batch.rotated(seed), x), found, rtol=1e-11, atol=1e-12)
    moved, order = batch.permuted(seed)
    torch.testing.assert_close(called(network, moved, x[order]), found[order], rtol=1e-11, atol=1e-12)
    assert not torch.equal(called(network, batch, x + 1), found)


@pytest.mark.parametrize("make", [thin, with_matrices, one_each])
def test_chunks_and_their_second_pass_change_nothing(make: object) -> None:
    batch, x = high_multiplicities(), torch.randn(39, 1, dtype=torch.float64)
    results = []
    for at_once in (1, 300, 2**23):
        torch.manual_seed(0)
        network = make(features=1, at_once=at_once).double()  # type: ignore[operator]
        vectors = batch.vectors.clone().requires_grad_()
        found = network(x, batch.edges, batch.batch, vectors, batch.values)
        found.square().sum().backward()
        results.append([found.detach(), vectors.grad, *(each.grad for each in network.parameters())])
    for other in results[:-1]:
        for mine, theirs in zip(other, results[-1], strict=True):
            torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("matrix", [(), (3, 5)])
def test_encodings_are_those_of_dense_projectors_graph_by_graph(matrix: tuple[int, ...]) -> None:
    """And node i of a graph stays node i: its encoding is in row i."""
    network = BasisNet(dim=4, rho=Total(), ign=IGNConfig(matrix=matrix, vector=(6, 4))).double()
    batch = high_multiplicities()
    bases = Bases.of(batch.vectors, batch.values, batch.batch, RelativeGap())
    copies = bases.copies(batch.edges)
    found = network.encodings(bases, copies)
    ign = network.igns[0]
    assert isinstance(ign, IGN)
    assert copies.rows == int(bases.sizes[bases.graph].sum())
    for member in torch.arange(len(bases.values)):
        rows = (batch.batch == bases.graph[member]).nonzero().flatten()
        first = int(bases.column[member])
        n, columns = len(rows), slice(first, first + int(bases.dimension[member]))
        projector = batch.vectors[rows][:, columns] @ batch.vectors[rows][:, columns].T
        nodes = Nodes(sizes=(n,))
        dense = Dense(entries=n * projector[None, None], nodes=nodes)
        wanted = ign(dense, nodes, bases.constants(member[None]))[0].T
        torch.testing.assert_close(found[copies.row[rows, bases.number[member]]], wanted)


def test_each_eigenvalue_is_an_input() -> None:
    """Graph and eigenspaces stay the same where the matrix is scaled."""
    network = thin().double()
    batch = high_multiplicities()
    other = Batch(edges=batch.edges, batch=batch.batch, vectors=batch.vectors, values=2 * batch.values)
    assert not torch.allclose(called(network, other), called(network, batch))


def test_gradients_are_right() -> None:
    batch = batch_of(nx.cycle_graph(4), nx.path_graph(4))
    network = BasisNet(dim=2, rho=Total(), ign=IGNConfig(matrix=(2,), vector=(3, 2)), features=1).double()
    x = torch.randn(8, 1, dtype=torch.float64, requires_grad=True)
    vectors, values = batch.vectors.clone().requires_grad_(), batch.values
    assert torch.autograd.gradcheck(
        lambda v, f: network(f, batch.edges, batch.batch, v, values), (vectors, x)
    )


def test_single_precision_gives_the_same_to_its_rounding() -> None:
    torch.manual_seed(0)
    network, batch = with_matrices(), high_multiplicities()
    found = called(network, batch.single())
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), called(network.double(), batch), rtol=1e-3, atol=1e-4)


def test_graphs_are_encoded_alike_in_any_company() -> None:
    network = BasisNet(dim=4, rho=Total(), ign=IGNConfig(matrix=(3,), vector=(4,))).double()
    graphs = [nx.cycle_graph(6), nx.star_graph(3), nx.complete_graph(7)]
    together, start = called(network, batch_of(*graphs)), 0
    for graph in graphs:
        alone = called(network, batch_of(graph))
        torch.testing.assert_close(together[start : start + len(graph)], alone)
        start += len(graph)


def test_one_graph_needs_no_batch() -> None:
    network, batch = BasisNet(dim=32, rho=Total()).double(), batch_of(nx.cycle_graph(5))
    found = network(None, None, None, batch.vectors, batch.values)
    torch.testing.assert_close(found, called(network, batch))


def test_k_eigenvectors_are_enough_and_more_than_n_are_none() -> None:
    network = BasisNet(dim=4, rho=Total(), ign=IGNConfig(vector=(4,))).double()
    graphs = nx.path_graph(4), nx.path_graph(9)
    few = called(network, batch_of(*graphs, count=3))
    many, all_of_them = called(network, batch_of(*graphs, count=12)), called(network, batch_of(*graphs))
    torch.testing.assert_close(many, all_of_them)
    assert not torch.allclose(few, many)


def test_a_multiplicity_that_no_network_is_for_is_refused() -> None:
    batch = batch_of(nx.path_graph(3), nx.star_graph(4), laplacian=Combinatorial())
    with pytest.raises(ValueError, match=r"graph 1 has multiplicity 3, and there are networks for \(1, 2\)"):
        called(BasisNet(dim=32, rho=Total(), multiplicities=(1, 2)).double(), batch)


def test_tensors_that_do_not_fit_are_refused_with_what_they_need() -> None:
    batch = batch_of(nx.path_graph(200))
    with pytest.raises(ValueError, match=r"order 3 for 200 eigenspaces .* 200 nodes need about 232 GB"):
        called(expressive().double(), batch)


def test_order_two_sees_what_order_one_cannot_and_gradients_arrive() -> None:
    network = ExpressiveBasisNet(dim=2, order=2, width=2, layers=2).double()
    batch = batch_of(nx.cycle_graph(4), nx.path_graph(4))
    vectors = batch.vectors.clone().requires_grad_()
    values = batch.values
    assert torch.autograd.gradcheck(lambda v: network(None, batch.edges, batch.batch, v, values), (vectors,))


@settings(max_examples=8)
@given(seed=seeds)
def test_without_permutation_symmetry_bases_do_not_matter_but_the_order_does(seed: int) -> None:
    torch.manual_seed(0)
    network = UnconstrainedBasisNet(dim=4, nodes=6, eigenvectors=6, multiplicities=(1, 2, 4, 5)).double()
    graphs = nx.star_graph(5), nx.cycle_graph(6), nx.complete_graph(6), nx.path_graph(6)
    batch = batch_of(*graphs)
    found = called(network, batch)
    torch.testing.assert_close(called(network, batch.rotated(seed)), found, rtol=1e-11, atol=1e-12)
    moved, order = batch.permuted(seed)
    if not torch.equal(moved.vectors, batch.vectors):
        assert not torch.allclose(called(network, moved), found[order])


def test_without_permutation_symmetry_graphs_have_one_size() -> None:
    network = UnconstrainedBasisNet(dim=4, nodes=6, eigenvectors=6)
    with pytest.raises(ValueError, match=r"graphs of 6 nodes and 6 columns .* got \[5, 6\] and 6"):
        called(network, batch_of(nx.path_graph(5), nx.path_graph(6)))


def wrong() -> dict[str, tuple[tuple[object, ...], str]]:
    batch = batch_of(nx.path_graph(3), nx.path_graph(2))
    nan, owner, vectors, values = batch.vectors.clone(), batch.batch, batch.vectors, batch.values
    nan[0, 0] = float("nan")
    return {
        "nodes": ((owner[:-1], vectors, values), r"expected eigenvectors of shape \(4, k\)"),
        "graphs": ((owner, vectors, values[:1]), r"eigenvalues of shape \(2, 3\)"),
        "columns": ((owner, vectors[:, :2], values), r"shape \(2, 2\).*\(2, 3\)"),
        "nan": ((owner, nan, values), "finite eigenvectors"),
        "order": ((torch.tensor([0, 1, 1, 0, 1]), vectors, values), "ascends"),
        "complex": ((owner, vectors.cfloat(), values), "real eigenvectors"),
        "none": ((owner, vectors[:, :0], values[:, :0]), "at least one, for each"),
        "falling": ((owner, vectors, -values), "ascending eigenvalues"),
    }


@pytest.mark.parametrize("case", wrong())
@pytest.mark.parametrize("make", [thin, expressive])
def test_what_does_not_fit_is_refused(make: object, case: str) -> None:
    arguments, words = wrong()[case]
    with pytest.raises(ValueError, match=words):
        make().double()(None, None, *arguments)  # type: ignore[operator]


def unconstrained() -> UnconstrainedBasisNet:
    return UnconstrainedBasisNet(dim=4, nodes=4, eigenvectors=4)


@pytest.mark.parametrize("make", [thin, expressive, unconstrained])
def test_a_graph_whose_only_eigenspace_is_cut_is_encoded_as_in_a_batch(make: object) -> None:
    network = make().double().eval()  # type: ignore[operator]
    edges, owner = torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 0, 1, 1, 1, 1])
    if make is unconstrained:
        owner = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])
    pairs = eigenpairs(edges, owner, count=3, whole_eigenspaces=True)  # of 0, 0, 0, 0 in the second graph
    vectors, values = (torch.nn.functional.pad(each, (0, 1)) for each in (pairs.vectors, pairs.values))
    assert not vectors[-4:].any()
    together = network(None, edges, owner, vectors, values)
    alone = network(None, edges[:, :0], None, vectors[-4:], values[1:])
    torch.testing.assert_close(alone, together[-4:])


@pytest.mark.parametrize(("make", "nodes"), [(thin, 3), (expressive, 3), (unconstrained, 4)])
def test_half_precision_is_near_full_precision(make: object, nodes: int) -> None:
    torch.manual_seed(0)
    network, batch = make(), batch_of(nx.path_graph(nodes), nx.cycle_graph(4))  # type: ignore[operator]
    full = called(network, batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (called(network, batch) - full).abs().max() < 0.1 * full.abs().max()


def test_features_that_are_missing_or_of_another_shape_are_refused() -> None:
    batch = batch_of(nx.path_graph(3))
    network = thin(features=2).double()
    for x in (None, torch.zeros(3, 1).double()):
        with pytest.raises(ValueError, match=r"node features of shape \(3, 2\)"):
            called(network, batch, x)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: IGNConfig(vector=()), "at least one width"),
        (lambda: IGNConfig(matrix=[3]), "must be a tuple of widths"),
        (lambda: IGNConfig(vector=(0,)), "each width in vector must be an integer of at least 1, got 0"),
        (
            lambda: BasisNet(dim=4, rho=Total().build(4, 4)),
            "expected rho as settings, such as .*got a Summed",
        ),
        (lambda: BasisNet(dim=4, ign="ign"), "expected ign as settings, such as .*got a str"),
        (
            lambda: ProjectorBasisNet(dim=4, rho=IGNConfig()),
            "expected rho as settings, such as .*an? IGNConfig",
        ),
        (
            lambda: BasisNet(dim=32, rho=Total(), features=-1),
            "features must be an integer of at least 0",
        ),
        (
            lambda: BasisNet(dim=32, rho=Total(), multiplicities=()),
            "multiplicities must be a tuple of different integers",
        ),
        (
            lambda: BasisNet(dim=32, rho=Total(), multiplicities=(1, 1)),
            "must be a tuple of different integers",
        ),
        (lambda: BasisNet(dim=32, rho=Total(), at_once=0), "at_once must be an integer of at least 1"),
        (lambda: ExpressiveBasisNet(dim=4, order=0), "order must be an integer of at least 1"),
        (lambda: ExpressiveBasisNet(dim=4, gigabytes=0), "gigabytes must be a finite number above 0"),
    ],
)
def test_what_makes_no_network_is_refused(make: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()  # type: ignore[operator]
