"""SameClass: disjoint pairs within each class, as many as there can be, fresh for each seed."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.positives import SameClass


@given(labels=st.lists(st.integers(0, 5), min_size=2, max_size=40), seed=st.integers(0, 2**63 - 1))
def test_pairs_are_disjoint_within_classes_and_as_many_as_can_be(labels: list[int], seed: int) -> None:
    label = torch.tensor(labels)
    most = int((label.bincount() // 2).sum())
    if most == 0:
        with pytest.raises(ValueError, match="a class with at least two rows"):
            SameClass().pairs(label, seed=seed)
        return
    pairs = SameClass().pairs(label, seed=seed)
    assert pairs.shape == (most, 2)
    assert len(pairs.unique()) == 2 * most
    assert torch.equal(label[pairs[:, 0]], label[pairs[:, 1]])
    left_out = set(range(len(labels))) - set(pairs.flatten().tolist())
    assert set(SameClass().unpaired(label).tolist()) <= left_out
    assert len(left_out) == int((label.bincount() % 2).sum())


def test_a_seed_gives_its_pairs_and_another_gives_others() -> None:
    labels = torch.arange(40) % 4
    same, again, other = (SameClass().pairs(labels, seed=seed) for seed in (3, 3, 4))
    assert torch.equal(same, again)
    assert not torch.equal(same, other)


def test_classes_are_mixed_and_both_places_are_taken_by_all() -> None:
    labels = torch.arange(2000) // 1000
    pairs = SameClass().pairs(labels, seed=0)
    # Of 1,000 pairs in random order, the first 500 hold about 250 of class 0 (standard deviation 8).
    assert abs(int((labels[pairs[:500, 0]] == 0).sum()) - 250) < 50
    assert abs(int((pairs[:, 0] < pairs[:, 1]).sum()) - 500) < 100


def test_every_partner_is_equally_likely() -> None:
    labels = torch.zeros(4, dtype=torch.int64)
    partners = torch.zeros(4)
    for seed in range(600):
        pair = next(pair for pair in SameClass().pairs(labels, seed=seed).tolist() if 0 in pair)
        partners[sum(pair)] += 1
    assert partners[0] == 0
    assert (partners[1:] / 600 - 1 / 3).abs().max() < 0.08  # 4 standard deviations


def test_rows_alone_in_their_class_are_told() -> None:
    assert SameClass().unpaired(torch.tensor([4, 2, 2, 9])).tolist() == [0, 3]


def test_rows_without_a_label_are_no_class() -> None:
    with pytest.raises(ValueError, match=r"label -1 in row 1 and .* in 2 of 5 rows: .*leave these rows out"):
        SameClass().pairs(torch.tensor([0, -1, 0, -1, 1]), seed=0)
