"""Texts: a set of sentences that knows its documents and its reading order."""

import pytest
import torch

from tammes.data import Texts


def four(**changes) -> Texts:
    fields = {
        "sentences": ("One.", "Two.", "Three.", "Four."),
        "names": ("a:1", "b:1", "a:2", "b:2"),
        "labels": torch.tensor([0, 1, 0, 1]),
        "classes": ("a", "b"),
    }
    return Texts(**(fields | changes))


def test_an_item_is_a_sentence_and_its_index() -> None:
    texts = four()
    assert (texts[2], texts[-1], len(texts)) == (("Three.", 2), ("Four.", 3), 4)
    with pytest.raises(IndexError, match="an index from 0 to 3, got 4"):
        texts[4]


def test_positions_count_the_sentences_of_each_document_and_stay_in_a_subset() -> None:
    texts = four()
    assert texts.positions.tolist() == [0, 0, 1, 1]
    part = texts.subset([3, 0])
    assert part.sentences == ("Four.", "One.")
    assert part.names == ("b:2", "a:1")
    assert part.labels.tolist() == [1, 0]
    assert part.positions.tolist() == [1, 0]
    assert part.classes == texts.classes


def test_without_labels_all_sentences_are_of_one_document_in_reading_order() -> None:
    texts = four(labels=None, classes=None)
    assert texts.documents.tolist() == [0, 0, 0, 0]
    assert texts.positions.tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="each document into a separate file"):
        texts.required_labels()


def test_one_document_alone_is_nothing_to_tell_apart() -> None:
    with pytest.raises(ValueError, match="at least two documents, got 2 sentences of 'a' alone"):
        four().subset([0, 2]).required_labels()
    assert four().required_labels().tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sentences": (), "names": ()}, "at least one sentence"),
        ({"names": ("a",)}, "a name for each of 4 sentences, got 1"),
        ({"sentences": ("One.", " \t", "Three.", "Four.")}, "an empty one: b:1"),
        ({"labels": None}, "together, or neither"),
        ({"labels": torch.tensor([0, 1])}, r"int64 \(4,\)"),
        ({"labels": torch.tensor([0.0, 1.0, 0.0, 1.0])}, "got torch.float32"),
        ({"labels": torch.tensor([0, 1, 0, 2])}, "must be from 0 to 1, got 0 to 2"),
        ({"classes": ("a", "a")}, "a different name for each document, got 'a' 2 times"),
        ({"positions": torch.tensor([0, 1])}, r"positions as int64 \(4,\)"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes, message) -> None:
    with pytest.raises(ValueError, match=message):
        four(**changes)
