"""Debiasing: exact where something is left, the floor where nothing is."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tammes


@given(a=st.floats(-200, 200), b=st.floats(-200, 200), prior=st.floats(1e-6, 0.95), floor=st.floats(-300, 0))
def test_the_logarithm_is_that_of_the_formula(a: float, b: float, prior: float, floor: float) -> None:
    """Against exact arithmetic in 200 digits, also where e^a overflows or the difference cancels."""
    from decimal import Decimal, getcontext

    getcontext().prec = 200
    correct = tammes.Debias(class_prior=prior)
    number, on_floor = correct(
        torch.tensor([a], dtype=torch.float64),
        torch.tensor([b], dtype=torch.float64),
        floor,
        log_domain=True,
    )
    left = (Decimal(a).exp() - Decimal(prior) * Decimal(b).exp()) / (1 - Decimal(prior))
    expected = max(float(left.ln()) if left > 0 else -math.inf, floor)
    # Near cancellation the logarithm of the rounded prior differs; that is no error of the formula.
    nearness = abs(a - b - math.log(prior))
    if nearness > 1e-9:
        assert math.isclose(float(number), expected, rel_tol=1e-9, abs_tol=1e-12 / min(1.0, nearness))
    assert bool(on_floor) == (float(number) == floor)


@given(prior=st.floats(0.01, 0.9), a=st.floats(-3, 3), b=st.floats(-3, 3))
def test_gradients_are_finite_and_vanish_on_the_floor(prior: float, a: float, b: float) -> None:
    negatives = torch.tensor([a], dtype=torch.float64, requires_grad=True)
    positives = torch.tensor([b], dtype=torch.float64, requires_grad=True)
    number, on_floor = tammes.Debias(class_prior=prior)(negatives, positives, -2.0, log_domain=True)
    gradients = torch.autograd.grad(number.sum(), (negatives, positives))
    for gradient in gradients:
        assert bool(torch.isfinite(gradient))
        assert bool((gradient == 0) | ~on_floor)


def test_a_plain_mean_is_corrected_linearly() -> None:
    number, on_floor = tammes.Debias(class_prior=0.2)(
        torch.tensor([1.0, -1.0]), torch.tensor([2.0, 2.0]), -1.5, log_domain=False
    )
    torch.testing.assert_close(number, torch.tensor([0.75, -1.5]))
    assert on_floor.tolist() == [False, True]


@pytest.mark.parametrize("prior", [-0.1, 1.0, 1.5, math.nan])
def test_prior_must_be_a_probability(prior: float) -> None:
    with pytest.raises(ValueError, match=r"class_prior must be a probability in \[0, 1\)"):
        tammes.Debias(class_prior=prior)


@pytest.mark.parametrize("least", [1.0, 2.0, math.nan])
def test_least_similarity_must_lie_below_one(least: float) -> None:
    with pytest.raises(ValueError, match="least_similarity must lie below 1"):
        tammes.Debias(class_prior=0.1, least_similarity=least)


def test_the_floor_of_the_softplus_has_the_digits_of_float64() -> None:
    """All rows equal, so that the correction is on its floor at similarity 1 / 2."""
    views = torch.ones(4, 3, dtype=torch.float64), torch.ones(4, 3, dtype=torch.float64)
    correction = tammes.Debias(class_prior=0.5, least_similarity=0.999)
    views[0][:2] *= -1
    views[1][:2] *= -1
    loss = tammes.Objective(temperature=0.3, contrast=tammes.Softplus(), correction=correction)(*views)
    expected = math.log1p(math.exp(-1 / 0.3)) + math.log1p(math.exp(0.999 / 0.3))
    assert abs(float(loss) - expected) < 1e-14
