"""Propositions 2 to 4: encoders that suppress a feature reach the minimum, and what all minimizers share."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, special

from tammes.theory import (
    blend,
    conditional_distance,
    limit_of_infonce,
    one_feature,
    sample_latents,
    share_features,
    uniform_minimum,
)
from tammes.theory.feature_suppression import Latents, SphereEncoder

DIM, T = 3, 0.5


def random() -> np.random.Generator:
    return np.random.default_rng(0)


def measured(encoder: SphereEncoder) -> float:
    generator = random()
    points, others = (
        sample_latents(count, features=2, dim=DIM, generator=generator) for count in (2000, 3000)
    )
    rows = encoder(points)
    return limit_of_infonce(rows, rows, encoder(others), temperature=T)


def conditioned(encoder: SphereEncoder, shared: list[int]) -> float:
    generator, n, m = random(), 800, 500
    points = sample_latents(n, features=2, dim=DIM, generator=generator)
    rows = encoder(points)
    negatives = encoder(share_features(points, shared, m, generator)).reshape(n, m, DIM)
    return limit_of_infonce(rows, rows, negatives, temperature=T)


def distance(encoder: SphereEncoder, feature: int) -> float:
    return conditional_distance(
        encoder, [feature], features=2, dim=DIM, values=12, count=100, generator=random()
    )


@pytest.mark.parametrize("dim", [2, 3, 5, 128, 512, 2048])
@pytest.mark.parametrize("temperature", [0.05, 0.5, 5.0])
def test_the_minimum_is_the_integral_over_the_sphere(dim: int, temperature: float) -> None:
    """The cosine c of a uniform vector has the density (1 - c^2)^{(d - 3) / 2} / B((d - 1) / 2, 1 / 2)."""

    def integrand(angle: float) -> float:  # over the angle: the density is singular at 1 for d = 2
        return math.sin(angle) ** (dim - 2) * math.exp((math.cos(angle) - 1) / temperature)

    mean = integrate.quad(integrand, 0, math.pi, epsabs=0, limit=200)[0] / special.beta((dim - 1) / 2, 0.5)
    assert uniform_minimum(dim, temperature) == pytest.approx(math.log(mean) + 1 / temperature, abs=1e-9)


@pytest.mark.parametrize("feature", [0, 1])
def test_proposition_2_each_feature_alone_reaches_the_minimum(feature: int) -> None:
    """f_k suppresses the other feature, distinguishes its own, and its loss is the minimum either way."""
    encoder = one_feature(feature)
    assert measured(encoder) == pytest.approx(uniform_minimum(DIM, T), abs=0.01)
    assert distance(encoder, 1 - feature) == pytest.approx(0, abs=0.02)
    assert distance(encoder, feature) > 2.0  # 2 E|z - w| = 8/3 on the sphere of dimension 2


def test_an_encoder_may_reach_the_minimum_with_both_features() -> None:
    encoder = blend([1.0, 1.0])
    assert measured(encoder) == pytest.approx(uniform_minimum(DIM, T), abs=0.01)
    assert min(distance(encoder, 0), distance(encoder, 1)) > 0.1


@pytest.mark.parametrize("scale", [0.9, 0.5])
def test_embeddings_that_are_not_uniform_are_above_the_minimum(scale: float) -> None:
    def squeezed(latents: Latents) -> np.ndarray:
        rows = latents[:, 0] * np.array([1.0, 1.0, scale**4])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    assert measured(squeezed) > uniform_minimum(DIM, T) + 0.01


def test_propositions_3_and_4_minimizers_suppress_what_is_shared() -> None:
    """With feature 0 held, the loss grows with its weight: from the minimum at none to a collapse, 1/t."""
    weights = [0.0, 0.5, 1.0]
    losses = [conditioned(blend([weight, 1 - weight]), [0]) for weight in weights]
    assert losses[0] == pytest.approx(uniform_minimum(DIM, T), abs=0.01)
    assert all(low < high - 0.01 for low, high in pairwise(losses))
    assert losses[-1] == pytest.approx(1 / T)
    distances = [distance(blend([weight, 1 - weight]), 0) for weight in weights]
    assert distances[0] == pytest.approx(0, abs=0.02)
    assert all(low < high for low, high in pairwise(distances))


def test_a_minimizer_may_read_what_it_suppresses() -> None:
    """Suppression is of distributions: reflecting z^1 by z^0 leaves it uniform whatever z^0."""

    def reflected(latents: Latents) -> np.ndarray:
        first, second = latents[:, 0], latents[:, 1]
        return second - 2 * (first * second).sum(1, keepdims=True) * first

    assert conditioned(reflected, [0]) == pytest.approx(uniform_minimum(DIM, T), abs=0.01)
    assert distance(reflected, 0) == pytest.approx(0, abs=0.02)
    z = sample_latents(1, features=2, dim=DIM, generator=random())
    other = share_features(z, [1], 1, np.random.default_rng(1))
    assert not np.allclose(reflected(z), reflected(other))


def test_the_constant_of_the_limit() -> None:
    """L_m - log m + 1/t tends to L: the text's -2/t would leave the two sides 3/t apart."""
    generator, m = random(), 2000
    points, others = (sample_latents(n, features=1, dim=DIM, generator=generator)[:, 0] for n in (500, m))
    moved = points + 0.1 * generator.standard_normal(points.shape)
    positives = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    plus, minus = (points * positives).sum(1) / T, positives @ others.T / T
    loss = (np.logaddexp(plus, special.logsumexp(minus, axis=1)) - plus).mean()
    limit = limit_of_infonce(points, positives, others, temperature=T)
    assert loss - math.log(m) + 1 / T == pytest.approx(limit, abs=0.01)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="feature must be from 0 to 1, got 2"):
        one_feature(2)(sample_latents(1, features=2, dim=DIM, generator=random()))
    with pytest.raises(ValueError, match="shared must be from 0 to 1"):
        share_features(sample_latents(1, features=2, dim=DIM, generator=random()), [2], 1, random())
    with pytest.raises(ValueError, match="dim must be an integer of at least 2"):
        uniform_minimum(1, 0.5)
    with pytest.raises(ValueError, match=r"a weight other than 0, got \(0\.0, 0\.0\)"):
        blend([0.0, 0.0])
    with pytest.raises(ValueError, match="latents, with a weight for each feature, must have shape"):
        blend([1.0])(sample_latents(1, features=2, dim=DIM, generator=random()))
