from __future__ import annotations

import pytest
import torch

from tammes.diagnostics import nearest_to_modified
from tammes.diagnostics.blocks import directions


def rows(count: int, seed: int) -> torch.Tensor:
    return torch.randn(count, 6, generator=torch.Generator().manual_seed(seed))


def test_the_nearest_row_is_that_of_the_plain_formula() -> None:
    anchors, others, bank = rows(30, 0), rows(30, 1), rows(50, 2)
    for shift in (-0.5, 0.0, 0.2):
        moved = directions(others) + shift * directions(anchors)
        cosines = torch.nn.functional.cosine_similarity(moved[:, None], bank[None], dim=2)
        assert torch.equal(nearest_to_modified(anchors, others, bank, shift=shift), cosines.argmax(dim=1))


def test_a_negative_moves_to_its_anchor_and_a_positive_away() -> None:
    anchors, others = rows(30, 0), rows(30, 1)
    bank = torch.cat([anchors, rows(2000, 2)])
    towards = nearest_to_modified(anchors, others, bank, shift=50.0)
    assert torch.equal(towards, torch.arange(30))
    own = torch.arange(30)[:, None]
    beside = nearest_to_modified(anchors, others, bank, shift=50.0, without=own)
    assert not bool((beside == own[:, 0]).any())
    similarity = [
        torch.nn.functional.cosine_similarity(
            anchors, bank[nearest_to_modified(anchors, anchors + 0.1 * others, bank, shift=-shift)]
        ).mean()
        for shift in (0.0, 0.5, 0.9, 1.5)
    ]
    assert similarity == sorted(similarity, reverse=True)
    assert similarity[-1] < 0


def test_what_cannot_be_shown_is_refused() -> None:
    one = torch.eye(3)[:1]
    with pytest.raises(ValueError, match="others, one for each anchor"):
        nearest_to_modified(one, torch.eye(3)[:2], torch.eye(3), shift=0.1)
    with pytest.raises(ValueError, match="bank, of the anchors' width"):
        nearest_to_modified(one, one, torch.eye(2), shift=0.1)
    with pytest.raises(ValueError, match="shift"):
        nearest_to_modified(one, one, one, shift=float("nan"))
    with pytest.raises(ValueError, match="length zero in row 0"):
        nearest_to_modified(one, one, one, shift=-1.0)
    with pytest.raises(ValueError, match="got all left out"):
        nearest_to_modified(one, one, one, shift=0.1, without=torch.tensor([[0]]))
