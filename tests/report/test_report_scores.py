"""Accuracies and curves are checked when they are made; intervals come from the test set or the seeds."""

import numpy as np
import pytest

from tammes.estimate import Estimate
from tammes.report import Curve, Floor, Scores
from tammes.report.scores import KNN, PROBE


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


def test_one_seed_has_the_interval_of_the_test_rows():
    floor = Floor(name="a", scores=Scores(probe=0.8))
    assert PROBE.estimate(floor, 400) == Estimate.of_share(0.8, 400)
    assert KNN.estimate(floor, 400) is None


def test_several_seeds_have_the_interval_of_the_seeds():
    floor = Floor(name="a", scores=Scores(probe=0.8), seeds=(Scores(probe=0.79), Scores(probe=0.81)))
    assert PROBE.estimate(floor, 400) == Estimate.over_seeds([0.79, 0.81])


def test_a_floor_without_seeds_is_a_constant_for_a_difference():
    floor = Floor(name="raw pixels", scores=Scores(probe=0.6))
    more = Floor(name="a", scores=Scores(probe=0.8), seeds=(Scores(probe=0.7), Scores(probe=0.9)))
    found = PROBE.difference(more, floor, 400)
    assert found is not None
    assert found.values == pytest.approx((0.1, 0.3))
    assert PROBE.difference(floor, Floor(name="b", scores=Scores(knn=0.5)), 400) is None


def test_a_difference_that_is_the_same_for_all_seeds_has_the_interval_of_the_test_rows():
    more, less = (
        Floor(name="a", scores=Scores(knn=share), seeds=(Scores(knn=share),) * 3) for share in (0.9, 0.6)
    )
    found = KNN.difference(more, less, 18)
    assert found == Estimate.of_separate_shares(Estimate.of_share(0.9, 18), Estimate.of_share(0.6, 18))
    assert KNN.difference(more, Floor(name="raw pixels", scores=Scores(knn=0.6)), 18) == found
    assert found.seeds_needed is None
