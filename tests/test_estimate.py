"""Estimates: their intervals hold the truth as often as they say, and say when they are not known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tammes.estimate import Estimate

numbers = st.floats(-10, 10)


@given(values=st.lists(numbers, min_size=2, max_size=12))
def test_the_interval_over_seeds_is_students(values: list[float]) -> None:
    found = Estimate.over_seeds(values)
    mean, error = np.mean(values), np.std(values, ddof=1) / math.sqrt(len(values))
    low, high = (mean, mean) if error == 0 else stats.t.interval(0.95, len(values) - 1, mean, error)
    assert (found.mean, found.low, found.high) == pytest.approx((mean, low, high), abs=1e-9)


@given(successes=st.integers(0, 50), more=st.integers(0, 50))
def test_the_interval_of_a_share_is_wilsons(successes: int, more: int) -> None:
    trials = successes + more
    if trials == 0:
        return
    found = Estimate.of_share(successes / trials, trials)
    expected = stats.binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert 0 <= found.low <= found.mean <= found.high <= 1


def test_the_intervals_hold_the_truth_in_95_percent_of_the_cases() -> None:
    drawn = np.random.default_rng(0).normal(0.3, 1.0, size=(4000, 4))
    held = np.mean([(e := Estimate.over_seeds(row.tolist())).low <= 0.3 <= e.high for row in drawn])
    assert abs(held - 0.95) < 3 * math.sqrt(0.95 * 0.05 / len(drawn))


@given(values=st.lists(numbers, min_size=1, max_size=6), constant=numbers)
def test_negation_and_subtraction_are_those_of_the_values(values: list[float], constant: float) -> None:
    found = Estimate.over_seeds(values)
    for moved, expected in (
        (-found, Estimate.over_seeds([-value for value in values])),
        (found - constant, Estimate.over_seeds([value - constant for value in values])),
    ):
        assert moved.mean == pytest.approx(expected.mean, abs=1e-9)
        assert (moved.low, moved.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
        assert moved.values == pytest.approx(expected.values)


@pytest.mark.parametrize(
    ("more", "less", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0),
    ],
)
def test_the_difference_of_separate_shares_is_that_of_newcombes_examples(
    more: tuple[int, int], less: tuple[int, int], low: float, high: float
) -> None:
    """Newcombe (1998), interval estimation of independent proportions, Table II, method 10."""
    one, other = (Estimate.of_share(successes / trials, trials) for successes, trials in (more, less))
    found = Estimate.of_separate_shares(one, other)
    assert found.mean == pytest.approx(more[0] / more[1] - less[0] / less[1])
    assert (found.low, found.high) == pytest.approx((low, high), abs=6e-5)
    back = Estimate.of_separate_shares(other, one)
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low))


def test_one_seed_decides_nothing() -> None:
    found = Estimate.over_seeds([5.0])
    assert not found.is_known
    assert not found.above_zero
    assert not (-found).below_zero
    assert found.deviation is None
    assert found.seeds_needed is None
    assert str(found) == "5.000 (one seed)"


def test_intervals_of_accuracies_stay_between_0_and_1_and_have_a_width() -> None:
    scattered = Estimate.of_accuracies([0.1, 0.5, 0.2], 20)
    assert scattered.low == 0.0 > Estimate.over_seeds([0.1, 0.5, 0.2]).low
    assert scattered.values == (0.1, 0.5, 0.2)
    assert Estimate.of_accuracies([0.99, 0.9], 20).high == 1.0
    assert Estimate.of_accuracies([0.5, 0.6, 0.55], 20) == Estimate.over_seeds([0.5, 0.6, 0.55])
    for value in (1.0, 0.3):  # three times 0.3 has a mean that differs from it by rounding
        equal, share = Estimate.of_accuracies([value] * 3, 20), Estimate.of_share(value, 20)
        assert (equal.low, equal.high) == pytest.approx((share.low, share.high))
        assert equal.values == (value,) * 3


def test_seeds_that_are_shared_are_compared_seed_by_seed() -> None:
    better, worse = [0.5, 0.7, 0.9], [0.49, 0.69, 0.89]
    assert Estimate.of_difference(better, worse).above_zero
    assert not Estimate.over_seeds(better).low > Estimate.over_seeds(worse).high


def test_the_number_of_seeds_needed_is_the_first_whose_interval_excludes_zero() -> None:
    found = Estimate.over_seeds([0.01, 0.03, 0.00])
    needed, deviation = found.seeds_needed, found.deviation
    assert needed is not None
    assert deviation is not None

    def half(n: int) -> float:
        return float(stats.t.ppf(0.975, n - 1)) * deviation / math.sqrt(n)

    assert half(needed) < found.mean <= half(needed - 1)
    assert Estimate.over_seeds([1.0, -1.0]).seeds_needed is None
    assert Estimate.over_seeds([1.0, -0.9999]).seeds_needed is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Estimate.over_seeds([]), "one seed at least"),
        (lambda: Estimate.over_seeds([math.nan]), "leave out what was not measured"),
        (lambda: Estimate.over_seeds([1.0, math.inf]), "finite numbers"),
        (lambda: Estimate.of_difference([1.0], [1.0, 2.0]), "same seeds, got 1 and 2"),
        (lambda: Estimate.of_share(1.5, 10), "share from 0 to 1"),
        (lambda: Estimate.of_share(0.5, 0), "at least one trial"),
        (lambda: Estimate.of_outcomes([True], [True, False]), "the same trials, got 1 and 2"),
        (lambda: Estimate.of_outcomes([], []), "at least one trial"),
    ],
)
def test_wrong_input_is_refused(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def outcomes(both: int, first: int, second: int, neither: int) -> tuple[list[bool], list[bool]]:
    """Return paired outcomes with these numbers of trials in which both, one or neither succeeds."""
    counts = ((True, True, both), (True, False, first), (False, True, second), (False, False, neither))
    pairs = [(one, other) for one, other, count in counts for _ in range(count)]
    return [one for one, _ in pairs], [other for _, other in pairs]


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [((36, 12, 2, 0), 0.0569, 0.3404), ((20, 12, 2, 16), 0.0562, 0.3292)],
)
def test_the_difference_of_paired_outcomes_is_newcombes(counts, low: float, high: float) -> None:
    """The numbers are those of the method's table, for 50 pairs."""
    difference = Estimate.of_outcomes(*outcomes(*counts))
    assert difference.mean == pytest.approx(0.2)
    assert (round(difference.low, 4), round(difference.high, 4)) == (low, high)


@given(counts=st.tuples(*[st.integers(0, 30)] * 4).filter(any))
def test_the_paired_difference_is_antisymmetric_and_holds_its_mean(counts) -> None:
    one, other = outcomes(*counts)
    difference, reverse = Estimate.of_outcomes(one, other), Estimate.of_outcomes(other, one)
    assert (reverse.low, reverse.high) == pytest.approx((-difference.high, -difference.low))
    assert -1 - 1e-9 <= difference.low <= difference.mean <= difference.high <= 1 + 1e-9


def test_agreement_makes_the_interval_short() -> None:
    """The same two shares, in trials on which they agree as often as possible, and as seldom."""
    alike, apart = (Estimate.of_outcomes(*outcomes(*counts)) for counts in ((70, 10, 0, 20), (50, 30, 20, 0)))
    assert alike.mean == apart.mean == pytest.approx(0.1)
    assert alike.high - alike.low < (apart.high - apart.low) / 2
    assert alike.above_zero
    assert not apart.above_zero


def test_opposite_outcomes_have_a_wide_interval() -> None:
    difference = Estimate.of_outcomes([True, False] * 10, [False, True] * 10)
    assert difference.low < -0.3
    assert difference.high > 0.3


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(4, 60))
def test_the_correlation_agrees_with_scipy(seed: int, n: int) -> None:
    generator = np.random.default_rng(seed)
    first = generator.normal(size=n)
    second = 0.5 * first + generator.normal(size=n)
    found = Estimate.of_correlation(first.tolist(), second.tolist())
    known = stats.pearsonr(first, second)
    interval = known.confidence_interval(0.95)
    assert found.mean == pytest.approx(known.statistic, abs=1e-12)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=1e-9)
    opposite = Estimate.of_correlation(first.tolist(), (-second).tolist())
    assert (opposite.low, opposite.high) == pytest.approx((-found.high, -found.low), abs=1e-9)


def test_repetitions_of_a_setting_do_not_narrow_the_interval_of_a_correlation() -> None:
    first, second = [1.0, 2, 3, 4, 5, 6], [1.0, 3, 2, 5, 4, 6]
    once = Estimate.of_correlation(first, second)
    twice = Estimate.of_correlation(2 * first, 2 * second, independent=6)
    assert (once.low, once.high) == pytest.approx((twice.low, twice.high))
    assert Estimate.of_correlation(2 * first, 2 * second).low > once.low
    assert not Estimate.of_correlation(first, second, independent=3).is_known
    exact = Estimate.of_correlation(first, first)
    assert (exact.mean, exact.low, exact.high) == (1, 1, 1)


@pytest.mark.parametrize(
    ("first", "second", "match"),
    [
        ([1.0, 2], [1.0], "pairs of numbers, got 2 and 1"),
        ([1.0], [1.0], "pairs of numbers, got 1 and 1"),
        ([1.0, 1], [1.0, 2], "equal numbers have no correlation"),
        ([1.0, math.inf], [1.0, 2], "needs finite numbers"),
    ],
)
def test_series_without_a_correlation_are_refused(
    first: list[float], second: list[float], match: str
) -> None:
    with pytest.raises(ValueError, match=match):
        Estimate.of_correlation(first, second)
