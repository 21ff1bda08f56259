"""Points far apart: proved optima are reached, searches match published tables, and what is claimed holds."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tammes.theory import Packing, fejes_toth_bound, optimum, pack, simplex_is_optimal
from tammes.theory.packing.ascent import _smoothed, random_points, spread
from tammes.theory.packing.polish import polish

SLOANE = {15: 53.6578501, 16: 52.2443957, 17: 51.0903285, 20: 47.4310362, 23: 43.7099642}
"""Angles in degrees of the best known points, from the tables of Sloane et al., rounded there."""


@pytest.mark.parametrize("count", [7, 8, 9, 10, 13, 14])
def test_proved_optima_of_the_sphere_are_reached_by_search(count: int) -> None:
    packing, known = pack(count, 3), optimum(count, 3)
    assert known is not None
    assert packing.certified
    assert packing.proof == known.proof
    assert packing.distance == pytest.approx(math.sqrt(2 - 2 * known.cosine), abs=1e-9)
    assert packing.angle_degrees == pytest.approx(math.degrees(math.acos(known.cosine)), abs=1e-7)


@pytest.mark.parametrize(("count", "contacts"), [(12, 30), (24, 60), (6, 12)])
def test_constructed_optima_have_their_contacts(count: int, contacts: int) -> None:
    packing = pack(count, 3)
    assert packing.certified
    assert len(packing.contacts) == contacts
    assert (packing.contacts[:, 0] < packing.contacts[:, 1]).all()


@pytest.mark.parametrize("count", SLOANE)
def test_searches_match_the_published_table(count: int) -> None:
    packing = pack(count, 3, restarts=24)
    assert not packing.certified
    assert packing.angle_degrees == pytest.approx(SLOANE[count], abs=1e-6)
    assert packing.angle_degrees < fejes_toth_bound(count)


@pytest.mark.slow
def test_a_hundred_points_come_within_a_thousandth_of_the_best_published() -> None:
    packing = pack(100, 3)
    assert packing.angle_degrees > 0.999 * 21.0312020
    assert packing.angle_degrees < fejes_toth_bound(100)


@pytest.mark.parametrize(("count", "dim", "cosine"), [(10, 4, 1 / 6), (16, 5, 1 / 5)])
def test_in_more_dimensions_a_search_finds_what_is_constructed(count: int, dim: int, cosine: float) -> None:
    generator = np.random.default_rng(0)
    rough = [spread(random_points(count, dim, generator), first=2.0) for _ in range(4)]
    found = max(Packing(points=polish(points, radius=0.01)).distance for points in rough)
    assert found == pytest.approx(math.sqrt(2 - 2 * cosine), abs=1e-9)


def test_the_same_generator_gives_the_same_points() -> None:
    one, other = (pack(9, 3, restarts=3, generator=np.random.default_rng(5)).points for _ in range(2))
    assert np.array_equal(one, other)
    assert np.array_equal(pack(9, 3, restarts=3).points, pack(9, 3, restarts=3).points)


def test_a_missed_optimum_is_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tammes.theory.packing.packing.polish", lambda points, **_: points)
    packing = pack(8, 3, restarts=1)
    assert not packing.certified
    assert packing.proof is None


def test_too_many_coordinates_are_not_polished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tammes.theory.packing.packing.MOST_COORDINATES", 10)
    assert 74.5 < pack(8, 3, restarts=3).angle_degrees < 74.8585


@pytest.mark.parametrize("weights", [None, np.array([0.5, 0.2, 0.1, 0.1, 0.1])])
def test_the_smoothed_problem_has_its_derivative_and_its_limit(weights: np.ndarray | None) -> None:
    similarity = np.random.default_rng(0).uniform(-1, 1, (5, 5))
    similarity = (similarity + similarity.T) / 2
    off = ~np.eye(5, dtype=bool)
    value, slope = _smoothed(similarity.copy(), 3.0, weights)
    for i, j in ((0, 1), (3, 2)):
        higher, lower = similarity.copy(), similarity.copy()
        higher[i, j] += 1e-6
        lower[i, j] -= 1e-6
        change = _smoothed(higher, 3.0, weights)[0] - _smoothed(lower, 3.0, weights)[0]
        assert slope[i, j] == pytest.approx(change / 2e-6, abs=1e-8)
    largest = np.where(off, similarity, -np.inf).max(axis=1)
    limit = largest.max() if weights is None else weights @ largest
    assert _smoothed(similarity.copy(), 1e6, weights)[0] == pytest.approx(limit, abs=1e-5)
    assert value > limit


def test_polishing_reaches_the_digits_of_a_float() -> None:
    rough = spread(random_points(9, 3, np.random.default_rng(0)), first=8.0)
    assert Packing(points=rough).distance < math.sqrt(4 / 3) - 1e-5
    assert Packing(points=polish(rough, radius=0.01)).distance == pytest.approx(math.sqrt(4 / 3), abs=1e-12)


# The weighted problem, equation 3.15.


@given(
    shares=st.lists(st.floats(0.01, 1), min_size=2, max_size=6),
    seed=st.integers(0, 10**6),
)
def test_no_points_beat_the_simplex_where_it_is_certified(shares: list[float], seed: int) -> None:
    weights = np.array(shares) / sum(shares)
    count = len(weights)
    generator = np.random.default_rng(seed)
    others = [Packing(points=random_points(count, count, generator), weights=weights) for _ in range(20)]
    best = 2 * count / (count - 1)
    if simplex_is_optimal(weights):
        packing = pack(count, count - 1, weights=shares)
        assert packing.certified
        assert packing.mean_squared_distance == pytest.approx(best)
        assert all(other.mean_squared_distance <= best + 1e-12 for other in others)


@pytest.mark.parametrize("heavy", [0.5, 0.66, 0.68, 0.75, 0.79, 0.81, 0.95])
def test_three_classes_spread_move_together_and_merge(heavy: float) -> None:
    """With weights (w, u, u) the cosine of the first with the others is -w / (8 u) from w = 4 u to 8 u.

    It begins at -1/2, the simplex, and ends at -1, where the two rare classes are one.
    """
    rare = (1 - heavy) / 2
    packing = pack(3, 2, weights=[rare, heavy, rare])
    cosine = max(-1.0, min(-0.5, -heavy / (8 * rare)))
    expected = heavy * (2 - 2 * cosine) + 2 * rare * min(2 - 2 * cosine, 2 - 2 * (2 * cosine**2 - 1))
    assert packing.mean_squared_distance == pytest.approx(expected, abs=1e-9)
    assert packing.certified == (heavy <= 4 * rare)
    assert float(packing.points[0] @ packing.points[1]) == pytest.approx(cosine, abs=1e-5)
    assert packing.nearest_distances[1] == packing.nearest_distances.max()
    assert (packing.distance < 1e-9) == (heavy >= 8 * rare)


def test_equal_weights_are_not_tammes_problem() -> None:
    """Five points of the sphere: one moves away from four, whose smallest distance falls below sqrt(2)."""
    weighted = pack(5, 3, weights=np.ones(5), restarts=12)
    assert not weighted.certified
    assert weighted.mean_squared_distance == pytest.approx(2.025, abs=1e-9)
    assert weighted.distance**2 == pytest.approx(63 / 32, abs=1e-6)
    assert pack(5, 3).distance == pytest.approx(math.sqrt(2))
    assert pack(5, 3).mean_squared_distance == pytest.approx(2)


@pytest.mark.parametrize(("classes", "dim"), [(5, 3), (6, 4), (6, 2), (7, 2), (10, 2), (13, 3)])
def test_the_table_of_mean_distances_in_the_docs(classes: int, dim: int) -> None:
    found = pack(classes, dim), pack(classes, dim, weights=np.ones(classes), restarts=12)
    page = (Path(__file__).parents[3] / "docs/geometry.md").read_text()
    (row,) = re.findall(rf"^\| {classes} \| {dim} \| ([\d.]+) \| ([\d.]+) \|", page, re.MULTILINE)
    for shown, packing in zip(row, found, strict=True):
        digits = len(shown.partition(".")[2])
        assert float(shown) == pytest.approx(packing.mean_squared_distance, abs=0.5001 * 10.0**-digits)


@pytest.mark.parametrize(("classes", "places"), [(5, {5}), (6, {3, 4, 6}), (7, {3, 4})])
def test_in_the_plane_six_classes_may_merge_and_seven_must(classes: int, places: set[int]) -> None:
    packing = pack(classes, 2, weights=np.ones(classes), restarts=6)
    distinct = {tuple(row) for row in np.round(packing.points, 4).tolist()}
    assert len(distinct) in places
    regular = 2 - 2 * math.cos(2 * math.pi / classes)
    assert packing.mean_squared_distance == pytest.approx(max(regular, 6 / classes), abs=1e-9)


def test_on_a_line_the_heaviest_class_stands_alone() -> None:
    packing = pack(4, 1, weights=[1, 1, 3, 1])
    assert packing.certified
    assert packing.points[:, 0].tolist() == [-1, -1, 1, -1]
    assert packing.mean_squared_distance == pytest.approx(4 * 0.5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"count": 1, "dim": 3}, "count must be an integer of at least 2, got 1: one point has no distance"),
        ({"count": 3, "dim": 0}, "dim must be an integer of at least 1, got 0"),
        ({"count": 3.0, "dim": 2}, "count must be an integer"),
        ({"count": 9, "dim": 3, "restarts": 0}, "restarts must be an integer of at least 1, got 0"),
        ({"count": 3, "dim": 2, "weights": [1, 2]}, "a weight for each of 3 points, got 2"),
        ({"count": 2, "dim": 2, "weights": [1, 0]}, "each of weights must be a finite number above 0, got 0"),
        ({"count": 2, "dim": 2, "weights": [1, math.nan]}, "each of weights must be a finite number"),
    ],
)
def test_what_is_no_problem_is_refused(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        pack(**arguments)  # type: ignore[arg-type]
