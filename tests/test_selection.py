"""Selections that cannot be."""

from __future__ import annotations

import pytest
import torch

import tammes


@pytest.mark.parametrize("k", [0, -1, 2.5])
def test_a_subset_has_members(k: float) -> None:
    with pytest.raises(ValueError, match="k must be an integer of at least 1"):
        tammes.Subset(k=k)  # type: ignore[arg-type]


def test_no_subset_of_a_subset() -> None:
    with pytest.raises(ValueError, match=r"among All\(\) or OtherLabels\(\)"):
        tammes.Subset(k=2, among=tammes.Subset(k=3))  # type: ignore[arg-type]


def test_the_oracle_leaves_out_equal_labels_and_nothing_else() -> None:
    labels = torch.tensor([0, 1, 0, 2])
    objective = tammes.recipes.simclr(temperature=0.5, selection=tammes.OtherLabels())
    weights = objective.weights(torch.randn(4, 3), torch.randn(4, 3), labels=labels)
    both = labels.repeat(2)
    assert torch.equal(weights > 0, both[:, None] != both[None, :])


def test_a_subset_among_other_labels_has_no_collision() -> None:
    labels = torch.tensor([0, 1, 0, 2, 1, 2])
    selection = tammes.Subset(k=3, among=tammes.OtherLabels())
    objective = tammes.recipes.simclr(temperature=0.5, selection=selection)
    weights = objective.weights(torch.randn(6, 3), torch.randn(6, 3), labels=labels)
    both = labels.repeat(2)
    assert torch.equal((weights > 0).sum(1), torch.full((12,), 3))
    assert not bool(((weights > 0) & (both[:, None] == both[None, :])).any())
