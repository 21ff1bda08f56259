"""The layers are all the linear equivariant maps, by hand and from set partitions, and nothing but these."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from tammes.spectral.equivariant.ign import MatrixToMatrix, MatrixToVector, VectorToMatrix, VectorToVector
from tammes.spectral.equivariant.matrices import Dense, Factored, Nodes
from tammes.spectral.equivariant.tensors import TensorToTensor, bell_number, set_partitions

seeds = st.integers(0, 2**16)


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def permuted(x: Tensor, order: Tensor) -> Tensor:
    """Every axis of nodes, in another order."""
    for dim in range(2, x.dim()):
        x = x.index_select(dim, order)
    return x


def apply(layer: nn.Module, x: Tensor, nodes: Nodes, constants: Tensor | None = None) -> Tensor:
    if isinstance(layer, MatrixToMatrix | MatrixToVector):
        return layer(Dense(entries=x, nodes=nodes), nodes, constants)
    if isinstance(layer, VectorToVector):
        return layer(x, nodes)
    if isinstance(layer, VectorToMatrix):
        width = x.shape[2]
        empty = x.new_zeros(len(x), layer.vectors.shape[1], width, width)
        return layer(x, nodes, empty)
    return layer(x, nodes, constants)


LAYERS = {
    "2->2": (lambda: MatrixToMatrix(3, 2, 2), 2),
    "2->1": (lambda: MatrixToVector(3, 2, 2), 2),
    "1->2": (lambda: VectorToMatrix(3, 2), 1),
    "1->1": (lambda: VectorToVector(3, 2), 1),
    "order 2->2": (lambda: TensorToTensor((2, 2), 3, 2, 2), 2),
    "order 3->2": (lambda: TensorToTensor((3, 2), 3, 2, 2), 3),
    "order 2->3": (lambda: TensorToTensor((2, 3), 3, 2, 2), 2),
    "order 1->2": (lambda: TensorToTensor((1, 2), 3, 2, 2), 1),
}


def made(name: str) -> tuple[nn.Module, int]:
    make, order = LAYERS[name]
    torch.manual_seed(0)
    layer = make().double()
    for weight in layer.parameters():  # biases, too
        nn.init.normal_(weight)
    return layer, order


@pytest.mark.parametrize("name", LAYERS)
@given(n=st.integers(1, 5), seed=seeds)
def test_permuting_nodes_permutes_what_a_layer_gives(name: str, n: int, seed: int) -> None:
    layer, order = made(name)
    x, constants = randn(2, 3, *[n] * order, seed=seed), randn(2, 2, seed=seed)
    nodes, new = Nodes(sizes=(n, n)), torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    found = apply(layer, permuted(x, new), nodes, constants)
    torch.testing.assert_close(found, permuted(apply(layer, x, nodes, constants), new))


@pytest.mark.parametrize("name", LAYERS)
def test_a_small_graph_beside_a_large_one_is_as_by_itself(name: str) -> None:
    layer, order = made(name)
    nodes = Nodes(sizes=(2, 5, 4))
    x = nodes.masked(randn(3, 3, *[5] * order))
    together = apply(layer, x, nodes, randn(3, 2))
    for place, size in enumerate(nodes.sizes):
        own = (slice(place, place + 1), slice(None), *[slice(0, size)] * order)
        alone = apply(layer, x[own], Nodes(sizes=(size,)), randn(3, 2)[place : place + 1])
        inside = (slice(place, place + 1), slice(None), *[slice(0, size)] * (together.dim() - 2))
        torch.testing.assert_close(together[inside], alone)
        assert together[place].count_nonzero() == alone.count_nonzero()  # and zeros outside


def maps_of(layer: nn.Module, order: int, n: int) -> Tensor:
    """Each weight's map as a row: what it makes of every entry of the input."""
    units = torch.eye(n**order, dtype=torch.float64).reshape(n**order, 1, *[n] * order)
    nodes, rows = Nodes(sizes=(n,) * len(units)), []
    layer.double()
    for weight in layer.parameters():
        nn.init.zeros_(weight)
    for name, weight in layer.named_parameters():
        if "bias" in name or "constants" in name:
            continue
        for place in range(weight.numel()):
            weight.data.view(-1)[place] = 1.0
            rows.append(apply(layer, units, nodes).detach().flatten())
            weight.data.view(-1)[place] = 0.0
    return torch.stack(rows)


def biases_of(layer: nn.Module, order: int, n: int) -> Tensor:
    layer.double()
    for weight in layer.parameters():
        nn.init.zeros_(weight)
    nodes, rows = Nodes(sizes=(n,)), []
    for place in range(layer.bias.numel()):
        layer.bias.data.view(-1)[place] = 1.0
        rows.append(apply(layer, torch.zeros(1, 1, *[n] * order).double(), nodes).detach().flatten())
        layer.bias.data.view(-1)[place] = 0.0
    return torch.stack(rows)


@pytest.mark.parametrize(
    ("layer", "orders", "biases"),
    [
        (MatrixToMatrix, (2, 2), True),
        (MatrixToVector, (2, 1), True),
        (VectorToMatrix, (1, 2), False),
        (VectorToVector, (1, 1), True),
    ],
)
def test_by_hand_and_from_set_partitions_are_the_same_maps(
    layer: type[nn.Module], orders: tuple[int, int], biases: bool
) -> None:
    """Bell(4) = 15, Bell(3) = 5, Bell(2) = 2 independent maps, which span the same space."""
    n, count = sum(orders), bell_number(sum(orders))
    by_hand, generated = layer(1, 1), TensorToTensor(orders, 1, 1)
    mine, theirs = maps_of(by_hand, orders[0], n), maps_of(generated, orders[0], n)
    assert len(mine) == len(theirs) == count
    assert torch.linalg.matrix_rank(mine) == torch.linalg.matrix_rank(theirs) == count
    assert torch.linalg.matrix_rank(torch.cat([mine, theirs])) == count
    if biases:
        mine, theirs = biases_of(by_hand, orders[0], n), biases_of(generated, orders[0], n)
        assert len(mine) == len(theirs) == bell_number(orders[1])
        assert torch.linalg.matrix_rank(torch.cat([mine, theirs])) == bell_number(orders[1])


@pytest.mark.parametrize(("inputs", "outputs", "n"), [(2, 2, 4), (2, 1, 4), (1, 2, 4), (3, 1, 4)])
def test_there_is_no_other_equivariant_map(inputs: int, outputs: int, n: int) -> None:
    """The maps M with (P x ... x P) M = M (P x ... x P) for all permutations have dimension Bell."""
    mean = torch.zeros(n ** (inputs + outputs), n ** (inputs + outputs), dtype=torch.float64)
    for order in [(1, 0, 2, 3), (1, 2, 3, 0)]:  # which generate all permutations
        one = torch.eye(n, dtype=torch.float64)[list(order)]
        whole = one
        for _ in range(inputs + outputs - 1):
            whole = torch.kron(whole, one)
        mean += whole / 2
    fixed = torch.linalg.eigvals(mean)
    assert int(((fixed - 1).abs() < 1e-8).sum()) == bell_number(inputs + outputs)


def test_from_set_partitions_of_order_three_are_independent() -> None:
    rows = maps_of(TensorToTensor((3, 2), 1, 1), 3, 5)
    assert len(rows) == bell_number(5) == 52
    assert torch.linalg.matrix_rank(rows) == 52


@pytest.mark.parametrize("symmetric", [True, False])
@given(n=st.integers(1, 6), seed=seeds)
def test_thin_factors_give_what_their_products_give(symmetric: bool, n: int, seed: int) -> None:
    nodes = Nodes(sizes=(n, max(1, n - 2)))
    left = nodes.masked(randn(2, 2, n, 3, seed=seed).transpose(2, 3).flatten(1, 2)).unflatten(1, (2, 3)).mT
    right = None if symmetric else left * randn(2, 2, 1, 3, seed=seed + 1)
    thin = Factored(left=left, right=right, nodes=nodes)
    dense = Dense(entries=thin.entries(), nodes=nodes)
    for name in ("2->2", "2->1"):
        torch.manual_seed(1)
        layer = (MatrixToMatrix(2, 3) if name == "2->2" else MatrixToVector(2, 3)).double()
        torch.testing.assert_close(layer(thin, nodes), layer(dense, nodes))


def test_the_gradients_of_the_layers_are_right() -> None:
    nodes = Nodes(sizes=(3, 2))
    for name in LAYERS:
        layer, order = made(name)
        x = nodes.masked(randn(2, 3, *[3] * order)).requires_grad_()
        assert torch.autograd.gradcheck(
            lambda value, layer=layer: apply(layer, nodes.masked(value * 1.0), nodes), (x,)
        )


@given(size=st.integers(0, 7))
def test_partitions_are_all_and_different(size: int) -> None:
    found = list(set_partitions(size))
    assert len(set(found)) == len(found) == bell_number(size)
    for blocks in found:
        assert len(set(blocks)) == (max(blocks) + 1 if blocks else 0)


def test_bell_obeys_its_recurrence() -> None:
    for size in range(10):
        assert bell_number(size + 1) == sum(math.comb(size, k) * bell_number(k) for k in range(size + 1))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MatrixToMatrix(0, 1), "inputs must be an integer of at least 1, got 0"),
        (lambda: MatrixToVector(1, 2.5), "outputs must be an integer of at least 1, got 2.5"),
        (lambda: TensorToTensor((0, 1), 1, 1), "each order must be an integer of at least 1, got 0"),
        (lambda: set_partitions(-1), "size must be an integer of at least 0, got -1"),
    ],
)
def test_what_makes_no_layer_is_refused(make: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()  # type: ignore[operator]
