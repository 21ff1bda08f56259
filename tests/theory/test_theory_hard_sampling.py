"""Rejection draws from the hard distribution exactly, at the price that the formula says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from tammes.theory import acceptance_rate, sample_hard

LOGITS = np.array([-1.0, 0.0, 0.3, 1.2, 2.0, 2.0])


@pytest.mark.parametrize("largest", [None, 3.0])
@pytest.mark.parametrize("beta", [0.0, 0.7, 2.0])
def test_frequencies_are_those_of_q_beta(beta: float, largest: float | None) -> None:
    generator = np.random.default_rng(0)
    drawn = sample_hard(LOGITS, beta=beta, k=30_000, generator=generator, largest=largest)
    weights = np.exp(beta * LOGITS)
    counts = np.bincount(drawn.indices, minlength=len(LOGITS))
    assert chisquare(counts, 30_000 * weights / weights.sum()).pvalue > 1e-3
    rate = acceptance_rate(LOGITS, beta=beta, largest=largest)
    assert 30_000 / drawn.proposals == pytest.approx(rate, rel=0.03)


def test_draws_estimate_what_weights_compute() -> None:
    """E over q_beta of e^{l} = the difference of two log-sum-exps, HCL's statistic."""
    drawn = sample_hard(LOGITS, beta=1.5, k=40_000, generator=np.random.default_rng(1))
    values = np.exp(LOGITS[drawn.indices])
    weighted = np.exp(2.5 * LOGITS).sum() / np.exp(1.5 * LOGITS).sum()
    assert abs(values.mean() - weighted) < 4 * values.std() / math.sqrt(len(values))


def test_hard_draws_cost_more_proposals() -> None:
    rates = [acceptance_rate(LOGITS, beta=beta) for beta in (0, 1, 4, 1000)]
    assert rates[0] == 1
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == pytest.approx(2 / 6)


def test_one_draw_proposes_until_the_first_is_accepted() -> None:
    drawn = sample_hard(LOGITS, beta=0.0, k=1, generator=np.random.default_rng(0))
    assert (len(drawn.indices), drawn.proposals) == (1, 1)


def test_draws_that_would_not_end_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"gave 0 of 1 draws, since about one in .* is accepted"):
        sample_hard(LOGITS, beta=1.0, k=1, generator=np.random.default_rng(0), largest=100.0)


@pytest.mark.parametrize("logits", [np.empty(0), np.array([0.0, math.inf]), np.ones((2, 2))])
def test_what_are_no_logits_is_refused(logits: np.ndarray) -> None:
    with pytest.raises(ValueError, match="expected finite logits"):
        acceptance_rate(logits, beta=1.0)


def test_numbers_out_of_range_are_refused() -> None:
    generator = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"largest must be at least 2, the largest logit, got 1.5"):
        sample_hard(LOGITS, beta=1.0, k=1, generator=generator, largest=1.5)
    with pytest.raises(ValueError, match="beta must be a finite number at least 0"):
        sample_hard(LOGITS, beta=-1.0, k=1, generator=generator)
    with pytest.raises(ValueError, match="k must be an integer of at least 1"):
        sample_hard(LOGITS, beta=1.0, k=0, generator=generator)
