"""A random k-subset has exactly k members, never a masked one, and every set is as likely as another."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.reduce import KeyRanges, Negatives
from tammes.reduce.subset_sampling import _words, hashes, not_sampled, row_keys, thresholds


def winners(rows: int, size: int, k: int, seed: int) -> torch.Tensor:
    """Who is in the subset: `size` negatives for each of `rows` anchors, none of them masked."""
    negatives = Negatives(
        anchors=torch.zeros(rows, 2),
        ranges=KeyRanges(
            keys=torch.zeros(rows, dtype=torch.long), candidate_keys=torch.ones(size, dtype=torch.long)
        ),
        candidates=torch.zeros(size, 2),
        bound=1.0,
        subset=k,
        seed=seed,
        rows=torch.arange(rows),
    )
    mask = negatives.mask(slice(0, rows), slice(0, size))
    assert mask is not None
    return ~mask


@given(seed=st.integers(0, 2**62), first=st.integers(0, 10**6), column=st.integers(0, 10**6))
def test_no_row_has_a_ticket_twice(seed: int, first: int, column: int) -> None:
    drawn = hashes(row_keys(seed, torch.arange(first, first + 2)), torch.arange(column, column + 5000))
    assert [len(row.unique()) for row in drawn] == [5000, 5000]
    assert 0 <= int(drawn.min()) <= int(drawn.max()) < 2**32


@given(seed=st.integers(0, 2**62), rows=st.integers(2, 40), columns=st.integers(2, 40))
def test_a_ticket_is_the_same_in_any_tile(seed: int, rows: int, columns: int) -> None:
    whole = hashes(row_keys(seed, torch.arange(rows)), torch.arange(columns))
    part = hashes(row_keys(seed, torch.arange(rows // 2, rows)), torch.arange(columns // 2, columns))
    assert torch.equal(part, whole[rows // 2 :, columns // 2 :])


@given(
    sizes=st.lists(st.integers(1, 5), min_size=2, max_size=12),
    seed=st.integers(0, 2**62),
    data=st.data(),
)
def test_a_subset_has_k_members_and_no_masked_one(sizes: list[int], seed: int, data: st.DataObject) -> None:
    keys = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    n = len(keys)
    k = data.draw(st.integers(1, n - max(sizes)))
    negatives = Negatives(
        anchors=torch.zeros(n, 2),
        ranges=KeyRanges(keys=keys),
        bound=1.0,
        subset=k,
        seed=seed,
        rows=torch.arange(n),
    )
    mask = negatives.mask(slice(0, n), slice(0, n))
    assert mask is not None
    assert torch.equal((~mask).sum(1), torch.full((n,), k))
    assert bool(mask[keys[:, None] == keys[None, :]].all())


@given(seed=st.integers(0, 2**62), rows=st.integers(1, 40), columns=st.integers(1, 300))
def test_a_ticket_is_the_same_however_it_is_made(seed: int, rows: int, columns: int) -> None:
    keys, everyone = row_keys(seed, torch.arange(rows) * 7919), torch.arange(columns) * 104_729
    expected = hashes(keys, everyone)
    assert torch.equal(torch.from_numpy(_words(keys, everyone).astype(np.int64)), expected)
    k = 1 + seed % columns
    last = thresholds(keys, None, k, columns)
    drawn = hashes(keys, torch.arange(columns))
    assert torch.equal(last, drawn.kthvalue(k, dim=1).values)
    assert torch.equal(not_sampled(keys, torch.arange(columns), last), drawn > last[:, None])


@pytest.mark.parametrize(("size", "k"), [(19, 6), (50, 1), (8, 7)])
def test_candidates_and_pairs_are_drawn_equally_often(size: int, k: int) -> None:
    """Chi-square over 40,000 anchors, of the single candidates and of all pairs of them."""
    rows = 40_000
    member = winners(rows, size, k, seed=12345).double()
    singles = member.sum(0).numpy()
    # The counts of a row are dependent: the statistic is chi-square after this factor.
    spread = (1 - k / size) * size / (size - 1)
    statistic = ((singles - rows * k / size) ** 2 / (rows * k / size)).sum() / spread
    assert 0.001 < scipy.stats.chi2.sf(statistic, size - 1) < 0.999
    share = k * (k - 1) / (size * (size - 1))
    if k > 1:
        together = member.T @ member
        pairs = torch.tensor([float(together[i, j]) for i, j in itertools.combinations(range(size), 2)])
        deviation = (pairs - rows * share) / (rows * share * (1 - share)) ** 0.5
        assert deviation.abs().max() < 4.5


@pytest.mark.parametrize(("size", "k"), [(4, 2), (5, 2), (6, 3)])
def test_all_subsets_of_few_candidates_are_drawn_equally_often(size: int, k: int) -> None:
    member = winners(200_000, size, k, seed=7)
    code = (member * (2 ** torch.arange(size))).sum(1)
    counts = torch.unique(code, return_counts=True)[1].numpy()
    assert len(counts) == math.comb(size, k)
    assert scipy.stats.chisquare(counts).pvalue > 0.001


def test_anchors_and_seeds_have_subsets_of_their_own() -> None:
    """Shared members of two anchors, or of two seeds, are as many as chance gives (hypergeometric)."""
    rows, size, k = 4000, 50, 20
    one, two = winners(rows, size, k, seed=1), winners(rows, size, k, seed=2)
    expected = k * k / size
    error = (expected * (1 - k / size) * (size - k) / (size - 1) / rows) ** 0.5
    assert abs(float((one & two).sum(1).double().mean()) - expected) < 4.5 * error
    assert abs(float((one[1:] & one[:-1]).sum(1).double().mean()) - expected) < 4.5 * error
