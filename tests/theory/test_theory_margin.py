"""The margin loss: its three pieces, and what it bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tammes.theory import margin_loss, margin_risk, margins


@given(st.integers(0, 10_000), st.integers(2, 6), st.floats(0.01, 3))
def test_the_risk_lies_between_two_shares(seed: int, classes: int, margin: float) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.standard_normal((50, classes))
    labels = generator.integers(0, classes, 50)
    wrong = float((scores.argmax(axis=1) != labels).mean())
    small = float((margins(scores, labels) < margin).mean())
    assert wrong - 1e-12 <= margin_risk(scores, labels, margin=margin) <= small + 1e-12


def test_margins_by_hand() -> None:
    scores = np.array([[1.0, 4.0, 2.0], [1.0, 4.0, 2.0], [0.0, 0.0, 0.0]])
    assert margins(scores, np.array([1, 2, 0])).tolist() == [2.0, -2.0, 0.0]
    assert scores.tolist()[0] == [1.0, 4.0, 2.0], "what was given is left as it is"


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(0.05, 4))
def test_the_loss_is_lipschitz_and_falls(first: float, second: float, margin: float) -> None:
    a, b = margin_loss(np.array([first, second]), margin=margin)
    assert abs(a - b) <= abs(first - second) / margin + 1e-12
    assert (a >= b) or first > second


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: margins(np.zeros((3, 1)), np.zeros(3, dtype=int)), "two classes or more"),
        (lambda: margins(np.zeros((3, 2)), np.array([0, 1, 2])), "from 0 to 1 as labels"),
        (lambda: margins(np.zeros((3, 2)), np.array([0, 1])), "expected 3 integers from 0"),
        (lambda: margins(np.zeros((3, 2)), np.zeros(3)), "got float64"),
        (lambda: margins(np.full((3, 2), np.nan), np.zeros(3, dtype=int)), "finite scores"),
        (lambda: margin_loss(np.zeros(3), margin=0.0), "margin must be a finite number above 0"),
        (lambda: margin_risk(np.zeros((0, 2)), np.zeros(0, dtype=int), margin=1.0), "at least one point"),
    ],
)
def test_what_makes_no_sense_is_refused(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()  # type: ignore[operator]
