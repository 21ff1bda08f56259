"""The best k against trying every one."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tammes.theory import ClassDistribution, best_k, closed_form_best_k, log_bound, near_best_k

growths = st.sampled_from([0.0, 0.3, 0.5, 0.75, 1.0])


def by_trying(classes: ClassDistribution, growth: float, last: int) -> tuple[int, int, int]:
    """The least k of the least bound, and the ends of what is within a tenth of it."""
    values = np.array([log_bound(k, classes, growth=growth) for k in range(1, last)])
    within = np.flatnonzero(values <= values.min() + math.log(1.1) + 1e-12) + 1
    return int(np.flatnonzero(values <= values.min() + 1e-11)[0]) + 1, int(within[0]), int(within[-1])


@given(number=st.integers(2, 150), growth=growths)
def test_it_is_the_best_of_all_for_equally_likely_classes(number: int, growth: float) -> None:
    classes = ClassDistribution.uniform(number)
    best, low, high = by_trying(classes, growth, 6 * number + 10)
    assert best_k(classes, growth=growth) == best
    assert near_best_k(classes, growth=growth) == (low, high)


@given(counts=st.lists(st.integers(1, 50), min_size=2, max_size=12), growth=growths)
def test_it_is_the_best_of_all_for_any_classes(counts: list[int], growth: float) -> None:
    classes = ClassDistribution.of_counts(counts)
    best, low, high = by_trying(classes, growth, 150)
    assert best_k(classes, growth=growth) == best
    assert near_best_k(classes, growth=growth) == (low, high)


def test_a_hundred_classes() -> None:
    classes = ClassDistribution.uniform(100)
    assert closed_form_best_k(classes) == pytest.approx(1 / (math.log(100) - math.log(99)))
    assert closed_form_best_k(classes, growth=0.5) == pytest.approx(0.5 / (math.log(100) - math.log(99)))
    assert (best_k(classes), best_k(classes, growth=0.5), best_k(classes, growth=1.0)) == (103, 54, 1)


def test_the_coefficient_is_a_saw_and_no_valley() -> None:
    """Remark 2 has it fall to its least and rise from there."""
    classes = ClassDistribution.uniform(100)
    steps = np.diff([log_bound(k, classes) for k in range(1, 400)])
    falls_behind = int((steps[103:] < 0).sum())
    rises_before = int((steps[:102] > 0).sum())
    assert (falls_behind, rises_before) == (7, 48)


@given(number=st.integers(20, 10**7))
def test_the_closed_form_is_near_the_best_and_about_the_number_of_classes(number: int) -> None:
    classes = ClassDistribution.uniform(number)
    for growth in (0.0, 0.5):
        smooth = closed_form_best_k(classes, growth=growth)
        assert smooth == pytest.approx((1 - growth) * (number - 0.5), rel=1e-3)
        assert best_k(classes, growth=growth) == pytest.approx(smooth, rel=0.25)


def test_wrong_numbers_are_refused_in_words() -> None:
    classes = ClassDistribution.uniform(10)
    for function in (best_k, closed_form_best_k, near_best_k):
        with pytest.raises(ValueError, match=r"growth must be .* at most 1, got 2"):
            function(classes, growth=2)
        with pytest.raises(ValueError, match="at least two classes"):
            function(ClassDistribution.uniform(1))
    with pytest.raises(ValueError, match=r"factor must be a finite number at least 1, got 0\.9"):
        near_best_k(classes, factor=0.9)


@pytest.mark.parametrize(
    ("number", "best", "ends", "refined"),
    [
        (10, 9, (6, 13), 4),
        (100, 103, (65, 147), 54),
        (1000, 997, (651, 1497), 516),
        (3029, 3062, (1928, 4405), 1487),
    ],
)
def test_the_table_of_the_docs(number: int, best: int, ends: tuple[int, int], refined: int) -> None:
    classes = ClassDistribution.uniform(number)
    assert (best_k(classes), near_best_k(classes), best_k(classes, growth=0.5)) == (best, ends, refined)
    cells = (f"{number:,}", f"{best:,}", f"{closed_form_best_k(classes):,.1f}", f"{ends[0]:,} to {ends[1]:,}")
    page = Path(__file__).parents[2] / "docs/theory.md"
    assert f"| {' | '.join(cells)} | {refined:,} |" in page.read_text()
