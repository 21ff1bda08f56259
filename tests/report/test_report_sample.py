"""Pictures and sentences stand on the page alike; pairs may be of two of them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tammes.report import Comparison, Outcome, Pictures, Scores, Sentences, write_comparison
from tammes.report.negatives import hardest, nearest_rows, relative_to_uniform


def sentences_like(sample: Pictures, pairs: int) -> Sentences:
    return Sentences(
        sentences=tuple(f"The {row}th <word> & more." for row in range(sample.size)),
        labels=sample.labels,
        classes=sample.classes,
        names=tuple(f"book:{row}" for row in range(sample.size)),
        partners=np.arange(pairs, 2 * pairs),
    )


def test_a_view_of_another_row_is_shown_as_that_row(
    sample: Pictures, make_outcome: Callable[..., Outcome]
) -> None:
    outcome = make_outcome(hard=2.0)
    pairs = outcome.pairs
    texts = sentences_like(sample, pairs)
    assert texts.columns(pairs).tolist() == list(range(2 * pairs))
    assert sample.columns(pairs).tolist() == [*range(pairs), *range(pairs)]
    weight = relative_to_uniform(outcome, texts, 3)
    np.testing.assert_allclose(weight[: 2 * pairs], outcome.weights[3] * (2 * pairs - 2))
    assert not weight[2 * pairs :].any()
    shown = [row for row, _ in hardest(outcome, texts, 3, 6)]
    assert shown == np.argsort(-outcome.weights[3])[:6].tolist()
    assert not {3, 3 + pairs} & set(shown)


def test_the_nearest_rows_come_by_the_similarity_of_features(make_outcome: Callable[..., Outcome]) -> None:
    outcome = make_outcome()
    unit = outcome.features / np.linalg.norm(outcome.features, axis=1, keepdims=True)
    similarity = unit @ unit[4]
    near = nearest_rows(outcome.features, 4, 5)
    assert [row for row, _ in near] == np.argsort(-similarity)[1:6].tolist()
    np.testing.assert_allclose([cosine for _, cosine in near], np.sort(similarity)[::-1][1:6])


@pytest.mark.parametrize("labeled", [True, False])
def test_a_page_of_sentences_speaks_of_no_pictures(
    comparison: Comparison, tmp_path: Path, labeled: bool
) -> None:
    assert isinstance(comparison.sample, Pictures)
    texts = sentences_like(comparison.sample, comparison.outcomes[0].pairs)
    floors = comparison.floors
    if not labeled:
        texts, floors = replace(texts, labels=None, classes=None), ()
        bare = {"scores": Scores(), "knn": None, "confusion": None}
        outcomes = tuple(replace(each, **bare) for each in comparison.outcomes)
        comparison = replace(comparison, outcomes=outcomes, floors=floors, test_size=0, sample=texts)
    else:
        outcomes = tuple(
            replace(each, scores=Scores(knn=0.9, means=0.75, linear=0.8)) for each in comparison.outcomes
        )
        comparison = replace(comparison, outcomes=outcomes, sample=texts)
    write_comparison(tmp_path / "report.html", comparison)
    page = (tmp_path / "report.html").read_text()
    assert "The nearest sentences" in page
    assert "The 1th &lt;word&gt; &amp; more." in page
    assert "<img" not in page
    assert "picture" not in page
    assert "the two sentences of a pair" in page
    assert ("class means" in page) == labeled
    assert ("a linear classifier" in page) == labeled
    assert ("400 test sentences" in page) == labeled


def test_the_columns_of_the_table_stand_over_their_numbers(comparison: Comparison, tmp_path: Path) -> None:
    scores = Scores(
        knn=0.11, means=0.22, linear=0.25, probe=0.33, probe_10_percent=0.44, probe_1_percent=0.55
    )
    outcomes = tuple(replace(each, scores=scores) for each in comparison.outcomes)
    write_comparison(tmp_path / "report.html", replace(comparison, outcomes=outcomes))
    head, _, body = (tmp_path / "report.html").read_text().partition("<tbody>")
    titles = [">kNN<", ">class means<", ">linear classifier<", "linear probe, fitted with"]
    numbers = ["11.0", "22.0", "25.0", "33.0", "44.0", "55.0"]
    for text, order in ((head, titles), (body, numbers)):
        places = [text.index(each) for each in order]
        assert places == sorted(places)


def test_long_sentences_are_cut_between_words() -> None:
    long = " ".join(["word"] * 200)
    shown = Sentences(sentences=(long, "a", "b", "c")).shown(0, "line 1")
    assert len(shown) < 300
    assert shown.endswith("word ...</q>")


def test_what_is_no_letter_does_not_reach_the_page() -> None:
    odd = ("null\0 byte", "\x1b[31mred\x07", "שלום", "half \ud800")
    shown = [Sentences(sentences=odd).shown(row, "b").partition(">")[2] for row in range(4)]
    assert shown == ["null\ufffd byte</q>", "\ufffd[31mred\ufffd</q>", "שלום</q>", "half ?</q>"]
    assert Sentences(sentences=odd).shown(2, "").startswith('<q dir="auto"')


def test_what_does_not_fit_is_refused(comparison: Comparison) -> None:
    with pytest.raises(ValueError, match="Sentences expected at least 4 sentences, got 1"):
        Sentences(sentences=("a",))
    with pytest.raises(ValueError, match="partners must be from 0 to 3, got 1 to 4"):
        Sentences(sentences=("a", "b", "c", "d"), partners=np.array([1, 4]))
    with pytest.raises(ValueError, match=r"view_b, one for each partner, must have shape \(2, any\)"):
        replace(comparison, sample=replace(comparison.sample, partners=np.array([1, 0])))
