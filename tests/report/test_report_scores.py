"""Accuracies and curves are checked when they are made; errors come from the test set and the seeds."""

import math

import numpy as np
import pytest

from tammes.report import Curve, Scores
from tammes.report.scores import Estimate, estimate


@pytest.mark.parametrize(
    ("epochs", "values", "words"),
    [
        ([0, 1], [1.0], r"Curve.values must have shape \(2,\), got \(1,\)"),
        ([], [], "at least one point"),
        ([0, 1], [1.0, np.inf], "must be finite, got inf in row 1"),
        ([1, 1], [1.0, 2.0], r"must increase, got \[1, 1\]"),
    ],
)
def test_curve_says_what_is_wrong(epochs, values, words):
    with pytest.raises(ValueError, match=words):
        Curve(epochs=np.array(epochs), values=np.array(values))


def test_scores_are_fractions():
    with pytest.raises(
        ValueError, match=r"Scores.probe_1_percent must be .* at least 0 and at most 1, got 97"
    ):
        Scores(probe_1_percent=97.0)


def test_one_seed_has_the_binomial_error():
    # p = 0.8, n = 400: sqrt(0.16 / 400) = 0.02, but for the step inward
    assert estimate(0.8, 400).error == pytest.approx(0.02, rel=0.01)
    assert estimate(0.8, 400, [0.8]).error == estimate(0.8, 400).error


def test_a_perfect_score_is_still_uncertain():
    assert 0 < estimate(1.0, 400).error < 0.005


def test_seeds_add_the_error_of_their_mean():
    seeds = [0.7, 0.8, 0.9]
    expected = math.hypot(estimate(0.8, 400).error, np.std(seeds, ddof=1) / math.sqrt(3))
    assert estimate(0.8, 400, seeds).error == pytest.approx(expected)


def test_the_error_is_that_of_repeated_test_sets():
    draws = np.random.default_rng(0).binomial(400, 0.9, size=20_000) / 400
    assert estimate(0.9, 400).error == pytest.approx(draws.std(), rel=0.03)


def test_clear_is_twice_the_error_of_the_difference():
    low = Estimate(value=0.5, error=0.03)
    assert low.error_of_difference(Estimate(value=0.9, error=0.04)) == pytest.approx(0.05)
    assert Estimate(value=0.61, error=0.04).clearly_above(low)
    assert not Estimate(value=0.59, error=0.04).clearly_above(low)
    assert not low.clearly_above(Estimate(value=0.61, error=0.04))
