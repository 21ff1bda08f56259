"""The lead says no more than the numbers do."""

from dataclasses import replace

import pytest

from tammes.report import Comparison, Floor, Scores
from tammes.report.verdict import error_of_difference, standard_error, verdict


def with_scores(comparison: Comparison, make_outcome, **scores: Scores) -> Comparison:
    return replace(comparison, outcomes=tuple(make_outcome(name, each) for name, each in scores.items()))


def test_a_large_difference_is_called_one(comparison, make_outcome):
    told = verdict(with_scores(comparison, make_outcome, a=Scores(probe=0.8), b=Scores(probe=0.95)))
    assert told.lead.startswith(
        "b is clearly best: a linear probe of it gets 95.0 % of 400 test images right"
    )
    assert "15.0 points more than for a" in told.lead


def test_a_small_difference_is_not(comparison, make_outcome):
    told = verdict(with_scores(comparison, make_outcome, a=Scores(probe=0.95), b=Scores(probe=0.955)))
    assert told.lead.startswith("No clear difference between b and a")
    assert "0.5 points more than for a, but the standard error of that difference is 1.5" in told.lead


def test_who_falls_behind_is_named(comparison, make_outcome):
    scores = {"a": Scores(probe=0.95), "b": Scores(probe=0.94), "c": Scores(probe=0.7)}
    told = verdict(with_scores(comparison, make_outcome, **scores))
    assert told.lead.startswith("No clear difference between a and b")
    assert told.lead.endswith("; c is clearly behind.")


def test_equal_scores_have_no_best(comparison, make_outcome):
    told = verdict(with_scores(comparison, make_outcome, a=Scores(probe=0.9), b=Scores(probe=0.9)))
    assert "for a as for b" in told.lead
    assert "more than" not in told.lead


def test_without_a_probe_the_vote_counts(comparison, make_outcome):
    told = verdict(with_scores(comparison, make_outcome, a=Scores(knn=0.8), b=Scores(knn=0.95)))
    assert "the vote of nearest neighbors" in told.lead


def test_floors_are_set_beside(comparison, make_outcome):
    scores = {"a": Scores(probe=0.95), "b": Scores(probe=0.7)}
    told = verdict(with_scores(comparison, make_outcome, **scores))
    assert "Only a is clearly above the raw pixels (70.0 %)." in told.beside
    high = replace(comparison, floors=(Floor(name="oracle", scores=Scores(probe=0.99)),))
    assert (
        "None is clearly above the oracle (99.0 %)."
        in verdict(with_scores(high, make_outcome, **scores)).beside
    )
    low = replace(comparison, floors=(Floor(name="coin", scores=Scores(probe=0.3)),))
    assert (
        "Both are clearly above the coin (30.0 %)."
        in verdict(with_scores(low, make_outcome, **scores)).beside
    )


def test_one_objective_is_compared_with_nobody(comparison, make_outcome):
    told = verdict(with_scores(comparison, make_outcome, a=Scores(probe=0.95)))
    assert told.lead == "A linear probe of a gets 95.0 % of 400 test images right."
    assert "best" not in told.lead
    assert "seed" not in told.beside


def test_without_accuracies_nothing_is_claimed(comparison, make_outcome):
    told = verdict(with_scores(comparison, make_outcome, a=Scores()))
    assert "a from 5 to 4.25" in told.lead
    assert "no number here can say" in told.lead
    assert "no labels" in told.beside


def test_standard_errors_are_binomial():
    # p = 0.8, n = 400: sqrt(0.16 / 400) = 0.02, but for the step inward
    assert standard_error(0.8, 400) == pytest.approx(0.02, rel=0.01)
    assert error_of_difference(0.8, 0.8, 400) == pytest.approx(0.02 * 2**0.5, rel=0.01)
