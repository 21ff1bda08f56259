"""Batches of whole documents: none is cut that fits, none is lost but in one batch that is half empty."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.positives import Adjacent
from tammes.positives.whole_documents import exactly, whole_documents


@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=60),
    size=st.integers(12, 20),
    shortest=st.integers(1, 4),
    seed=st.integers(0, 100),
)
def test_documents_are_whole_and_every_row_is_visited_once(
    lengths: list[int], size: int, shortest: int, seed: int
) -> None:
    batches = whole_documents(torch.tensor(lengths), size=size, shortest=shortest, seed=seed)
    documents = torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths))
    rows = torch.cat(batches)
    assert len(rows.unique()) == len(rows)
    assert max(map(len, batches)) <= size
    assert len(batches) == 1 or 2 * min(map(len, batches)) > size
    assert 2 * (len(documents) - len(rows)) <= size  # one batch at most is left out
    for batch in batches:
        parts = [part.numel() for part in batch.tensor_split((batch.diff() != 1).nonzero()[:, 0] + 1)]
        assert all(part >= min(shortest, *lengths) for part in parts)
        for document in documents[batch].unique().tolist():
            within = batch[documents[batch] == document]
            if lengths[document] <= size:
                assert len(within) == lengths[document]
                assert torch.equal(within, within.sort().values)


def test_a_long_document_is_cut_elsewhere_in_each_epoch() -> None:
    """No pair of neighbors is at a cut in every epoch."""
    together = set()
    for seed in range(20):
        for batch in whole_documents(torch.tensor([40]), size=10, shortest=2, seed=seed):
            together |= {int(row) for row in batch[:-1][batch.diff() == 1]}
            assert len(batch) > 5
    assert together == set(range(39))


def test_epochs_put_other_documents_together() -> None:
    lengths = torch.tensor([2, 3, 4, 5] * 10)
    first, second = (whole_documents(lengths, size=20, shortest=2, seed=seed) for seed in (0, 1))
    assert {tuple(batch.sort().values.tolist()) for batch in first}.isdisjoint(
        tuple(batch.sort().values.tolist()) for batch in second
    )


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=9), count=st.integers(1, 20))
def test_the_smallest_batches_are_left_out_and_the_first_repeated(sizes: list[int], count: int) -> None:
    found = [len(batch) for batch in exactly([torch.zeros(size) for size in sizes], count)]
    assert len(found) == count
    if count <= len(sizes):
        assert sorted(found) == sorted(sizes)[len(sizes) - count :]
    else:
        assert found[: len(sizes)] == sizes
        assert found[len(sizes) : 2 * len(sizes)] == sizes[: count - len(sizes)]


@pytest.mark.parametrize("window", [1, 2])
def test_no_positive_is_lost_at_the_edge_of_a_batch(window: int) -> None:
    documents = torch.tensor([5, 2, 7, 1, 3, 8]).repeat(5)
    documents = torch.arange(30).repeat_interleave(documents)
    positives = Adjacent(window=window, whole_documents=True)
    order = positives.reading_order(documents)

    def pairs(rows: torch.Tensor) -> int:
        return int(((order[rows][:, None] - order[rows]).abs() <= window).sum()) - len(rows)

    batches = positives.batches(documents, seed=0, size=16)
    rows = torch.cat(batches)
    assert sum(map(pairs, batches)) == pairs(rows) > 0
    assert not set(rows.tolist()) & set(positives.unpaired(documents).tolist())


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match=r"whole documents or of runs, got whole_documents and run=4"):
        Adjacent(run=4, whole_documents=True)
    with pytest.raises(ValueError, match="whole_documents must be True or False, got 'yes'"):
        Adjacent(whole_documents="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize(("window", "size"), [(1, 5), (1, 2), (1, 0), (2, 8)])
def test_a_batch_without_room_for_the_pieces_of_a_document_is_refused(window: int, size: int) -> None:
    documents = torch.zeros(9, dtype=torch.int64)
    with pytest.raises(ValueError, match=f"size must be an integer of at least {3 * window + 3}, got {size}"):
        Adjacent(window=window, whole_documents=True).batches(documents, seed=0, size=size)
