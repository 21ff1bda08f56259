"""The lemmas that the bounds rest on, tried on what they speak of; see docs/theory.md."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tammes.theory import ClassDistribution, collision_probability

values = st.lists(st.floats(-20, 20), min_size=1, max_size=6)


def hinge(v: np.ndarray) -> np.ndarray:
    return np.maximum(0, 1 + (-v).max(axis=-1))


def logistic(v: np.ndarray) -> np.ndarray:
    return np.log1p(np.exp(-v).sum(axis=-1))


LOSSES = pytest.mark.parametrize("loss", [hinge, logistic])


@LOSSES
@given(first=values, second=values)
def test_lemma_1_losses_are_subadditive(loss, first: list[float], second: list[float]) -> None:
    one, two = np.array(first), np.array(second)
    whole = loss(np.concatenate([one, two]))
    assert loss(one) <= whole + 1e-9
    assert whole <= loss(one) + loss(two) + 1e-9


@LOSSES
@given(pairs=st.lists(st.tuples(st.floats(-20, 20), st.floats(-20, 20)), min_size=1, max_size=6))
def test_lemma_3_losses_differ_by_at_most_their_arguments(loss, pairs: list[tuple[float, float]]) -> None:
    v, w = np.array(pairs).T
    assert loss(v) - loss(w) <= abs((w - v).max()) + 1e-9


@pytest.mark.parametrize("rho", [0.05, 0.4])
def test_the_number_of_collisions_given_one(rho: float) -> None:
    """B.2, (a): E[|I| | I not empty, c] = k rho / tau_k(c)."""
    k = 12
    hits = np.random.default_rng(0).binomial(k, rho, size=200_000)
    hits = hits[hits > 0]
    tau = 1 - (1 - rho) ** k
    assert abs(hits.mean() - k * rho / tau) < 4 * hits.std() / np.sqrt(len(hits))
    assert collision_probability(k, ClassDistribution(probabilities=(rho, 1 - rho))) == pytest.approx(
        rho * tau + (1 - rho) * (1 - rho**k)
    )


@LOSSES
@pytest.mark.parametrize("t", [1, 3, 20])
@pytest.mark.parametrize("shape", ["two points", "skewed", "normal"])
def test_lemma_5_holds_with_half_the_variance(loss, t: int, shape: str) -> None:
    """In one dimension: E[l(t collisions) - l_t(0)] <= sqrt(t/2) E|f| sd(f), below the lemma's sqrt(t).

    The last step of its proof takes the variance of f(x-) - f(x+) for that of f, which is half of it: the
    step does not hold, the statement does.
    """
    generator = np.random.default_rng(0)
    draws = 100_000
    f = {
        "two points": lambda size: 3.0 * generator.choice([-1, 1], size=size) + 1,
        "skewed": lambda size: np.where(generator.random(size) < 0.1, 4.0, -0.3),
        "normal": lambda size: 2 * generator.standard_normal(size) + 0.5,
    }[shape]
    x, positive, negatives = f(draws), f(draws), f((draws, t))
    excess = loss(x[:, None] * (positive[:, None] - negatives)) - loss(np.zeros(t))
    bound = np.sqrt(t / 2) * np.abs(x).mean() * x.std()
    assert excess.mean() <= bound + 4 * excess.std() / np.sqrt(draws)
    difference = f(draws) - f(draws)
    assert difference.var() == pytest.approx(2 * x.var(), rel=0.05)
