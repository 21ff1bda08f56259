"""Layouts: those that are kept are those that would be made each time."""

from __future__ import annotations

import pytest
import torch

import tammes
from tammes import All, OtherLabels, Pairs, Subset, recipes
from tammes.layout import Layout, layout_of, layout_of_aligned, layout_of_views
from tammes.sources import InBatch

CPU = torch.device("cpu")


def assert_same(kept: Layout, made: Layout) -> None:
    """Compare what an objective reads off a layout."""
    rows = torch.randn(len(kept.order), 4)
    columns = None if kept.candidate_order is None else torch.randn(len(kept.candidate_order), 4)
    ours, theirs = (each.negatives(rows, columns, bound=9.0, seed=5) for each in (kept, made))
    assert torch.equal(kept.order, made.order)
    assert torch.equal(kept.positives.entries, made.positives.entries)
    assert torch.equal(kept.positives.count, made.positives.count)
    assert ours.shape == theirs.shape
    whole = slice(0, ours.shape[0]), slice(0, ours.shape[1])
    ours_mask, theirs_mask = ours.mask(*whole), theirs.mask(*whole)
    assert ours_mask is not None
    assert theirs_mask is not None
    assert torch.equal(ours_mask, theirs_mask)


@pytest.mark.parametrize("views", [2, 3])
@pytest.mark.parametrize("selection", [All(), Subset(k=3)])
def test_plain_views_are_laid_out_as_any_pairs_are(views: int, selection: tammes.Selection) -> None:
    pairs = InBatch()(*(torch.randn(5, 4) for _ in range(views)))
    assert_same(layout_of_views(5, views, CPU, selection), layout_of(pairs, selection))


def test_aligned_pairs_are_laid_out_as_any_pairs_are() -> None:
    rows, ids = torch.randn(5, 4), torch.tensor([2, 3, 5, 7, 11])
    aligned = Pairs(anchors=rows, ids=ids, candidates=rows, candidate_ids=ids)
    assert layout_of(aligned, All()) is layout_of_aligned(5, CPU)
    order = torch.tensor([3, 0, 4, 1, 2])
    shuffled = Pairs(anchors=rows, ids=ids, candidates=rows, candidate_ids=ids[order])
    made = layout_of(shuffled, All())
    assert made is not layout_of_aligned(5, CPU)
    assert made.candidate_order is not None
    assert torch.equal(order[made.candidate_order], torch.arange(5))
    assert torch.equal(made.positives.entries, layout_of_aligned(5, CPU).positives.entries)


def test_pairs_in_order_already_are_not_copied() -> None:
    owner = torch.tensor([0, 0, 1, 2, 2])
    nodes, graphs = torch.randn(5, 4), torch.randn(3, 4)
    made = layout_of(tammes.NodesToGraphs()(nodes, graphs, owner=owner), All())
    assert made.of_anchors(nodes) is nodes
    assert made.of_candidates(graphs) is graphs
    assert made.order.tolist() == [0, 1, 2, 3, 4]
    other = layout_of(tammes.NodesToGraphs()(nodes, graphs, owner=owner, ids=torch.tensor([5, 1, 3])), All())
    assert other.of_anchors(nodes).tolist() == nodes[[2, 3, 4, 0, 1]].tolist()


def test_one_layout_serves_every_batch_of_a_shape() -> None:
    assert layout_of_views(6, 2, CPU, All()) is layout_of_views(6, 2, CPU, All())
    assert layout_of_views(6, 2, CPU, All()) is not layout_of_views(6, 2, CPU, Subset(k=2))


@pytest.mark.parametrize("views", [2, 3])
def test_views_and_their_pairs_have_one_loss(views: int) -> None:
    rows = [torch.randn(5, 4) for _ in range(views)]
    objective = recipes.hcl(temperature=0.5, beta=1.0)
    torch.testing.assert_close(objective(*rows), objective(InBatch()(*rows)))
    weights = objective.weights(*rows)
    torch.testing.assert_close(weights, objective.weights(InBatch()(*rows)))


def test_labels_and_ids_that_are_given_may_be_written_to_between_calls() -> None:
    a, b, ids = torch.randn(6, 3), torch.randn(6, 3), torch.arange(6)
    objective = recipes.simclr(temperature=0.5)
    before = objective(a, b, ids=ids)
    ids[1] = 0
    assert objective(a, b, ids=ids) != before
    labels = torch.tensor([0, 0, 1, 1, 2, 2])
    oracle = recipes.simclr(temperature=0.5, selection=OtherLabels())
    before = oracle(a, b, labels=labels)
    labels[1] = 1
    assert oracle(a, b, labels=labels) != before


def test_ids_of_pairs_may_be_written_to() -> None:
    pairs = InBatch()(torch.randn(6, 3), torch.randn(6, 3))
    objective = recipes.simclr(temperature=0.5)
    before = objective(pairs)
    pairs.ids[[1, 7]] = 0  # rows 0 and 1 of both views
    assert objective(pairs) != before
    assert torch.equal(InBatch()(torch.randn(6, 3), torch.randn(6, 3)).ids, torch.arange(6).repeat(2))


def test_embeddings_of_another_type_share_the_layout() -> None:
    a, b = torch.randn(6, 3), torch.randn(6, 3)
    objective = recipes.hcl(temperature=0.5, beta=1.0)
    single, double = objective(a, b), objective(a.double(), b.double())
    assert (single.dtype, double.dtype) == (torch.float32, torch.float64)
    torch.testing.assert_close(single.double(), double, rtol=1e-5, atol=0)
