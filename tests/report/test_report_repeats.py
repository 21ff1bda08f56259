"""Repetitions among the negatives of a batch of sentences."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tammes.report import Comparison, Outcome, Pictures, Sentences
from tammes.report.comparison import Candidates
from tammes.report.negatives import hardest, uniform_draw
from tammes.report.page import write_comparison
from tammes.report.repeats import WORD, repeated_negatives, similar_pairs

BOOK = [
    "He said nothing.",
    "The old man walked slowly down the long road to town.",
    "he said nothing",
    "The old man walked slowly down the long road to the town again.",
    "Rain fell.",
    *(
        f"Sentence number {row} stands alone {row * row} among {row + 100} others {row + 200}."
        for row in range(43)
    ),
]


def comparison_of(
    outcomes: tuple[Outcome, ...], sentences: list[str], partners: np.ndarray | None
) -> Comparison:
    sample = Sentences(sentences=tuple(sentences), partners=partners)
    return Comparison(
        data="a book", settings={}, command="tammes", test_size=48, sample=sample, outcomes=outcomes
    )


def test_equal_and_nearly_equal_sentences_are_found_with_their_weights(
    make_outcome: Callable[..., Outcome],
) -> None:
    found = repeated_negatives(comparison_of((make_outcome(), make_outcome("hcl", hard=2.0)), BOOK, None))
    assert found is not None
    assert (found.count, found.sentences, found.batch) == (2, 4, 12)
    assert [each.kind for each in found.listed] == ["equal", "nearly equal"]
    assert found.listed[0].weights[0] == "1.0×"
    assert "He said nothing." in found.listed[0].first
    assert [name for name, _ in found.objectives] == ["simclr", "hcl"]


def test_sentences_of_one_window_are_no_negatives(make_outcome: Callable[..., Outcome]) -> None:
    partners = np.array([*range(1, 12), 10])  # each sentence and the one after it, of one document
    near = np.abs(np.arange(12)[:, None] - np.arange(12)) <= 1
    weights = ~near / (~near).sum(axis=1, keepdims=True)
    usual = make_outcome()
    candidates = Candidates(embeddings=usual.view_b, rows=np.arange(12), negatives=10)
    outcome = replace(usual, view_b=usual.view_b[partners], candidates=candidates, weights=weights)
    assert (outcome.batch, outcome.most_negatives) == (12, 10)
    sentences = [f"One {row} alone {row + 50} stands {row + 90} here {row + 170}." for row in range(48)]
    sentences[3] = sentences[2]  # beside it
    assert repeated_negatives(comparison_of((outcome,), sentences, partners)).count == 0
    sentences[6] = sentences[2]
    comparison = comparison_of((outcome,), sentences, partners)
    found = repeated_negatives(comparison)
    assert (found.count, found.batch) == (2, 12)
    assert found.listed[0].weights == ("1.0×",)
    for rows in (hardest(outcome, comparison.sample, 5, 20), uniform_draw(outcome, 5, 20)):
        assert sorted(row for row, _ in rows) == [0, 1, 2, 3, 7, 8, 9, 10, 11]
        assert [weight for _, weight in rows] == pytest.approx([1.0] * 9)


def test_the_two_sentences_of_a_pair_are_no_negatives(make_outcome: Callable[..., Outcome]) -> None:
    partners = np.arange(12, 24)
    sentences = [f"One {row} alone {row + 50} stands {row + 90} here {row + 170}." for row in range(48)]
    sentences[12] = sentences[0]
    assert repeated_negatives(comparison_of((make_outcome(),), sentences, partners)).count == 0
    sentences[13] = sentences[0]  # the partner of another one
    found = repeated_negatives(comparison_of((make_outcome(),), sentences, partners))
    assert found.count == 2
    assert found.batch == 24


@pytest.mark.parametrize("seed", range(5))
def test_the_pairs_are_those_of_all_comparisons(seed: int) -> None:
    draw = random.Random(seed)
    words = [f"w{row}" for row in range(14)]
    sentences = [" ".join(draw.sample(words, draw.randrange(1, 12))) for _ in range(150)]
    exact = {}
    for one, other in combinations(range(150), 2):
        first, second = (WORD.findall(sentences[row]) for row in (one, other))
        shared, every = len({*first} & {*second}), len({*first} | {*second})
        if first == second:
            exact[one, other] = "equal"
        elif (len(first) >= 4 or len(second) >= 4) and shared / every >= 0.8 - 1e-12:
            exact[one, other] = "nearly equal"
    assert similar_pairs(sentences) == exact
    assert "nearly equal" in exact.values()


def test_signs_alone_are_no_words() -> None:
    assert similar_pairs(["...", "!", "..."]) == {}


def test_pictures_have_no_repetitions(make_outcome: Callable[..., Outcome], sample: Pictures) -> None:
    comparison = Comparison(
        data="pets", settings={}, command="tammes", test_size=48, sample=sample, outcomes=(make_outcome(),)
    )
    assert repeated_negatives(comparison) is None


def test_the_page_names_them_or_says_that_there_are_none(
    make_outcome: Callable[..., Outcome], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    write_comparison(page, comparison_of((make_outcome(),), BOOK, None))
    text = page.read_text(encoding="utf-8")
    assert "Repetitions among the negatives" in text
    assert "4 of the 12 sentences of the batch" in text
    write_comparison(page, comparison_of((make_outcome(),), BOOK[5:] + BOOK[:5], None))
    assert "No two of the 12 sentences" in page.read_text(encoding="utf-8")
