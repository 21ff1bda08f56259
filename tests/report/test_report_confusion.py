"""Which classes are confused is drawn for few classes, listed for many, and said in words."""

from dataclasses import replace

import numpy as np
import pytest

from tammes.report import Comparison, Scores
from tammes.report.confusion import confusions, most_confused


def with_classes(comparison: Comparison, counts: np.ndarray) -> Comparison:
    """The comparison with another confusion matrix, and names for its classes."""
    names = tuple(f"class-{k}" for k in range(len(counts)))
    return replace(
        comparison,
        sample=replace(comparison.sample, classes=names),
        outcomes=tuple(replace(outcome, confusion=counts) for outcome in comparison.outcomes),
    )


def test_each_objective_has_a_matrix_that_is_said_in_words(comparison: Comparison):
    section = confusions(comparison)
    assert section is not None
    assert section.classifier == "a linear probe"
    assert not section.lists
    assert [panel.name for panel in section.matrices] == ["simclr", "hcl"]
    assert section.matrices[0].caption == "most often: eel as cat, 2 of 10; cat as dog, 1 of 10"
    assert "Classified right: cat 90.0\xa0%, dog 100.0\xa0%, eel 80.0\xa0%; most often" in (
        section.matrices[0].svg
    )


def test_nothing_confused_and_classes_without_rows_are_no_error(comparison: Comparison):
    section = confusions(with_classes(comparison, np.diag([3, 0, 5])))
    assert section is not None
    assert section.matrices[0].caption == "no row is classified wrongly"
    assert "class-1" not in section.matrices[0].svg.split("viewBox")[0]


def test_texts_have_the_linear_classifier(comparison: Comparison):
    scores = Scores(knn=0.5, linear=0.9)
    outcomes = tuple(replace(outcome, scores=scores) for outcome in comparison.outcomes)
    section = confusions(replace(comparison, outcomes=outcomes))
    assert section is not None
    assert section.classifier == "a linear classifier"


def test_many_classes_are_listed(comparison: Comparison):
    counts = 9 * np.eye(31, dtype=int)
    counts[4, 7], counts[2, 3] = 5, 1
    section = confusions(with_classes(comparison, counts))
    assert section is not None
    assert not section.matrices
    assert section.lists[0].pairs == ("class-4 as class-7, 5 of 14", "class-2 as class-3, 1 of 10")
    drawn = confusions(with_classes(comparison, counts[:30, :30]))
    assert drawn is not None
    assert drawn.is_large
    assert len(drawn.matrices) == 2


def test_without_measurements_there_is_none(comparison: Comparison):
    bare = tuple(replace(outcome, confusion=None) for outcome in comparison.outcomes)
    assert confusions(replace(comparison, outcomes=bare)) is None
    one = confusions(replace(comparison, outcomes=(bare[0], comparison.outcomes[1])))
    assert one is not None
    assert [panel.name for panel in one.matrices] == ["hcl"]


def test_the_most_confused_come_first_and_ties_in_order():
    counts = np.array([[1, 2, 0], [5, 0, 2], [0, 0, 9]])
    assert most_confused(counts, 2) == [(1, 0), (0, 1)]
    assert most_confused(counts, 9) == [(1, 0), (0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (np.zeros((2, 3), int), r"confusion must have shape \(2, 2\), got \(2, 3\)"),
        (np.eye(3), "confusion expected counts, got float64"),
        (-np.eye(3, dtype=int), "confusion expected counts, got int64 from -1"),
    ],
)
def test_what_is_no_matrix_of_counts_is_refused(comparison: Comparison, counts: np.ndarray, words: str):
    with pytest.raises(ValueError, match=words):
        replace(comparison.outcomes[0], confusion=counts)


def test_a_matrix_has_a_row_for_each_class(comparison: Comparison):
    outcome = replace(comparison.outcomes[0], confusion=np.eye(4, dtype=int))
    with pytest.raises(ValueError, match=r"a row for each class, must have shape \(3, 3\), got \(4, 4\)"):
        replace(comparison, outcomes=(outcome,))
