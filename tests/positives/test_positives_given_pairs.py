"""Pairs that a table gives: each row once an epoch, and its negative beside it, in whatever order."""

from __future__ import annotations

import pytest
import torch

from tammes.positives import GivenPairs

DOCUMENTS = torch.tensor([0, 0, 0, 1, 1, 1, 0, 0, 0])
POSITIONS = torch.tensor([0, 1, 2, 0, 1, 2, 3, 4, 5])


def test_every_row_is_paired_once_in_every_epoch() -> None:
    drawn = [GivenPairs().pairs(DOCUMENTS, seed=seed, positions=POSITIONS) for seed in range(8)]
    for pairs in drawn:
        assert sorted(map(tuple, pairs.tolist())) == [(0, 1), (3, 4), (6, 7)]
    assert len({tuple(pairs[:, 0].tolist()) for pairs in drawn}) > 1


def test_negatives_stand_in_the_row_of_their_anchor_in_any_order() -> None:
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    found = GivenPairs().negatives(DOCUMENTS[order], positions=POSITIONS[order])
    assert found is not None
    for new, old in enumerate(order.tolist()):
        expected = {0: 2, 3: 5, 6: 8}.get(old)
        assert (order[found[new]].item() if found[new] >= 0 else None) == expected


def test_pairs_alone_have_no_negatives() -> None:
    kept = torch.tensor([0, 1, 3, 4, 6, 7])
    assert GivenPairs().negatives(DOCUMENTS[kept], positions=POSITIONS[kept]) is None
    assert len(GivenPairs().unpaired(DOCUMENTS[kept])) == 0


def test_settings_are_true_or_false() -> None:
    with pytest.raises(ValueError, match="symmetric must be True or False, got 1"):
        GivenPairs(symmetric=1)  # type: ignore[arg-type]
