"""Pairs: positives by id, shapes checked."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tammes


@given(ids=st.lists(st.integers(0, 4), min_size=2, max_size=30))
def test_positives_are_all_pairs_of_equal_id(ids: list[int]) -> None:
    ids = [*ids, *set(ids)]  # every id at least twice
    pairs = tammes.Pairs(anchors=torch.zeros(len(ids), 2), ids=torch.tensor(ids))
    edges = pairs.positives()
    expected = {(i, j) for i in range(len(ids)) for j in range(len(ids)) if i != j and ids[i] == ids[j]}
    found = list(zip(edges.anchor.tolist(), edges.candidate.tolist(), strict=True))
    assert sorted(found) == sorted(expected)
    assert edges.anchor.tolist() == sorted(edges.anchor.tolist())
    assert edges.count.tolist() == [ids.count(each) - 1 for each in ids]


@given(data=st.data())
def test_positives_among_other_candidates(data: st.DataObject) -> None:
    candidate_ids = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=12))
    ids = data.draw(st.lists(st.sampled_from(candidate_ids), min_size=1, max_size=12))
    pairs = tammes.Pairs(
        anchors=torch.zeros(len(ids), 2),
        ids=torch.tensor(ids),
        candidates=torch.zeros(len(candidate_ids), 2),
        candidate_ids=torch.tensor(candidate_ids),
    )
    edges = pairs.positives()
    expected = {(i, j) for i, a in enumerate(ids) for j, b in enumerate(candidate_ids) if a == b}
    assert set(zip(edges.anchor.tolist(), edges.candidate.tolist(), strict=True)) == expected


def test_an_anchor_without_a_positive_is_named() -> None:
    pairs = tammes.Pairs(anchors=torch.zeros(5, 2), ids=torch.tensor([3, 3, 9, 4, 4]))
    with pytest.raises(ValueError, match=r"1 of 5 anchors have no positive, first row 2 \(id 9\)"):
        pairs.positives()


Z, I = torch.zeros(4, 2), torch.arange(4)  # noqa: E741
AMONG = {"anchors": Z, "ids": I, "candidates": Z, "candidate_ids": I}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"anchors": torch.zeros(4), "ids": I}, "floating-point matrix"),
        ({"anchors": Z.long(), "ids": I}, "floating-point matrix"),
        ({"anchors": Z, "ids": I[:3]}, "ids must name each of the 4 anchors once"),
        ({"anchors": Z, "ids": I.float()}, "ids must be integers"),
        ({"anchors": Z, "ids": I > 1}, "ids must be integers"),
        ({"anchors": Z, "ids": I, "labels": I[:2]}, "labels must name each"),
        ({"anchors": Z, "ids": I, "candidate_ids": I}, "without candidates"),
        ({"anchors": Z, "ids": I, "candidates": Z}, "without candidate_ids"),
        ({"anchors": Z, "ids": I, "candidates": torch.zeros(4, 3), "candidate_ids": I}, "same space"),
        ({"anchors": Z, "ids": I, "candidates": Z, "candidate_ids": I[:1]}, "each of the 4 candidates"),
        ({"anchors": Z, "ids": I, "candidates": Z, "candidate_ids": I, "labels": I}, "or for neither"),
        ({"anchors": Z.numpy(), "ids": I}, "anchors must be a tensor, got ndarray"),
        ({"anchors": Z, "ids": [0, 1, 2, 3]}, "ids must be a tensor, got list"),
        ({"anchors": Z, "ids": I, "labels": "abcd"}, "labels must be a tensor, got str"),
        ({"anchors": Z.to("meta"), "ids": I}, "must be dense and hold numbers, got .* on meta"),
        ({"anchors": Z.to_sparse(), "ids": I}, "must be dense and hold numbers, got torch.sparse_coo"),
        ({**AMONG, "own": I[:3]}, r"each of 4 anchors in the candidates: got torch.int64 of shape \(3,\)"),
        ({**AMONG, "own": I.float()}, "got torch.float32"),
        ({**AMONG, "own": I + 1}, "got a place twice, or beyond 4 candidates"),
        ({**AMONG, "own": I - 1}, "got a place twice, or beyond 4 candidates"),
        ({**AMONG, "own": I * 0}, "got a place twice, or beyond 4 candidates"),
        ({**AMONG, "own": I.flip(0)}, "got that of another id for anchor 0"),
    ],
)
def test_what_does_not_fit_is_refused(fields: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tammes.Pairs(**fields)


def test_ids_that_someone_has_written_to_are_not_handed_to_others() -> None:
    a, b = torch.randn(7, 4), torch.randn(7, 4)
    objective = tammes.recipes.simclr(temperature=0.5)
    plain, pairs = objective(a, b), tammes.InBatch()(a, b)
    pairs.ids[torch.tensor([1, 8])] = 0  # rows 0 and 1 show the same thing after all
    assert tammes.InBatch()(a, b).ids.tolist() == [*range(7), *range(7)]
    assert objective(a, b) == plain
    assert objective(pairs) == objective(a, b, ids=torch.tensor([0, 0, 2, 3, 4, 5, 6]))


def test_aligned_pairs_are_those_of_ids_that_say_so() -> None:
    queries, documents = torch.randn(5, 3), torch.randn(8, 3)
    pairs = tammes.Pairs.aligned(queries, documents)
    written = tammes.Pairs(
        anchors=queries, ids=torch.arange(5), candidates=documents, candidate_ids=torch.arange(8)
    )
    assert pairs.is_aligned
    assert not written.is_aligned
    objective = tammes.recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1)
    assert torch.equal(objective(pairs), objective(written))
    assert torch.equal(objective.weights(pairs), objective.weights(written))
    square = tammes.Pairs.aligned(queries, documents[:5])
    again = dataclasses.replace(square, ids=torch.tensor([0, 0, 1, 2, 3]))
    assert not again.is_aligned  # its ids say something else
    assert again.positives().count.tolist() == [1, 1, 1, 1, 1]


def test_other_rows_of_aligned_pairs_are_aligned_too() -> None:
    queries, documents = torch.randn(5, 3), torch.randn(5, 3)
    pairs = tammes.Pairs.aligned(queries, documents, reverse=tammes.Pairs.aligned(documents, queries))
    cut = pairs.with_rows(lambda rows: rows[:, :2])
    assert cut.reverse is not None
    assert cut.is_aligned
    assert cut.reverse.is_aligned
    assert torch.equal(cut.anchors, queries[:, :2])
    assert torch.equal(cut.reverse.candidates, queries[:, :2])
    written = tammes.Pairs(
        anchors=queries, ids=torch.arange(5), candidates=documents, candidate_ids=pairs.ids
    )
    assert not written.with_rows(lambda rows: rows[:, :2]).is_aligned


def test_pairs_without_anchors_are_refused() -> None:
    nobody, graphs = torch.zeros(0, dtype=torch.int64), torch.randn(2, 3)
    nodes = tammes.sources.NodesToGraphs()(torch.zeros(0, 3), graphs, owner=nobody)
    for pairs in (nodes, tammes.Pairs(anchors=torch.zeros(0, 3), ids=nobody)):
        with pytest.raises(ValueError, match="at least one anchor, got 0"):
            tammes.recipes.jsd()(pairs)


def test_aligned_pairs_need_a_candidate_for_each_anchor() -> None:
    with pytest.raises(ValueError, match="each of the 5 anchors, got 4"):
        tammes.Pairs.aligned(torch.zeros(5, 3), torch.zeros(4, 3))
    with pytest.raises(ValueError, match="at least one anchor"):
        tammes.Pairs.aligned(torch.zeros(0, 3), torch.zeros(4, 3))
    with pytest.raises(ValueError, match="float64 on both sides"):
        tammes.Pairs.aligned(torch.zeros(4, 3), torch.zeros(4, 3).double())
    with pytest.raises(ValueError, match="same space"):
        tammes.Pairs.aligned(torch.zeros(5, 3), torch.zeros(5, 4))
    with pytest.raises(ValueError, match="has no negative"):
        tammes.recipes.simclr(temperature=0.5)(tammes.Pairs.aligned(torch.ones(1, 3), torch.ones(1, 3)))
