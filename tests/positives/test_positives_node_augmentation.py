"""Views of nodes within their graph: which edges and features they hide."""

import pytest
import torch

from tammes.data import block_model
from tammes.positives import EdgesAndFeatures

GRAPH = block_model(400, classes=4, words=100, degree=10.0)


def test_edges_go_in_both_directions_and_features_in_all_nodes() -> None:
    whole = GRAPH.batch([0, 1])
    view = EdgesAndFeatures(share=0.3, masked=0.4)(whole, seed=1)
    assert view.edges.shape[1] / whole.edges.shape[1] == pytest.approx(0.7, abs=0.05)
    numbers = set((view.edges[0] * 400 + view.edges[1]).tolist())
    assert numbers == set((view.edges[1] * 400 + view.edges[0]).tolist())
    shown = (view.features != 0).any(0)
    assert float(shown.float().mean()) == pytest.approx(0.6, abs=0.15)
    assert torch.equal(view.features[:, shown], whole.features[:, shown])


def test_two_graphs_of_a_batch_and_two_seeds_have_other_views() -> None:
    both = GRAPH.around([0, 5], (9, 9)).beside(GRAPH.around([0, 5], (9, 9)))
    augmentation = EdgesAndFeatures(share=0.5, masked=0.5)
    view, again, other = (augmentation(both, seed=seed) for seed in (1, 1, 2))
    half = len(both.owner) // 2
    assert not torch.equal(view.features[:half], view.features[half:])
    assert torch.equal(view.edges, again.edges)
    assert not torch.equal(view.features, other.features)


def test_nothing_hidden_changes_nothing_and_shares_are_checked() -> None:
    whole = GRAPH.batch([0])
    view = EdgesAndFeatures(share=0.0, masked=0.0)(whole, seed=1)
    assert torch.equal(view.edges, whole.edges)
    assert torch.equal(view.features, whole.features)
    for wrong in ({"share": 1.0}, {"masked": -0.1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            EdgesAndFeatures(**wrong)
