"""Tokens: sentences taken from the flat row are the sentences one would slice out of it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.data import Tokens


def packed(sentences: list[list[int]]) -> Tokens:
    offsets = torch.tensor([0] + [len(sentence) for sentence in sentences]).cumsum(0)
    return Tokens(torch.tensor([token for sentence in sentences for token in sentence]).long(), offsets)


def unpacked(tokens: Tokens) -> list[list[int]]:
    return [part.tolist() for part in tokens.ids.split(tokens.lengths.tolist())]


sentences_of_ids = st.lists(st.lists(st.integers(0, 9), max_size=5), min_size=1, max_size=8)


@given(sentences=sentences_of_ids, data=st.data())
def test_take_gives_the_sentences_of_the_rows_in_their_order(sentences, data) -> None:
    rows = data.draw(st.lists(st.integers(0, len(sentences) - 1), max_size=12))
    taken = packed(sentences).take(torch.tensor(rows, dtype=torch.int64))
    assert unpacked(taken) == [sentences[row] for row in rows]
    assert len(taken) == len(rows)


def test_moving_to_a_device_keeps_what_is_there() -> None:
    tokens = packed([[1, 2], [], [3]])
    assert unpacked(tokens.to("cpu")) == [[1, 2], [], [3]]


@pytest.mark.parametrize(
    ("ids", "offsets", "message"),
    [
        (torch.tensor([1.0]), torch.tensor([0, 1]), "ids as int64"),
        (torch.tensor([[1]]), torch.tensor([0, 1]), "ids as int64"),
        (torch.tensor([1]), torch.tensor([0, 1], dtype=torch.int32), "offsets as int64"),
        (torch.tensor([1]), torch.tensor([], dtype=torch.int64), r"offsets \(n \+ 1,\)"),
        (torch.tensor([1, 2]), torch.tensor([0, 1]), "rise from 0 to the number of ids, 2"),
        (torch.tensor([1, 2]), torch.tensor([1, 2]), "offsets from 1 to 2"),
        (torch.tensor([1, 2]), torch.tensor([0, 2, 1, 2]), "rise from 0"),
        (torch.tensor([-1]), torch.tensor([0, 1]), "0 or more, got -1"),
    ],
)
def test_what_does_not_fit_together_is_refused(ids, offsets, message) -> None:
    with pytest.raises(ValueError, match=message):
        Tokens(ids, offsets)


def test_two_devices_are_refused() -> None:
    with pytest.raises(ValueError, match="on one device, got cpu and meta"):
        Tokens(torch.tensor([1]), torch.tensor([0, 1], device="meta"))


@given(st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=6))
def test_rows_with_padding_are_the_same_sentences(sentences: list[list[int]]) -> None:
    tokens = packed(sentences)
    rows = tokens.padded()
    assert rows.shape == (len(sentences), max(map(len, sentences), default=0))
    assert [[token for token in row if token >= 0] for row in rows.tolist()] == sentences
    again = Tokens.of_padded(rows)
    assert torch.equal(again.ids, tokens.ids)
    assert torch.equal(again.offsets, tokens.offsets)
    assert torch.equal(tokens.padded(7), rows.where(rows >= 0, 7))
