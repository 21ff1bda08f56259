"""Lemmas 8 to 10 against automatic differentiation, and eq. 4.2 as the maximum over the balls."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cosine_similarity

import tammes
from tammes.theory import cosine_gradient, gradients, normalized_gradients, worst_case_in_balls

T = 0.4
seeds = st.integers(0, 10**6)


def drawn(seed: int, m: int = 6, dim: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return (
        generator.standard_normal(dim),
        generator.standard_normal(dim),
        generator.standard_normal((m, dim)),
    )


def by_autograd(seed: int, *, cosine: bool) -> tuple[np.ndarray, np.ndarray]:
    v, positive, negatives = (torch.tensor(each, requires_grad=True) for each in drawn(seed))
    others = torch.cat([positive[None], negatives])
    logits = cosine_similarity(others, v[None], dim=1) / T if cosine else others @ v / T
    loss = torch.logsumexp(logits, 0) - logits[0]
    return tuple(each.numpy() for each in torch.autograd.grad(loss, (positive, negatives)))  # type: ignore[return-value]


@given(seed=seeds)
def test_lemma_8(seed: int) -> None:
    positive, negatives = by_autograd(seed, cosine=False)
    found = gradients(*drawn(seed), temperature=T)
    np.testing.assert_allclose(found.positive, positive, atol=1e-12)
    np.testing.assert_allclose(found.negatives, negatives, atol=1e-12)
    v = drawn(seed)[0]
    assert found.positive @ v <= 0 <= (found.negatives @ v).min()


@given(seed=seeds)
def test_lemma_9_with_the_sign_of_its_proof(seed: int) -> None:
    positive, negatives = by_autograd(seed, cosine=True)
    found = normalized_gradients(*drawn(seed), temperature=T)
    np.testing.assert_allclose(found.positive, positive, atol=1e-12)
    np.testing.assert_allclose(found.negatives, negatives, atol=1e-12)
    v, plus, minus = drawn(seed)
    unit = v / np.linalg.norm(v)
    for row, gradient, sign in ((plus, found.positive, -1), (minus[0], found.negatives[0], 1)):
        cosine = unit @ row / np.linalg.norm(row)
        direction = sign * (unit - cosine * row / np.linalg.norm(row))
        assert np.linalg.norm(direction) == pytest.approx(np.sqrt(1 - cosine**2))
        np.testing.assert_allclose(gradient / np.linalg.norm(gradient) * np.linalg.norm(direction), direction)


@given(seed=seeds)
def test_lemma_10(seed: int) -> None:
    v, u, _ = drawn(seed)
    vector = torch.tensor(v, requires_grad=True)
    (expected,) = torch.autograd.grad(cosine_similarity(vector, torch.tensor(u), dim=0), vector)
    np.testing.assert_allclose(cosine_gradient(v, u), expected.numpy(), atol=1e-12)
    assert cosine_gradient(v, u) @ v == pytest.approx(0, abs=1e-12)


@given(seed=seeds)
def test_equation_4_2_is_the_maximum_over_the_balls(seed: int) -> None:
    """With a budget for each embedding, and an anchor of any length."""
    v, positive, negatives = drawn(seed)
    generator = np.random.default_rng(seed + 1)
    epsilon, epsilons = generator.uniform(0, 1), generator.uniform(0, 1, len(negatives))
    balls = {"epsilon_positive": epsilon, "epsilons": epsilons}
    worst = worst_case_in_balls(v, positive, negatives, temperature=T, **balls)

    def loss(positive: np.ndarray, negatives: np.ndarray) -> float:
        logits = np.concatenate([[v @ positive], negatives @ v]) / T
        return float(np.logaddexp.reduce(logits) - logits[0])

    unit = v / np.linalg.norm(v)
    assert worst == pytest.approx(loss(positive - epsilon * unit, negatives + epsilons[:, None] * unit))
    for _ in range(50):
        moves = generator.standard_normal((len(negatives) + 1, len(v)))
        moves /= np.linalg.norm(moves, axis=1, keepdims=True)
        assert loss(positive + epsilon * moves[0], negatives + epsilons[:, None] * moves[1:]) <= worst + 1e-12


def test_equation_4_2_is_what_the_objective_computes() -> None:
    a, b = (np.random.default_rng(s).standard_normal((5, 4)) for s in (0, 1))
    rows = np.concatenate([a, b])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    losses = [
        worst_case_in_balls(
            rows[i],
            rows[(i + 5) % 10],
            np.delete(rows, [i, (i + 5) % 10], axis=0),
            temperature=T,
            epsilon_positive=0.2,
            epsilons=0.2,
        )
        for i in range(10)
    ]
    objective = tammes.recipes.ifm(temperature=T, epsilon=0.2, alpha=float("inf"))
    assert objective(torch.tensor(a), torch.tensor(b)).item() == pytest.approx(np.mean(losses))


def test_what_is_refused() -> None:
    v, positive, negatives = drawn(0)
    with pytest.raises(ValueError, match=r"epsilon must be a finite number at least 0, got -0\.1"):
        worst_case_in_balls(v, positive, negatives, temperature=T, epsilon_positive=0.1, epsilons=-0.1)
    with pytest.raises(ValueError, match="vectors of positive length"):
        cosine_gradient(v, 0 * positive)
    with pytest.raises(ValueError, match="negatives must have shape"):
        gradients(v, positive, negatives[:, :2], temperature=T)
