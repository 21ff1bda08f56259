"""The paper's example: closed forms, bounds and simulation agree, and the losses cross twice."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tammes.theory import TwoRepresentations
from tammes.theory.two_representations import UNCLIPPED

FIGURE_2 = TwoRepresentations(classes=40, epsilon=0.35)
examples = st.builds(
    TwoRepresentations,
    classes=st.integers(2, 100).map(lambda half: 2 * half),
    epsilon=st.floats(0.01, 0.99),
)


@pytest.mark.parametrize(
    ("example", "k"),
    [
        (FIGURE_2, 1),
        (FIGURE_2, 9),
        (FIGURE_2, 10),
        (FIGURE_2, 67),
        (FIGURE_2, 68),
        (TwoRepresentations(classes=4, epsilon=0.1), 3),
        (TwoRepresentations(classes=10, epsilon=0.7), 6),
        (TwoRepresentations(classes=10, epsilon=0.95), 30),
    ],
)
def test_closed_forms_are_what_draws_give(example: TwoRepresentations, k: int) -> None:
    generator = np.random.default_rng(0)
    for simulate, exact in (
        (example.simulate_merging, example.merging_loss(k)),
        (example.simulate_noisy, example.noisy_loss(k)),
    ):
        mean, error = simulate(k, draws=60_000, generator=generator)
        assert abs(mean - exact) < 4 * error
        assert error < 0.01


@given(example=examples, k=st.integers(1, 500))
def test_the_papers_bounds_hold(example: TwoRepresentations, k: int) -> None:
    lower, upper = example.noisy_loss_bounds(k)
    assert lower - 1e-9 <= example.noisy_loss(k) <= upper + 1e-9


def test_both_crossings_of_figure_2() -> None:
    assert FIGURE_2.crossings() == (10, 68)
    better = [FIGURE_2.noisy_loss(k) < FIGURE_2.merging_loss(k) for k in range(1, 1000)]
    assert better == [10 <= k < 68 for k in range(1, 1000)]


def test_simulation_alone_shows_both_crossings() -> None:
    generator = np.random.default_rng(0)
    for k, sign in ((4, 1), (30, -1), (120, 1)):
        merging, merging_error = FIGURE_2.simulate_merging(k, draws=40_000, generator=generator)
        noisy, noisy_error = FIGURE_2.simulate_noisy(k, draws=40_000, generator=generator)
        assert sign * (noisy - merging) > 5 * math.hypot(merging_error, noisy_error)


@given(example=examples)
def test_the_losses_cross_twice_or_never(example: TwoRepresentations) -> None:
    last = math.ceil(3 * example.classes * (3 - math.log(example.epsilon)))
    better = np.array([example.noisy_loss(k) < example.merging_loss(k) for k in range(1, last)])
    changes = np.flatnonzero(np.diff(better.astype(int)))
    crossings = example.crossings()
    if crossings is None:
        assert not better.any()
    else:
        assert better.argmax() + 1 == crossings[0]
        assert changes[-1] + 2 == crossings[1]
        assert len(changes) == 2 or better[0]


def test_crossings_scale_with_the_classes() -> None:
    """Section 3: the first is near 0.05 N for epsilon = 0.1 (0.054 N where N is large)."""
    for number in (400, 4000):
        crossings = TwoRepresentations(classes=number, epsilon=0.1).crossings()
        assert crossings is not None
        assert crossings[0] / number == pytest.approx(0.054, abs=0.002)


def test_the_papers_sufficient_conditions_in_k_over_n_are_sufficient() -> None:
    """The end of appendix C. For Figure 2's epsilon no k/N meets the one for the noisy representation."""
    for epsilon, is_met in ((0.1, True), (0.35, False)):
        example = TwoRepresentations(classes=1000, epsilon=epsilon)
        apart = epsilon**2 / 4 + epsilon / 2
        met = 0
        for k in range(1, 1000):
            x = k / 1000
            if 2 * x <= (1 - x) * apart + x - x**2:
                assert example.merging_loss(k) <= example.noisy_loss(k)
            if 2 * x - 4 * x**2 >= (1 - x + x**2) * apart + x * (1 + epsilon):
                assert example.noisy_loss(k) <= example.merging_loss(k)
                met += 1
        assert (met > 0) == is_met


def test_limits_and_identities() -> None:
    for example in (FIGURE_2, TwoRepresentations(classes=8, epsilon=0.8)):
        assert example.merging_loss(10**6) == pytest.approx(1)
        assert example.noisy_loss(10**6) == pytest.approx(1 + example.epsilon)
        tau = 1 - (1 - 1 / example.classes) ** 5
        share = (example.merging_loss(5) - tau) / (1 - tau)
        assert share == pytest.approx(1 - (1 - 1 / (example.classes - 1)) ** 5)
        assert share <= 5 / (example.classes - 1)
    assert pytest.approx(1) == 2 * UNCLIPPED + 2 * UNCLIPPED**2


def test_the_hinge_is_clipped_in_a_quarter_of_the_cases_without_collision() -> None:
    """Appendix C says three quarters, and gives the right expectation."""
    signs = [(a, b) for a in (-1, 1) for b in (-1, 1)]
    terms = [1 - (1 + 0.35 * a) * (1 + 0.35 * b) for a, b in signs]
    assert sum(term < 0 for term in terms) == 1
    assert np.mean(np.maximum(0, terms)) == pytest.approx(0.35**2 / 4 + 0.35 / 2)


def test_supervised_losses_are_those_of_the_mean_classifiers() -> None:
    number, epsilon = 6, 0.35
    example = TwoRepresentations(classes=number, epsilon=epsilon)
    for f, loss in (
        (np.repeat(np.eye(number // 2), 4, axis=0), example.merging_supervised_loss),
        (
            np.repeat(np.eye(number), 2, axis=0) * np.tile([[1 + epsilon], [1 - epsilon]], (number, 1)),
            example.noisy_supervised_loss,
        ),
    ):
        means = f.reshape(number, 2, -1).mean(axis=1)
        scores, own = f @ means.T, np.repeat(np.arange(number), 2)
        right = scores[np.arange(2 * number), own]
        scores[np.arange(2 * number), own] = -np.inf
        assert np.maximum(0, 1 + scores.max(axis=1) - right).mean() == pytest.approx(loss)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"classes": 41, "epsilon": 0.1}, "must be even, .* got 41"),
        ({"classes": 2, "epsilon": 0.1}, "integer of at least 4, got 2"),
        ({"classes": 4, "epsilon": 0.0}, "epsilon must be a finite number above 0 and below 1, got 0.0"),
        ({"classes": 4, "epsilon": 1.0}, "epsilon must be a finite number above 0 and below 1, got 1.0"),
    ],
)
def test_what_makes_no_example_is_refused(fields: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TwoRepresentations(**fields)


def test_simulations_are_refused_without_draws() -> None:
    generator = np.random.default_rng(0)
    with pytest.raises(ValueError, match="draws must be an integer of at least 2, got 1"):
        FIGURE_2.simulate_noisy(3, draws=1, generator=generator)
    with pytest.raises(ValueError, match="k must be an integer of at least 1, got 0"):
        FIGURE_2.simulate_merging(0, draws=10, generator=generator)
