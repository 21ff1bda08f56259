"""What the page is given is checked when it is made."""

from dataclasses import replace

import numpy as np
import pytest

from tammes.report import Comparison, Pictures, Scores


def test_sample_wants_bytes():
    with pytest.raises(ValueError, match=r"uint8 .*, got float64 .*: multiply fractions by 255"):
        Pictures(images=np.zeros((5, 1, 8, 8)))


def test_sample_wants_channels_first():
    with pytest.raises(ValueError, match=r"\(n, 1 or 3, height, width\), got uint8 \(5, 8, 8, 3\)"):
        Pictures(images=np.zeros((5, 8, 8, 3), np.uint8))


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.zeros(4, int), r"must have shape \(5,\), got \(4,\)"),
        (np.zeros(5), "expected integers, got float64"),
        (np.array([0, 1, -1, 0, 0]), "numbers from 0, got -1"),
        (np.array([0, 1, 2, 0, 0]), "a name for label 2, got 2 names"),
    ],
)
def test_sample_says_what_is_wrong_with_labels(labels, words):
    with pytest.raises(ValueError, match=words):
        Pictures(images=np.zeros((5, 1, 8, 8), np.uint8), labels=labels, classes=("a", "b"))


def test_sample_wants_a_name_for_each_picture():
    with pytest.raises(ValueError, match=r"names must have shape \(5,\), got \(1,\)"):
        Pictures(images=np.zeros((5, 1, 8, 8), np.uint8), names=("a",))


def test_titles_name_what_is_known(sample: Pictures):
    assert sample.title(1) == "1.png, class dog"
    assert replace(sample, names=None).title(1) == "class dog"
    assert replace(sample, classes=None).title(1) == "1.png, class 1"
    assert replace(sample, names=None, labels=None).title(1) == "picture 1"


def test_titles_survive_names_that_are_no_text(sample: Pictures):
    # How Python hands on a file name whose bytes are no UTF-8.
    names = tuple(b"\xff.png".decode("utf-8", "surrogateescape") for _ in range(sample.size))
    assert replace(sample, names=names).title(0) == "?.png, class cat"


def test_outcome_names_the_row_that_is_not_finite(make_outcome):
    outcome = make_outcome()
    bad = outcome.embeddings.copy()
    bad[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"simclr'\)\.embeddings must be finite, got nan in row 4"):
        replace(outcome, embeddings=bad)


def test_outcome_refuses_an_embedding_of_length_zero(make_outcome):
    outcome = make_outcome()
    bad = outcome.view_b.copy()
    bad[2] = 0
    with pytest.raises(ValueError, match="positive length, got zeros in row 2"):
        replace(outcome, view_b=bad)


def test_outcome_wants_weights_that_sum_to_one(make_outcome):
    outcome = make_outcome()
    with pytest.raises(ValueError, match=r"sum to one, got sums from 2 to 2"):
        replace(outcome, weights=2 * outcome.weights)


def test_outcome_wants_views_of_one_batch(make_outcome):
    outcome = make_outcome()
    with pytest.raises(ValueError, match=r"view_b must have shape \(12, 5\), got \(11, 5\)"):
        replace(outcome, view_b=outcome.view_b[1:])


def test_outcome_refuses_negative_time(make_outcome):
    with pytest.raises(ValueError, match="seconds must be a finite number at least 0, got -1"):
        replace(make_outcome(), seconds=-1.0)


def test_comparison_wants_an_outcome(comparison: Comparison):
    with pytest.raises(ValueError, match="at least one objective"):
        replace(comparison, outcomes=())


def test_comparison_wants_different_names(comparison: Comparison, make_outcome):
    with pytest.raises(ValueError, match=r"different names, got \['hcl', 'hcl'\]"):
        replace(comparison, outcomes=(make_outcome("hcl"), make_outcome("hcl")))


def test_comparison_wants_the_same_pictures(comparison: Comparison, make_outcome):
    few = make_outcome("few")
    keep = np.r_[:11, 12:23]
    weights = few.weights[np.ix_(keep, keep)]
    few = replace(
        few, view_a=few.view_a[:11], view_b=few.view_b[:11], weights=weights / weights.sum(1, keepdims=True)
    )
    with pytest.raises(ValueError, match=r"'few': 11} rows: use one batch"):
        replace(comparison, outcomes=(*comparison.outcomes, few))


@pytest.mark.parametrize("scores", [Scores(probe=0.5), Scores(probe_1_percent=0.5)])
def test_accuracies_need_the_size_of_the_test_set(comparison: Comparison, make_outcome, scores):
    with pytest.raises(
        ValueError, match="test_size must be an integer of at least 1, got 0: 'simclr' has accuracies"
    ):
        replace(comparison, outcomes=(make_outcome(scores=scores),), test_size=0)


def test_comparison_wants_its_own_sample(comparison: Comparison):
    few = replace(comparison.sample, images=comparison.sample.images[:9], labels=None, names=None)
    with pytest.raises(ValueError, match=r"embeddings, one for each row, must have shape \(9, any\)"):
        replace(comparison, sample=few)
