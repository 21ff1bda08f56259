"""Random graphs of ten kinds: their properties, and that they are what their kind says."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tammes.data.graph_properties import KINDS, LEAST, MOST, graph_properties, properties


def test_draws_are_undirected_simple_and_repeatable() -> None:
    first = graph_properties(200, generator=np.random.default_rng(3))
    again = graph_properties(200, generator=np.random.default_rng(3))
    assert torch.equal(first.edges, again.edges)
    assert torch.equal(first.targets, again.targets)
    sizes = first.node_starts.diff()
    assert LEAST - 6 <= int(sizes.min()) <= int(sizes.max()) <= MOST
    for number in range(20):
        graph = first.subset([number])
        pairs = {tuple(pair) for pair in graph.edges.T.tolist()}
        assert len(pairs) == graph.edges.shape[1]
        assert all(u != v and (v, u) in pairs for u, v in pairs)
        adjacency = np.zeros((len(graph.nodes),) * 2, dtype=bool)
        adjacency[graph.edges[0], graph.edges[1]] = True
        assert graph.targets[0].tolist() == pytest.approx(properties(adjacency))


def test_properties_of_known_graphs() -> None:
    complete = ~np.eye(5, dtype=bool)
    assert properties(complete) == pytest.approx((1, 1, 4))
    two_edges = np.kron(np.eye(2), [[0, 1], [1, 0]]).astype(bool)
    assert properties(two_edges) == pytest.approx((0, 1, 1))
    star = np.zeros((10, 10), dtype=bool)
    star[0, 1:] = star[1:, 0] = True
    assert properties(star) == pytest.approx((1, 2, 3))


def test_all_kinds_are_drawn_and_shares_add_up() -> None:
    assert sum(share for share, _ in KINDS.values()) == pytest.approx(1)
    targets = graph_properties(400, generator=np.random.default_rng(0)).targets
    assert 0.5 < float(targets[:, 0].mean()) < 1  # most are connected, some are not
    assert float(targets[:, 1].max()) > 8  # lines are long
    with pytest.raises(ValueError, match=r"count must be an integer of at least 1, got 0"):
        graph_properties(0, generator=np.random.default_rng(0))
