"""Negatives: what is found out once is carried along, and never into other embeddings."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from tammes.reduce import Exponent, KeyRanges, Negatives, Tiled


@pytest.mark.equal_bits
def test_other_embeddings_find_nothing_of_the_earlier_ones() -> None:
    keys, exponents, tiled = torch.arange(4).repeat_interleave(2), (Exponent(slope=2.0),), Tiled()
    first, second = torch.randn(8, 3), torch.randn(8, 3)
    negatives = Negatives(anchors=first, ranges=KeyRanges(keys=keys), bound=20.0)
    with torch.no_grad():
        tiled.log_sum_exp(negatives, exponents)  # keeps S and its exponentials
        moved = dataclasses.replace(negatives, anchors=second)
        fresh = Negatives(anchors=second, ranges=KeyRanges(keys=keys), bound=20.0)
        assert torch.equal(tiled.log_sum_exp(moved, exponents)[0], tiled.log_sum_exp(fresh, exponents)[0])


@pytest.mark.equal_bits
def test_another_seed_draws_another_subset() -> None:
    keys, whole = torch.arange(8), (slice(0, 8), slice(0, 8))
    negatives = Negatives(
        anchors=torch.randn(8, 3), ranges=KeyRanges(keys=keys), bound=20.0, subset=2, rows=keys
    )
    before = negatives.mask(*whole)
    moved = dataclasses.replace(negatives, seed=1)
    after = moved.mask(*whole)
    assert before is not None
    assert after is not None
    assert (~after).sum(dim=1).tolist() == [2] * 8
    assert not torch.equal(before, after)
