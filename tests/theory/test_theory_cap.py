"""Caps and bands of spheres: closed forms, Monte Carlo, and where the paper errs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import betainc

from tammes.theory import (
    band_probability,
    band_probability_bound,
    cap_area,
    cap_probability,
    sphere_area,
)

DIMENSIONS = st.one_of(st.integers(2, 40), st.sampled_from([100, 1000, 30_000]))


def heights(dimension: int, count: int = 40_000) -> np.ndarray:
    """W . z of uniform directions z."""
    z = np.random.default_rng(0).standard_normal((count, dimension))
    return z[:, 0] / np.linalg.norm(z, axis=1)


def printed(dimension: int, angle: float) -> float:
    """A.8 as it stands."""
    return 0.5 * sphere_area(dimension) * betainc((dimension + 1) / 2, 0.5, math.sin(angle) ** 2)


def test_spheres_that_everybody_knows() -> None:
    assert sphere_area(2, radius=3.0) == pytest.approx(6 * math.pi)
    assert sphere_area(3, radius=2.0) == pytest.approx(16 * math.pi)
    assert sphere_area(4) == pytest.approx(2 * math.pi**2)


@given(st.floats(0, math.pi))
def test_caps_that_everybody_knows(angle: float) -> None:
    assert cap_area(2, angle) == pytest.approx(2 * angle)
    assert cap_area(3, angle) == pytest.approx(2 * math.pi * (1 - math.cos(angle)), abs=1e-12)
    half = angle - math.sin(angle) * math.cos(angle)
    assert cap_area(4, angle, radius=2.0) == pytest.approx(8 * 2 * math.pi * half, abs=1e-10)


@pytest.mark.parametrize("dimension", [2, 3, 7, 40, 1000])
@pytest.mark.parametrize("angle", [0.3, 0.78, 0.79, 1.2, 1.57])
def test_caps_and_bands_are_slices_put_together(dimension: int, angle: float) -> None:
    def slices(first: float, last: float) -> float:
        return quad(lambda t: math.sin(t) ** (dimension - 2), first, last, epsabs=0, limit=400)[0]

    middle = slices(angle, math.pi / 2)
    half = slices(0, math.pi / 2)
    assert cap_probability(dimension, angle) == pytest.approx(slices(0, angle) / (2 * half), rel=1e-9)
    assert band_probability(dimension, math.cos(angle)) == pytest.approx(middle / half, rel=1e-9)


@given(DIMENSIONS, st.floats(1e-300, 1e-12))
def test_of_thin_bands_no_digit_is_lost(dimension: int, width: float) -> None:
    density = band_probability(dimension, 1e-12) / 1e-12
    assert band_probability(dimension, width) == pytest.approx(density * width, rel=1e-9, abs=0)


@given(DIMENSIONS, st.floats(0, 1e-3))
def test_next_to_the_plane_a_cap_is_what_half_a_band_leaves(dimension: int, rise: float) -> None:
    expected = 0.5 - band_probability(dimension, math.sin(rise)) / 2
    assert cap_probability(dimension, math.pi / 2 - rise) == pytest.approx(expected, rel=1e-11)


@given(DIMENSIONS, st.floats(0, 2))
def test_bands_have_probabilities(dimension: int, width: float) -> None:
    assert 0 <= band_probability(dimension, width) <= 1


@given(DIMENSIONS, st.floats(0.001, math.pi / 2))
def test_caps_are_the_incomplete_beta_function(dimension: int, angle: float) -> None:
    reference = 0.5 * betainc((dimension - 1) / 2, 0.5, math.sin(angle) ** 2)
    assert cap_probability(dimension, angle) == pytest.approx(reference, rel=1e-9, abs=1e-290)
    assert cap_probability(dimension, math.pi - angle) == pytest.approx(1 - reference)


@given(DIMENSIONS, st.floats(0, 1))
def test_bands_are_what_two_caps_leave(dimension: int, width: float) -> None:
    reference = betainc(0.5, (dimension - 1) / 2, width * width)
    assert band_probability(dimension, width) == pytest.approx(reference, rel=1e-9)
    caps = 2 * cap_probability(dimension, math.acos(width))
    assert band_probability(dimension, width) == pytest.approx(1 - caps, abs=1e-10)
    assert band_probability(dimension, width) <= band_probability_bound(dimension, width) * (1 + 1e-12)


@pytest.mark.parametrize("dimension", [2, 3, 8, 48])
def test_areas_agree_with_monte_carlo_and_the_printed_ones_do_not(dimension: int) -> None:
    height = heights(dimension)
    angle = math.acos(0.8 / math.sqrt(dimension))
    share = float((height >= math.cos(angle)).mean())
    error = math.sqrt(share * (1 - share) / len(height))
    assert abs(cap_probability(dimension, angle) - share) < 4 * error
    assert abs(printed(dimension, angle) / sphere_area(dimension) - share) > 3 * error


def test_the_printed_area_is_wrong_on_the_ordinary_sphere() -> None:
    right = 2 * math.pi * (1 - math.cos(math.pi / 3))
    assert cap_area(3, math.pi / 3) == pytest.approx(right)
    assert printed(3, math.pi / 3) == pytest.approx(1.963, abs=1e-3)
    assert right == pytest.approx(3.142, abs=1e-3)


@pytest.mark.parametrize("dimension", [8, 48])
@pytest.mark.parametrize("width", [0.02, 0.1, 0.3])
def test_the_acceptance_region_is_larger_than_the_printed_bound(dimension: int, width: float) -> None:
    height = heights(dimension)
    share = float((np.abs(height) <= width).mean())
    error = math.sqrt(share * (1 - share) / len(height))
    assert abs(band_probability(dimension, width) - share) < 4 * error
    assert share - 4 * error > width * math.sqrt(dimension) / (2 * math.pi), "what the paper prints"
    assert share - 4 * error < band_probability_bound(dimension, width)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cap_probability(1, 0.5), "dimension must be an integer of at least 2"),
        (lambda: cap_probability(3, 4.0), "from 0 to pi, in radians"),
        (lambda: cap_area(3, math.nan), "from 0 to pi"),
        (lambda: sphere_area(3, radius=0.0), "radius must be a finite number above 0"),
        (lambda: sphere_area(1000, radius=1e10), "more than a float can hold"),
        (lambda: band_probability(3, -0.1), "half_width must be 0 or more"),
        (lambda: band_probability_bound(3, math.nan), "half_width must be 0 or more"),
    ],
)
def test_what_makes_no_sense_is_refused(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()  # type: ignore[operator]
