"""Accuracies and curves are checked when they are made."""

import numpy as np
import pytest

from tammes.report import Curve, Scores


@pytest.mark.parametrize(
    ("epochs", "values", "words"),
    [
        ([0, 1], [1.0], r"Curve.values expected shape \(2\), got \(1,\)"),
        ([], [], "at least one point"),
        ([0, 1], [1.0, np.inf], "finite numbers, got inf in row 1"),
        ([1, 1], [1.0, 2.0], r"increasing numbers, got \[1, 1\]"),
    ],
)
def test_curve_says_what_is_wrong(epochs, values, words):
    with pytest.raises(ValueError, match=words):
        Curve(epochs=np.array(epochs), values=np.array(values))


def test_scores_are_fractions():
    with pytest.raises(ValueError, match=r"Scores.probe_1_percent expected a fraction .* got 97"):
        Scores(probe_1_percent=97.0)
