"""The table shows what was measured, and marks the best of each column."""

from dataclasses import replace

import numpy as np
import pytest

from tammes.report import Comparison, Scores
from tammes.report.table import score_table

COLORS = ("red", "blue")


def test_cells_are_the_numbers_given(comparison: Comparison):
    table = score_table(comparison, COLORS)
    assert [*table.leading, *table.probes, *table.trailing] == [
        "kNN",
        "all labels",
        "10 %",
        "1 %",
        "weight on own class",
        "effective negatives",
        "seconds",
    ]
    first, second, floor = table.rows
    assert [cell.text for cell in first.cells[:4]] == ["90.0", "92.0", "80.0", "50.0"]
    assert [cell.text for cell in second.cells[:4]] == ["95.0", "94.0", "–", "–"]
    assert [cell.text for cell in floor.cells] == ["60.0", "70.0", "–", "–", "–", "–", "–"]
    assert first.cells[-1].text == "1.2"


def test_the_highest_of_each_column_is_bold_and_ties_are_both(comparison: Comparison, make_outcome):
    table = score_table(comparison, COLORS)
    assert [row.cells[0].best for row in table.rows] == [False, True, False]
    tied = (make_outcome("a", Scores(knn=0.90001)), make_outcome("b", Scores(knn=0.90002)))
    rows = score_table(replace(comparison, outcomes=tied), COLORS).rows
    assert [row.cells[0].best for row in rows] == [True, True, False]


def test_a_single_objective_is_not_called_best(comparison: Comparison):
    table = score_table(replace(comparison, outcomes=comparison.outcomes[:1]), COLORS[:1])
    assert not any(cell.best for row in table.rows for cell in row.cells)


def test_weight_on_own_class_is_the_sum_over_false_negatives(comparison: Comparison):
    table = score_table(comparison, COLORS)
    outcome = comparison.outcomes[1]
    labels = np.tile(comparison.sample.labels[: outcome.pairs], 2)
    share = (outcome.weights * (labels[:, None] == labels)).sum(axis=1).mean()
    assert table.rows[1].cells[4].text == f"{100 * share:.1f}\xa0%"
    # 12 pictures of 3 classes: of 22 negatives 6 are of the anchor's class
    assert table.rows[0].cells[4].text == f"{100 * 6 / 22:.1f}\xa0%"
    assert f"({100 * 6 / 22:.1f}\xa0% if uniform)" in table.note


@pytest.mark.parametrize("measured", [True, False])
def test_columns_without_a_number_are_left_out(comparison: Comparison, make_outcome, measured):
    unlabeled = replace(comparison.sample, labels=None, classes=None)
    bare = replace(
        comparison,
        sample=unlabeled,
        outcomes=(make_outcome(scores=Scores(knn=0.5) if measured else Scores()),),
        floors=(),
    )
    table = score_table(bare, COLORS[:1])
    assert [*table.leading, *table.probes, *table.trailing] == ["kNN"] * measured + [
        "effective negatives",
        "seconds",
    ]


def test_negatives_from_elsewhere_than_the_batch_are_said_to_be_missing(comparison: Comparison):
    assert "without those" not in score_table(comparison, COLORS).note
    settings = {**comparison.settings, "negatives": "queue: size 64, momentum 0.99"}
    assert score_table(replace(comparison, settings=settings), COLORS).note.endswith(
        "Of the negatives the page shows those of the batch, without those of the queue."
    )
