"""Sums over neighbors: torch_geometric's, in value and gradient, and the same digits."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tammes.data import GraphBatch
from tiny import random_graph_set

geometric = pytest.importorskip("torch_geometric.nn")

from tammes.encoders.gin_layer import IsomorphismLayer, NeighborSums  # noqa: E402


def batch_of(edges: Tensor, nodes: int) -> GraphBatch:
    return GraphBatch(
        features=torch.ones(nodes, 1), edges=edges, owner=torch.zeros(nodes, dtype=torch.long), count=1
    )


@given(st.integers(1, 9), st.integers(0, 30), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_any_edges_give_the_sums_of_a_dense_matrix(nodes: int, count: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(nodes, (2, count), generator=generator)  # in any order, in one direction, repeated
    adjacency = torch.zeros(nodes, nodes, dtype=torch.float64)
    adjacency.index_put_((edges[1], edges[0]), torch.ones(count, dtype=torch.float64), accumulate=True)
    rows = torch.randn(nodes, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    sums = NeighborSums(batch=batch_of(edges, nodes))
    torch.testing.assert_close(sums.of(rows), adjacency @ rows, rtol=0, atol=1e-12)
    assert torch.autograd.gradcheck(sums.of, rows)
    assert torch.autograd.gradgradcheck(sums.of, rows)


def test_a_layer_has_the_digits_of_torch_geometric() -> None:
    batch = random_graph_set().batch(range(6))
    torch.manual_seed(0)
    layer = IsomorphismLayer(torch.nn.Linear(4, 4))
    plain = geometric.GINConv(layer.nn)
    rows = torch.randn(len(batch.owner), 4, requires_grad=True)
    ours, theirs = layer(rows, NeighborSums(batch=batch)), plain(rows, batch.edges)
    assert torch.equal(ours, theirs)
    assert torch.equal(layer(rows, batch.edges), theirs)
    gradients = [torch.autograd.grad(each.square().sum(), rows)[0] for each in (ours, theirs)]
    torch.testing.assert_close(*gradients)
    assert list(layer.state_dict()) == list(plain.state_dict())


def test_half_precision() -> None:
    batch = random_graph_set().batch([0, 1])
    rows = torch.randint(3, (len(batch.owner), 2)).bfloat16()
    found = NeighborSums(batch=batch).of(rows)
    assert found.dtype == torch.bfloat16
    assert torch.equal(found.float(), NeighborSums(batch=batch).of(rows.float()))
