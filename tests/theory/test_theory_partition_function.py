"""The partition function is the integral that it stands for, also where Bessel functions are no floats."""

import math

import numpy as np
import pytest

from tammes.theory import log_partition, sphere_area, uniform_minimum


@pytest.mark.parametrize("dimension", [2, 3, 8, 64])
@pytest.mark.parametrize("concentration", [0.0, 0.3, 1.0, 5.0, 300.0])
def test_the_partition_function_is_the_mean_exponential_times_the_area(
    dimension: int, concentration: float
) -> None:
    # The density of w . z on the sphere is proportional to (1 - t^2)^((k - 3) / 2); t = cos(angle).
    angle = (np.arange(200_000) + 0.5) * np.pi / 200_000
    log_density = (dimension - 2) * np.log(np.sin(angle))
    weights = np.exp(log_density - log_density.max())
    largest = concentration * np.cos(angle)
    mean = (weights * np.exp(largest - concentration)).sum() / weights.sum()
    expected = math.log(mean) + concentration + math.log(sphere_area(dimension))
    assert log_partition(dimension, concentration) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("concentration", [1e6, 1e10, 1e200])
def test_in_three_dimensions_it_is_known_at_any_concentration(concentration: float) -> None:
    exact = concentration + math.log(2 * math.pi) - math.log(concentration)  # 4 pi sinh(kappa) / kappa
    assert log_partition(3, concentration) == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize(
    ("dimension", "concentration"),
    [(2, 1e10), (300, 1.0), (572, 20.0), (5000, 300.0), (10_000, 5000.0), (100_000, 2e4), (100_000, 1e9)],
)
def test_it_lies_between_the_integrals_of_bounds_of_its_derivative(
    dimension: int, concentration: float
) -> None:
    """Of the quotient I_{k/2} / I_{k/2 - 1}, by Amos (1974)."""

    def integral(a: float) -> float:
        root = math.hypot(concentration, a)
        return concentration**2 / (root + a) - a * math.log1p(concentration**2 / (root + a) / (2 * a))

    least, most = integral(dimension / 2), integral((dimension - 1) / 2)
    assert least * (1 - 1e-9) <= uniform_minimum(dimension, 1 / concentration) <= most * (1 + 1e-9)


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="dimension must be an integer of at least 2"):
        log_partition(1, 1.0)
    with pytest.raises(ValueError, match="concentration must be a finite number at least 0"):
        log_partition(3, -1.0)
