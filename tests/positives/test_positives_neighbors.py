"""Neighbors: disjoint pairs of adjacent sentences, also where sentences are missing or out of order."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.positives import Neighbors


@st.composite
def shuffled_parts(draw):
    """Some sentences of some documents in any order: documents (n,) and positions (n,)."""
    sizes = draw(st.lists(st.integers(1, 7), min_size=1, max_size=5))
    rows = [(document, place) for document, size in enumerate(sizes) for place in range(size)]
    kept = [row for row in rows if draw(st.booleans())] or rows
    kept = draw(st.permutations(kept))
    return torch.tensor([row[0] for row in kept]), torch.tensor([row[1] for row in kept])


@given(part=shuffled_parts(), seed=st.integers(0, 2**63 - 1))
def test_pairs_are_disjoint_and_adjacent(part, seed: int) -> None:
    documents, positions = part
    fewest = Neighbors().fewest(documents, positions=positions)
    unpaired = Neighbors().unpaired(documents, positions=positions)
    if len(unpaired) == len(documents):
        assert fewest == 0
        with pytest.raises(ValueError, match="two adjacent sentences of one document, got none"):
            Neighbors().pairs(documents, seed=seed, positions=positions)
        return
    pairs = Neighbors().pairs(documents, seed=seed, positions=positions)
    first, second = pairs.T
    assert torch.equal(documents[first], documents[second])
    assert torch.equal(positions[first] + 1, positions[second])
    assert len(pairs.unique()) == 2 * len(pairs)
    assert len(pairs) >= fewest
    assert not set(unpaired.tolist()) & set(pairs.flatten().tolist())


def test_every_neighbor_has_its_turn() -> None:
    documents = torch.zeros(6, dtype=torch.int64)
    seen = set()
    for seed in range(40):
        pairs = Neighbors().pairs(documents, seed=seed)
        assert len(pairs) in (2, 3)
        seen |= {tuple(pair) for pair in pairs.tolist()}
    assert seen == {(row, row + 1) for row in range(5)}


def test_fewest_is_reached_and_not_undercut() -> None:
    documents = torch.tensor([0, 0, 0, 0, 1, 1, 2, 2, 2, 3])
    counts = {len(Neighbors().pairs(documents, seed=seed)) for seed in range(30)}
    assert min(counts) == Neighbors().fewest(documents) == 3
    assert max(counts) == 4


def test_without_positions_rows_are_in_reading_order() -> None:
    documents = torch.tensor([1, 1, 0, 0])
    pairs = Neighbors().pairs(documents, seed=1)
    assert sorted(pairs.tolist()) == [[0, 1], [2, 3]]
    assert torch.equal(pairs, Neighbors().pairs(documents, seed=1))


def test_sentences_whose_neighbors_are_missing_are_told() -> None:
    documents, positions = torch.tensor([0, 0, 0, 1]), torch.tensor([5, 0, 4, 1])
    assert Neighbors().unpaired(documents, positions=positions).tolist() == [1, 3]
