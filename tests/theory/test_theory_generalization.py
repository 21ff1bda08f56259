"""Contraction of vector-valued functions, and the generalization of the NCE loss."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tammes.theory import contraction, erm_excess, generalization, simulated_contraction, uniform_deviation


def test_a_projection_on_one_coordinate_has_its_complexity() -> None:
    values = np.random.default_rng(0).standard_normal((30, 40, 3))
    found = contraction(
        values, values[:, :, 1], lipschitz=1.0, draws=4000, generator=np.random.default_rng(1)
    )
    assert found.composed[0] == pytest.approx(found.coordinates[1], rel=0.05)
    assert found.bound == pytest.approx(math.sqrt(3) * max(found.coordinates))
    assert found.ratio == pytest.approx(found.composed[0] / found.bound)
    constant = contraction(
        np.zeros((2, 5, 2)), np.zeros((2, 5)), lipschitz=1.0, draws=10, generator=np.random.default_rng(1)
    )
    assert constant.ratio == 0


@pytest.mark.parametrize("k", [1, 4, 16])
def test_theorem_7_holds_for_the_nce_loss_of_random_encoders(k: int) -> None:
    found = simulated_contraction(
        k, samples=40, dim=3, functions=30, draws=300, generator=np.random.default_rng(k)
    )
    assert len(found.coordinates) == 3 * (k + 2)
    assert found.composed[0] + 3 * found.composed[1] < found.bound


def test_the_nce_loss_has_the_lipschitz_constant_of_the_proof() -> None:
    generator = np.random.default_rng(0)
    for _ in range(200):
        w, z = generator.standard_normal((2, 6, 3))
        largest = max(np.abs(w).sum(axis=1).max(), np.abs(z).sum(axis=1).max())

        def phi(rows: np.ndarray) -> float:
            return max(0.0, 1 + float((rows[2:] @ rows[0]).max() - rows[0] @ rows[1]))

        assert abs(phi(w) - phi(z)) <= 4 * largest * np.abs(w - z).max() + 1e-12


def test_gen_falls_like_one_over_the_root_of_the_samples() -> None:
    generator = np.random.default_rng(0)
    few, many = (
        generalization(generator.standard_normal((30, m, 2)).clip(-1, 1), draws=400, generator=generator)
        for m in (100, 10_000)
    )
    assert few / many == pytest.approx(10, rel=0.2)


def test_the_excess_grows_like_the_root_of_the_negatives() -> None:
    rest = uniform_deviation(0.0, samples=1000, delta=0.1)
    few, many = (erm_excess(k, 0.1, samples=1000, delta=0.1) - rest for k in (2, 14))
    assert many == pytest.approx(2 * few)


def test_wrong_numbers_are_refused() -> None:
    generator = np.random.default_rng(0)
    with pytest.raises(ValueError, match="lipschitz must be"):
        contraction(np.zeros((2, 3, 1)), np.zeros((2, 3)), lipschitz=0, draws=2, generator=generator)
    with pytest.raises(ValueError, match="composed, one value for each function and sample"):
        contraction(np.zeros((2, 3, 1)), np.zeros((2, 4)), lipschitz=1, draws=2, generator=generator)
    with pytest.raises(ValueError, match="k must be"):
        erm_excess(0, 0.1, samples=10, delta=0.1)
    with pytest.raises(ValueError, match="gen must be"):
        erm_excess(1, -0.1, samples=10, delta=0.1)
