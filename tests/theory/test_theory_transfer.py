"""The transfer theorem where it can be tried, and where the paper's print departs from its proof."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tammes.theory import (
    ClassDistribution,
    TwoRepresentations,
    collision_probability,
    covering_draws,
    covering_rounds,
    harmonic_number,
    hinge_floor,
    log_transfer_coefficient,
    logistic_floor,
    transfer_coefficient,
)

counts = st.lists(st.integers(1, 50), min_size=2, max_size=12)


@pytest.mark.parametrize(("k", "classes"), [(1, 2), (7, 10), (100, 100), (103, 100), (3000, 3029)])
def test_equally_likely_classes_give_theorem_1(k: int, classes: int) -> None:
    tau = 1 - (1 - 1 / classes) ** k
    rounds = math.ceil(2 * (classes - 1) * harmonic_number(classes - 1) / k - 1e-9)
    alpha = transfer_coefficient(k, ClassDistribution.uniform(classes))
    assert alpha == pytest.approx(2 / (1 - tau) * rounds)


@given(counts=counts, k=st.integers(1, 500))
def test_the_proofs_ceiling_is_within_twice_of_theorem_5_as_printed(counts: list[int], k: int) -> None:
    classes = ClassDistribution.of_counts(counts)
    inner = 2 * (1 - classes.smallest) * harmonic_number(len(counts) - 1) / (k * classes.smallest)
    printed = math.log(2 * max(1, inner)) - k * math.log(1 - classes.largest)
    ours = log_transfer_coefficient(k, classes)
    assert printed - 1e-9 <= ours <= printed + math.log(2) + 1e-9


def test_whole_quotients_are_not_rounded_up() -> None:
    # 2 (N-1) H_{N-1} is 2, 6 and 11 for N = 2, 3 and 4.
    for number, draws in ((2, 2), (3, 6), (4, 11)):
        classes = ClassDistribution.uniform(number)
        assert covering_draws(classes) == pytest.approx(draws)
        assert covering_rounds(1, classes) == draws
        assert covering_rounds(draws, classes) == 1


@given(half=st.integers(2, 40), epsilon=st.floats(0.01, 0.99), times=st.floats(0, 10))
def test_theorem_1_holds_for_both_representations(half: int, epsilon: float, times: float) -> None:
    example = TwoRepresentations(classes=2 * half, epsilon=epsilon)
    classes = ClassDistribution.uniform(2 * half)
    k = 1 + int(times * half)  # for many more the excess is lost in rounding
    alpha, floor = transfer_coefficient(k, classes), hinge_floor(k, classes)
    assert alpha * (example.merging_loss(k) - floor) >= example.merging_supervised_loss * (1 - 1e-6)
    assert alpha * (example.noisy_loss(k) - floor) >= example.noisy_supervised_loss * (1 - 1e-6)


def test_theorem_1_fails_for_the_logistic_loss_with_the_hinges_floor() -> None:
    """f(x) = R e_c with R large: separated without noise, so that only collisions cost anything."""
    generator = np.random.default_rng(0)
    number, k, radius = 10, 2, 10.0
    anchor = generator.integers(number, size=200_000)
    same = generator.integers(number, size=(200_000, k)) == anchor[:, None]
    loss = np.log1p(np.exp(-(radius**2) * ~same).sum(axis=1))
    classes = ClassDistribution.uniform(number)
    assert loss.mean() < collision_probability(k, classes) - 0.03  # so Theorem 1 would bound by a negative
    error = loss.std() / math.sqrt(len(loss))
    assert abs(loss.mean() - logistic_floor(k, classes)) < 4 * error
    assert error < 0.001


@given(counts=counts, k=st.integers(1, 200))
def test_the_logistic_floor_is_the_expectation_over_binomial_collisions(counts: list[int], k: int) -> None:
    hits = np.arange(k + 1)
    exact = 0.0
    for count in counts:
        rho = count / sum(counts)
        log_choose = np.array(
            [math.lgamma(k + 1) - math.lgamma(t + 1) - math.lgamma(k - t + 1) for t in hits]
        )
        mass = np.exp(log_choose + hits * math.log(rho) + (k - hits) * math.log1p(-rho))
        exact += rho * float(mass @ np.log1p(hits))
    classes = ClassDistribution.of_counts(counts)
    assert logistic_floor(k, classes) == pytest.approx(exact, rel=1e-8)
    # With logarithms to the base 2 tau_k is a floor, as Theorem 1 has it.
    assert exact / math.log(2) >= collision_probability(k, classes) - 1e-9


def test_limits_of_the_floors() -> None:
    assert logistic_floor(997, ClassDistribution.uniform(1000)) == pytest.approx(0.572, abs=5e-4)
    assert logistic_floor(7, ClassDistribution.uniform(1)) == pytest.approx(math.log(8))
    many = 10**8
    assert logistic_floor(many, ClassDistribution.uniform(10)) == pytest.approx(
        math.log(1 + many / 10), rel=1e-6
    )


def test_coefficients_beyond_a_float_are_infinite_and_their_logarithms_are_not() -> None:
    classes = ClassDistribution.uniform(10)
    assert transfer_coefficient(10**6, classes) == math.inf
    assert log_transfer_coefficient(10**6, classes) == pytest.approx(math.log(2) + 10**6 * math.log(10 / 9))


def test_wrong_numbers_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match="at least two classes, got one"):
        transfer_coefficient(1, ClassDistribution.uniform(1))
    for function in (
        transfer_coefficient,
        log_transfer_coefficient,
        covering_rounds,
        logistic_floor,
        hinge_floor,
    ):
        with pytest.raises(ValueError, match="k must be an integer of at least 1, got -3"):
            function(-3, ClassDistribution.uniform(5))
