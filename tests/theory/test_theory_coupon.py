"""The coupon collector against drawing, and against closed forms."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tammes.theory import ClassDistribution, expected_draws, expected_draws_bound, harmonic_number

UNEVEN = ClassDistribution(probabilities=(0.5, 0.3, 0.1), repeats=(1, 1, 2))


def draws_until_complete(classes: ClassDistribution, times: int) -> np.ndarray:
    generator = np.random.default_rng(0)
    each = np.repeat(classes.rho, classes.sizes)
    drawn = generator.choice(len(each), size=(times, 400), p=each / each.sum())
    first = np.stack([(drawn == c).argmax(axis=1) for c in range(len(each))])
    assert all((drawn == c).any(axis=1).all() for c in range(len(each)))
    return first.max(axis=0) + 1


@pytest.mark.parametrize("classes", [ClassDistribution.uniform(10), UNEVEN], ids=["uniform", "uneven"])
def test_the_expectation_is_that_of_draws_and_markov_holds(classes: ClassDistribution) -> None:
    draws = draws_until_complete(classes, 10_000)
    assert abs(draws.mean() - expected_draws(classes)) < 4 * draws.std() / 100
    # Lemma 2, second half.
    assert (draws >= 2 * expected_draws_bound(classes)).mean() <= 0.5


@given(counts=st.lists(st.integers(1, 60), min_size=2, max_size=8))
def test_the_integral_is_the_sum_over_subsets_and_below_the_bound(counts: list[int]) -> None:
    classes = ClassDistribution.of_counts(counts)
    each = np.array(counts) / sum(counts)
    exact = sum(
        (-1) ** (size + 1) / sum(subset)
        for size in range(1, len(each) + 1)
        for subset in itertools.combinations(each, size)
    )
    assert expected_draws(classes) == pytest.approx(exact, rel=1e-8)
    assert expected_draws(classes) <= expected_draws_bound(classes) * (1 + 1e-12)


def test_the_integral_is_as_good_where_classes_are_nearly_alike() -> None:
    nearly = ClassDistribution(probabilities=(0.001 + 1e-12, 0.001 - 1e-12), repeats=(500, 500))
    assert expected_draws(nearly) == pytest.approx(expected_draws(ClassDistribution.uniform(1000)), rel=1e-8)


def test_harmonic_numbers_agree_on_both_sides_of_the_expansion() -> None:
    for n in (1, 2, 99, 100, 101, 5000):
        assert harmonic_number(n) == pytest.approx(sum(1 / i for i in range(1, n + 1)), rel=1e-14)
    with pytest.raises(ValueError, match="n must be an integer of at least 1, got 0"):
        harmonic_number(0)
