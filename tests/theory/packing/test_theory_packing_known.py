"""Constructions of proved optima: their distances, their symmetry, and the numbers typed into the table."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tammes.theory import fejes_toth_bound, optimum
from tammes.theory.packing.known import largest_cosine, simplex

FAMILIES = [(count, dim) for dim in range(1, 9) for count in range(2, 2 * dim + 1) if (count, dim) != (4, 2)]


@pytest.mark.parametrize(("count", "dim"), FAMILIES)
def test_up_to_two_d_points_the_simplex_and_the_orthoplex_are_best(count: int, dim: int) -> None:
    known = optimum(count, dim)
    assert known is not None
    assert known.points is not None
    assert known.points.shape == (count, dim)
    np.testing.assert_allclose(np.linalg.norm(known.points, axis=1), 1, atol=1e-12)
    expected = -1 / (count - 1) if count <= dim + 1 else 0
    assert known.cosine == pytest.approx(expected, abs=1e-12)
    assert known.proof == "Rankin (1955)"


def test_lines_and_circles() -> None:
    assert optimum(2, 1).cosine == -1  # type: ignore[union-attr]
    three = optimum(3, 1)
    assert three is not None
    assert (three.cosine, three.proof) == (1, "a line has two ends")
    for count in (4, 5, 100):
        circle = optimum(count, 2)
        assert circle is not None
        assert math.acos(circle.cosine) == pytest.approx(2 * math.pi / count)


@pytest.mark.parametrize(
    ("dim", "count", "cosine", "neighbors"),
    [
        (3, 12, 1 / math.sqrt(5), 5),  # icosahedron
        (3, 24, 0.7230784683335086, 5),  # snub cube
        (4, 10, 1 / 6, 6),  # Petersen code
        (4, 24, 1 / 2, 8),  # 24-cell
        (4, 120, (1 + math.sqrt(5)) / 4, 12),  # 600-cell
        (5, 16, 1 / 5, 10),
        (6, 27, 1 / 4, 16),
        (7, 56, 1 / 3, 27),
        (8, 240, 1 / 2, 56),  # E8
    ],
)
def test_polytopes_have_their_cosine_and_as_many_neighbors_everywhere(
    dim: int, count: int, cosine: float, neighbors: int
) -> None:
    known = optimum(count, dim)
    assert known is not None
    assert known.points is not None
    assert known.points.shape == (count, dim)
    np.testing.assert_allclose(np.linalg.norm(known.points, axis=1), 1, atol=1e-12)
    assert known.cosine == pytest.approx(cosine, abs=1e-12)
    at_it = np.abs(known.points @ known.points.T - known.cosine) < 1e-9
    assert set(at_it.sum(axis=1)) == {neighbors}


def test_eleven_points_are_as_far_apart_as_twelve() -> None:
    assert optimum(11, 3).cosine == pytest.approx(optimum(12, 3).cosine, abs=1e-12)  # type: ignore[union-attr]


def root(function, low: float, high: float) -> float:  # type: ignore[no-untyped-def]
    """A zero between two numbers, by bisection."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if function(low) * function(middle) <= 0 else (middle, high)
    return low


def opposite(cosine: float, angle: float) -> float:
    """The other angle of a rhombus of the sphere whose side has this cosine."""
    return 2 * math.atan(1 / (cosine * math.tan(angle / 2)))


def around_fourteen(angle: float) -> float:
    """Zero where the faces of the contact graph of 14 points close around each point."""
    cosine = math.cos(angle) / (1 - math.cos(angle))
    second = opposite(cosine, math.pi - angle)
    third = 2 * math.pi - 2 * angle - second
    fifth = 2 * math.pi - angle - 2 * opposite(cosine, third)
    return 2 * math.pi - 2 * angle - third - opposite(cosine, fifth)


def test_cosines_on_the_sphere_solve_the_equations_of_their_contact_graphs() -> None:
    def cosine(count: int) -> float:
        known = optimum(count, 3)
        assert known is not None
        assert known.points is None
        return known.cosine

    def polynomial(x: float, *coefficients: int) -> float:
        return float(np.polyval(coefficients, x))

    assert abs(polynomial(cosine(7), 3, -9, -3, 1)) < 1e-14
    assert abs(polynomial(cosine(8), 7, 2, -1)) < 1e-14
    assert cosine(9) == 1 / 3
    # Sugimoto and Tanemura, Exact value of Tammes problem for N = 10, 2015.
    tangent = math.sqrt(4 / math.sqrt(3) * math.cos(math.atan(math.sqrt(3 * 229) / 9) / 3) + 3)
    assert cosine(10) == pytest.approx(math.cos(math.atan(tangent)), abs=1e-15)
    # Musin and Tarasov, The strong thirteen spheres problem, 2012: the angle of an equilateral triangle.
    angle = root(
        lambda a: 2 * math.tan(3 * math.pi / 8 - a / 4) - (1 - 2 * math.cos(a)) / math.cos(a) ** 2, 1.2, 1.22
    )
    assert cosine(13) == pytest.approx(math.cos(angle) / (1 - math.cos(angle)), abs=1e-14)
    angle = root(around_fourteen, 1.2, 1.21)
    assert cosine(14) == pytest.approx(math.cos(angle) / (1 - math.cos(angle)), abs=1e-14)


@pytest.mark.parametrize(("count", "dim"), [(15, 3), (25, 3), (9, 4), (11, 4), (121, 4), (17, 8)])
def test_of_others_nothing_is_claimed(count: int, dim: int) -> None:
    assert optimum(count, dim) is None


def test_the_bound_of_fejes_toth_is_reached_where_triangles_are_equilateral() -> None:
    for count in (3, 4, 6, 12):
        known = optimum(count, 3)
        assert known is not None
        assert fejes_toth_bound(count) == pytest.approx(math.degrees(math.acos(known.cosine)), abs=1e-9)
    for count in (5, 7, 8, 9, 10, 11, 13, 14, 24):
        known = optimum(count, 3)
        assert known is not None
        assert fejes_toth_bound(count) > math.degrees(math.acos(known.cosine)) + 0.5
    with pytest.raises(ValueError, match="count must be an integer of at least 3, got 2"):
        fejes_toth_bound(2)


def test_a_simplex_has_equal_angles_and_a_center_at_zero() -> None:
    for count, dim in itertools.product((2, 3, 6), (5, 9)):
        points = simplex(count, dim)
        expected = (count * np.eye(count) - 1) / (count - 1)
        np.testing.assert_allclose(points @ points.T, expected, atol=1e-12)
        np.testing.assert_allclose(points.sum(axis=0), 0, atol=1e-12)
        assert largest_cosine(points) == pytest.approx(-1 / (count - 1))


@pytest.mark.parametrize(("count", "dim", "name"), [(1, 3, "count"), (0, 3, "count"), (4, 0, "dim")])
def test_fewer_points_than_two_have_no_optimum(count: int, dim: int, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least"):
        optimum(count, dim)
