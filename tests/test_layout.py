"""What is found out once about plain views is what would be found out each time."""

from __future__ import annotations

import pytest
import torch

import tammes
from tammes import All, OtherLabels, Pairs, Subset, recipes
from tammes.layout import layout_of
from tammes.sources import InBatch


@pytest.mark.parametrize("views", [2, 3])
@pytest.mark.parametrize("selection", [All(), Subset(k=3)])
def test_plain_views_are_arranged_as_any_pairs_are(views: int, selection: tammes.Selection) -> None:
    rows = [torch.randn(5, 4) for _ in range(views)]
    plain = InBatch()(*rows)
    other = Pairs(anchors=plain.anchors, ids=plain.ids.clone(), views=views)
    kept, made = layout_of(plain, selection, torch.float32), layout_of(other, selection, torch.float32)
    assert kept.views == views
    assert made.views is None
    assert torch.equal(kept.order, made.order)
    assert torch.equal(kept.edges.candidate, made.edges.candidate)
    ours, theirs = (each.negatives_of(plain.anchors, None, bound=9.0, seed=5) for each in (kept, made))
    assert torch.equal(ours.anchors, theirs.anchors)
    whole = slice(0, 5 * views), slice(0, 5 * views)
    ours_mask, theirs_mask = ours.mask(*whole), theirs.mask(*whole)
    assert ours_mask is not None
    assert theirs_mask is not None
    assert torch.equal(ours_mask, theirs_mask)


def test_one_arrangement_serves_every_batch_of_a_shape() -> None:
    first, second = (
        layout_of(InBatch()(torch.randn(6, 3), torch.randn(6, 3)), All(), torch.float32) for _ in range(2)
    )
    assert first is second
    given = InBatch()(torch.randn(6, 3), torch.randn(6, 3), ids=torch.arange(6))
    assert layout_of(given, All(), torch.float32) is not first


def test_labels_and_given_ids_are_looked_at_each_time() -> None:
    """Ids of the caller's own may be changed in place between calls."""
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


def test_nothing_of_the_embeddings_is_kept() -> None:
    layout = layout_of(InBatch()(torch.randn(6, 3), torch.randn(6, 3)), All(), torch.float32)
    assert layout.negatives.anchors.shape == (12, 1)
    assert layout.negatives.anchors.untyped_storage().nbytes() == 12 * 4


def test_embeddings_of_another_type_have_an_arrangement_of_their_own() -> None:
    a, b = torch.randn(6, 3), torch.randn(6, 3)
    objective = recipes.hcl(temperature=0.5, beta=1.0)
    single, double = objective(a, b), objective(a.double(), b.double())
    assert (single.dtype, double.dtype) == (torch.float32, torch.float64)
    torch.testing.assert_close(single.double(), double, rtol=1e-5, atol=0)
