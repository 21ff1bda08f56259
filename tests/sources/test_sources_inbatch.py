"""The in-batch source: any number of views, ids shared within and across them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import tammes


@pytest.mark.equal_bits
def test_rows_of_all_views_are_positives_of_each_other() -> None:
    views = [torch.randn(4, 3) for _ in range(3)]
    pairs = tammes.InBatch()(*views)
    assert pairs.views == 3
    assert torch.equal(pairs.anchors, torch.cat(views))
    assert pairs.positives().count.tolist() == [2] * 12


def test_ids_join_rows_of_one_view() -> None:
    pairs = tammes.InBatch()(torch.randn(4, 3), torch.randn(4, 3), ids=torch.tensor([5, 5, 6, 7]))
    assert pairs.positives().count.tolist() == [3, 3, 1, 1, 3, 3, 1, 1]


def test_one_view_suffices_where_ids_give_positives() -> None:
    pairs = tammes.InBatch()(torch.randn(4, 3), ids=torch.tensor([0, 1, 0, 1]), labels=torch.arange(4))
    assert pairs.positives().candidate.tolist() == [2, 3, 0, 1]
    assert pairs.labels is not None
    assert pairs.labels.tolist() == [0, 1, 2, 3]


@pytest.mark.equal_bits
def test_the_loss_is_that_of_the_views() -> None:
    a, b = torch.randn(6, 3), torch.randn(6, 3)
    objective = tammes.recipes.hcl(temperature=0.5, beta=1.0)
    assert torch.equal(objective(tammes.InBatch()(a, b)), objective(a, b))


def test_rows_are_named_by_view_in_errors() -> None:
    pairs = tammes.InBatch()(torch.randn(4, 3), torch.randn(4, 3))
    assert pairs.row_name(1) == "row 1 of view 0"
    assert pairs.row_name(6) == "row 2 of view 1"


@pytest.mark.parametrize(
    ("view", "got"),
    [
        (torch.ones(3, 2, device="meta"), "the meta device"),
        (torch.ones(3, 2).to_sparse(), "torch.sparse_coo"),
    ],
)
def test_views_without_numbers_for_each_entry_are_refused(view: Tensor, got: str) -> None:
    with pytest.raises(ValueError, match=f"view 0 must be a dense tensor that holds numbers, got .*{got}"):
        tammes.InBatch()(view, view)
