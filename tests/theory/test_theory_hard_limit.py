"""The limit of hard negatives: it converges, packings minimize it, and where the theorem on it fails."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes import Hard, InfoNCE, Objective, OtherLabels
from tammes.theory import (
    NearestNeighborBound,
    Population,
    hard_loss,
    limit_loss,
    nearest_medoid,
    pack,
    worst_case_loss,
)


def population(
    points: np.ndarray, each: int = 2, *, spread: float = 0.0, temperature: float = 1.0
) -> Population:
    """Classes at the points, `each` embeddings apiece."""
    generator = np.random.default_rng(0)
    rows = np.repeat(points, each, axis=0)
    rows = rows + spread * generator.standard_normal(rows.shape)
    labels = np.repeat(np.arange(len(points)), each)
    return Population(embeddings=rows, labels=labels, temperature=temperature)


def random_population(seed: int, *, classes: int = 4, dim: int = 3, spread: float = 0.5) -> Population:
    generator = np.random.default_rng(seed)
    return population(generator.standard_normal((classes, dim)), 4, spread=spread)


@given(seed=st.integers(0, 10**6), weight=st.floats(0.1, 100))
def test_proposition_1_harder_negatives_raise_the_loss_to_the_worst_case(seed: int, weight: float) -> None:
    them = random_population(seed)
    losses = [hard_loss(them, beta=beta, weight=weight) for beta in (0, 1, 10, 100, 1e4)]
    worst = worst_case_loss(them, weight=weight)
    assert all(low <= high + 1e-12 for low, high in zip(losses, [*losses[1:], worst], strict=True))
    assert losses[-1] == pytest.approx(worst, abs=1e-2)
    assert losses[0] == pytest.approx(them.asymptotic_loss(weight))


def test_no_distribution_of_negatives_is_worse() -> None:
    them = random_population(0)
    generator = np.random.default_rng(1)
    worst = worst_case_loss(them, weight=3.0)
    for _ in range(200):
        weights = np.where(them.same, 0, generator.exponential(size=them.same.shape) ** 4)
        weights /= weights.sum(axis=1, keepdims=True)
        mean = np.log((weights * np.exp(them.logits)).sum(axis=1))
        assert them.mean_loss(math.log(3.0) + mean) <= worst + 1e-12


@given(seed=st.integers(0, 10**6), temperature=st.floats(0.1, 2))
def test_the_limit_loss_is_alignment_and_distance_to_the_nearest_other_class(
    seed: int, temperature: float
) -> None:
    generator = np.random.default_rng(seed)
    them = population(generator.standard_normal((4, 3)), 4, spread=0.5, temperature=temperature)
    squared = ((them.units[:, None] - them.units[None]) ** 2).sum(axis=2)
    aligned = squared[them.same].mean()
    nearest = np.where(them.same, np.inf, squared).min(axis=1).mean()
    assert limit_loss(them) == pytest.approx((aligned - nearest) / (2 * temperature))


@pytest.mark.parametrize(("classes", "dim"), [(3, 2), (4, 3), (5, 3), (6, 3), (7, 2)])
def test_theorem_3_a_solution_of_the_weighted_problem_has_the_least_limit_loss(
    classes: int, dim: int
) -> None:
    best = pack(classes, dim, weights=np.ones(classes), restarts=6)
    least = limit_loss(population(best.points))
    assert least == pytest.approx(-best.mean_squared_distance / 2)
    generator = np.random.default_rng(0)
    for spread in (0.01, 0.3):
        assert limit_loss(population(best.points, 4, spread=spread)) > least
    for _ in range(50):
        assert limit_loss(population(generator.standard_normal((classes, dim)), 3, spread=0.1)) > least


def trained(classes: int, dim: int, *, seed: int) -> Population:
    """Free points, three a class, trained on the limit form of the loss with growing beta."""
    torch.manual_seed(seed)
    labels = torch.arange(classes).repeat(3)
    points = torch.randn(3 * classes, dim, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([points], lr=0.05)
    for step in range(500):
        objective = Objective(
            temperature=0.5,
            coupling=Hard(beta=10 ** (3 * step / 500)),
            selection=OtherLabels(),
            contrast=InfoNCE(limit=True),
        )
        optimizer.param_groups[0]["lr"] = 0.05 * 10 ** (-2.5 * step / 500)
        optimizer.zero_grad()
        # Each row is its own second view; rows of a class are positives.
        objective(points, points, ids=labels, labels=labels).backward()
        optimizer.step()
    return Population(embeddings=points.detach().numpy(), labels=labels.numpy(), temperature=0.5)


@pytest.mark.parametrize(("classes", "dim"), [(4, 3), (6, 3)])
def test_free_points_trained_with_ever_harder_negatives_arrive_at_the_packing(classes: int, dim: int) -> None:
    them = trained(classes, dim, seed=0)
    packing = pack(classes, dim)
    found = nearest_medoid(them)
    assert found.error == 0
    assert found.separation == pytest.approx(packing.distance, rel=0.02)
    spread = math.sqrt(2 - 2 * float((them.units @ them.units.T)[them.same].min()))
    assert spread < 0.1
    assert limit_loss(them) == pytest.approx(-(packing.distance**2) / 2 / 0.5, rel=0.02)


# Theorem 4: the nearest neighbor among one embedding of each class.


@given(seed=st.integers(0, 10**6), classes=st.integers(2, 5), spread=st.floats(0, 0.4))
def test_the_corrected_bounds_hold(seed: int, classes: int, spread: float) -> None:
    generator = np.random.default_rng(seed)
    dim = classes
    simplex = pack(classes, dim).points @ np.linalg.qr(generator.standard_normal((dim, dim))).Q
    noise = (
        spread * generator.standard_normal((4 * classes, dim)) * (generator.random((4 * classes, 1)) < 0.3)
    )
    rows = np.repeat(simplex, 4, axis=0) + noise
    them = Population(embeddings=rows, labels=np.repeat(np.arange(classes), 4), temperature=1.0)
    found = nearest_medoid(them)
    excess = max(0.0, limit_loss(them) + classes / (classes - 1))
    bound = NearestNeighborBound(excess=excess, classes=classes)
    assert found.error <= bound.by_separation(found.separation) + 1e-12
    assert found.error <= bound.simplex + 1e-12
    if bound.simplex < math.inf:
        # Lemma 5 for the simplex: its separation is nearly reached.
        lost = (classes + 1) * (excess + math.sqrt(2 * excess))
        assert found.separation**2 >= 2 * classes / (classes - 1) - lost - 1e-9


@given(seed=st.integers(0, 10**6), classes=st.integers(2, 7))
def test_the_inequality_behind_the_simplex(seed: int, classes: int) -> None:
    """The mean of nearest squared distances is at most 2 C / (C + 1) + 2 / (C + 1) times any of them."""
    generator = np.random.default_rng(seed)
    points = generator.standard_normal((classes, classes))
    points[1] = points[0] + generator.random() * points[1]
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    assert (
        squared.min(axis=1).mean() <= 2 * classes / (classes + 1) + 2 / (classes + 1) * squared.min() + 1e-12
    )


def test_the_theorem_fails_for_six_classes_in_the_plane() -> None:
    """Both solve eq. 3.15; the bound by the hexagon says that the other has no error."""
    angle = 2 * np.pi * np.arange(6) / 6
    hexagon = np.column_stack([np.cos(angle), np.sin(angle)])
    triangle = hexagon[[0, 2, 4, 4, 4, 4]]
    one, other = population(hexagon), population(triangle)
    assert limit_loss(one) == pytest.approx(limit_loss(other), abs=1e-12)
    best = pack(6, 2, weights=np.ones(6), restarts=6)
    assert limit_loss(one) == pytest.approx(-best.mean_squared_distance / 2, abs=1e-9)
    bound = NearestNeighborBound(excess=0.0, classes=6)
    assert bound.printed(1.0) == 0
    assert nearest_medoid(one).error == 0
    assert nearest_medoid(other).error == pytest.approx(4 / 6)
    assert bound.by_separation(nearest_medoid(other).separation) == math.inf


def test_no_gaps_of_six_points_of_a_circle_beat_the_hexagon() -> None:
    """By a grid of gaps: the sum of 2 - 2 cos(smaller gap beside a point) is at most 6."""
    generator = np.random.default_rng(0)
    gaps = generator.dirichlet(np.full(6, 0.5), size=200_000) * 2 * np.pi
    nearest = np.minimum(np.minimum(gaps, np.roll(gaps, 1, axis=1)), np.pi)
    assert (2 - 2 * np.cos(nearest)).sum(axis=1).max() <= 6


def test_what_is_printed_by_hand() -> None:
    bound = NearestNeighborBound(excess=1e-4, classes=3, radius=2.0)
    bracket = 9 - 2 * 3 * 3 * 1e-2
    assert bound.printed(3.0) == pytest.approx(8e-4 / bracket**2)
    assert bound.by_separation(2.0) == pytest.approx(2e-4)
    assert bound.simplex == pytest.approx(8e-4 / (3 * 4 - 4 * (1e-4 + 2 * math.sqrt(2e-4))))
    vacuous = NearestNeighborBound(excess=1.0, classes=3)
    assert (vacuous.printed(1.0), vacuous.simplex, vacuous.by_separation(0.0)) == (math.inf,) * 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"excess": -1.0}, "excess must be a finite number at least 0"),
        ({"classes": 1}, "classes must be an integer of at least 2"),
        ({"radius": 0.0}, "radius must be a finite number above 0"),
    ],
)
def test_numbers_out_of_range_are_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        NearestNeighborBound(**({"excess": 0.1, "classes": 2} | change))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="beta must be a finite number at least 0"):
        hard_loss(random_population(0), beta=-1, weight=1)
    with pytest.raises(ValueError, match="weight must be a finite number above 0"):
        worst_case_loss(random_population(0), weight=0)
    with pytest.raises(ValueError, match="separation must be a finite number at least 0"):
        NearestNeighborBound(excess=0.1, classes=2).printed(-1)
