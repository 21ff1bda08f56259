"""Views of graphs: what each change keeps, and that they depend on seed and row alone."""

from dataclasses import replace

import pytest
import torch

from tammes.data import GraphBatch
from tammes.positives import (
    DropNodes,
    GraphAugmentation,
    MaskFeatures,
    OneChange,
    OwnGraph,
    PerturbEdges,
    Subgraph,
)
from tiny import random_graph_set

KINDS = [
    DropNodes(share=0.3),
    PerturbEdges(share=0.3),
    Subgraph(share=0.3),
    MaskFeatures(share=0.3),
    OneChange(),
]


def a_batch(count: int = 12) -> GraphBatch:
    return random_graph_set(count).batch(range(count))


def same(first: GraphBatch, second: GraphBatch) -> bool:
    return all(torch.equal(vars(first)[name], vars(second)[name]) for name in ("features", "edges", "owner"))


@pytest.mark.parametrize("change", KINDS, ids=repr)
def test_a_view_is_a_batch_of_the_same_graphs(change: GraphAugmentation) -> None:
    batch = a_batch()
    view = change(batch, seed=3)
    assert view.count == 12
    assert bool((view.sizes > 0).all())
    assert bool((view.owner.diff() >= 0).all())
    assert bool((view.owner[view.edges[0]] == view.owner[view.edges[1]]).all())
    n = len(view.owner)
    numbers = (view.edges[0] * n + view.edges[1]).sort().values
    assert torch.equal(numbers, (view.edges[1] * n + view.edges[0]).sort().values)  # both directions
    assert same(view, change(batch, seed=3))
    assert not same(view, change(batch, seed=4))
    assert same(batch, replace(change, share=0.0)(batch, seed=3))


@pytest.mark.parametrize("change", KINDS, ids=repr)
def test_a_part_of_a_batch_has_its_part_of_the_views(change: GraphAugmentation) -> None:
    graphs = random_graph_set(12)
    whole = change(graphs.batch(range(12)), seed=5)
    parts = [change(graphs.batch(range(k, k + 4)), seed=5, first_row=k, batch_size=12) for k in (0, 4, 8)]
    joined = GraphBatch.cat(parts)
    assert torch.equal(whole.owner, joined.owner)
    torch.testing.assert_close(whole.features, joined.features)
    assert sorted(whole.edges.T.tolist()) == sorted(joined.edges.T.tolist())


def test_shares_are_those_of_each_graph() -> None:
    batch = a_batch()
    sizes = batch.sizes
    assert torch.equal(DropNodes(share=0.3)(batch, seed=0).sizes, sizes - (sizes * 0.3).long())
    assert torch.equal(Subgraph(share=0.3)(batch, seed=0).sizes, sizes - (sizes * 0.3).long())
    masked = MaskFeatures(share=0.3)(batch, seed=0)
    changed = (masked.features != batch.features).any(1).float()
    assert torch.equal(batch.sums(changed[:, None])[:, 0].long(), (sizes * 0.3).long())
    edges = torch.bincount(batch.owner[batch.edges[0]])
    view = PerturbEdges(share=0.5)(batch, seed=0)
    there = {tuple(edge) for edge in batch.edges.T.tolist()}
    kept = sum(tuple(edge) in there for edge in view.edges.T.tolist())
    assert kept < len(there)
    assert view.edges.shape[1] <= int(edges.sum())
    assert any(tuple(edge) not in there for edge in view.edges.T.tolist())


def test_edges_keep_both_directions_beside_edges_from_a_node_to_itself() -> None:
    edges = torch.tensor([[0, 0, 1, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 2, 1, 3, 2, 3]])
    batch = GraphBatch(features=torch.ones(4, 1), edges=edges, owner=torch.zeros(4).long(), count=1)
    for seed in range(30):
        view = PerturbEdges(share=0.5)(batch, seed=seed)
        assert torch.equal(view.edges.unique(dim=1), view.edges.flip(0).unique(dim=1))
        left = {(min(pair), max(pair)) for pair in view.edges.T.tolist()}
        assert 3 <= len(left) <= 6  # of six edges three are dropped, and up to three added


def test_a_subgraph_of_a_connected_graph_is_connected() -> None:
    ends = torch.arange(19)
    path = torch.stack([ends, ends + 1])
    batch = GraphBatch(
        features=torch.ones(20, 1),
        edges=torch.cat([path, path.flip(0)], dim=1),
        owner=torch.zeros(20, dtype=torch.int64),
        count=1,
    )
    for seed in range(10):
        view = Subgraph(share=0.5)(batch, seed=seed)
        assert (len(view.owner), view.edges.shape[1]) == (10, 18)


def test_all_four_changes_occur_and_are_evenly_drawn() -> None:
    noise = torch.stack([OneChange()(a_batch(20), seed=seed).sizes for seed in range(20)])
    assert noise.float().std() > 0
    assert OneChange(share=0.5)(a_batch(), seed=0).edges.shape != a_batch().edges.shape


def test_a_share_of_all_is_refused() -> None:
    for kind in (DropNodes, PerturbEdges, Subgraph, MaskFeatures, OneChange):
        with pytest.raises(ValueError, match="share must be a finite number at least 0 and below 1"):
            kind(share=1.0)


def test_a_node_is_paired_with_its_own_graph() -> None:
    labels = torch.zeros(5, dtype=torch.int64)
    pairs = OwnGraph().pairs(labels, seed=1)
    assert torch.equal(pairs[:, 0], pairs[:, 1])
    assert sorted(pairs[:, 0].tolist()) == list(range(5))
    assert len(OwnGraph().unpaired(labels)) == 0
