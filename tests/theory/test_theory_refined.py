"""The refined bound by simulation: collisions, intra-class deviation, and generalization."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tammes.theory import (
    ClassDistribution,
    RefinedBound,
    TwoRepresentations,
    collision_probability,
    hinge,
    hinge_floor,
    intra_class_deviation,
    logistic,
    logistic_floor,
    mean_classifier_risk,
    rademacher_complexity,
    simulate_nce,
    uniform_deviation,
)

LOSSES = pytest.mark.parametrize("loss", [hinge, logistic])


def classes(
    *, number: int = 5, each: int = 4, spread: float = 0.3, length: float = 2.0, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Raw embeddings around the axes of a space, one for each class."""
    generator = np.random.default_rng(seed)
    centers = length * np.repeat(np.eye(number), each, axis=0)
    return centers + spread * generator.standard_normal(centers.shape), np.repeat(np.arange(number), each)


@LOSSES
def test_losses_leave_out_infinite_margins(loss) -> None:  # type: ignore[no-untyped-def]
    margins = np.array([[0.3, -1.0, np.inf], [np.inf, np.inf, np.inf]])
    assert loss(margins)[0] == pytest.approx(float(loss(margins[0, :2])))
    assert loss(margins)[1] == 0


def test_deviation_is_its_definition() -> None:
    rows, labels = classes(number=3, each=6)
    total = 0.0
    for c in range(3):
        own = rows[labels == c]
        covariance = np.cov(own.T, bias=True)
        total += np.linalg.norm(own, axis=1).mean() * math.sqrt(np.linalg.eigvalsh(covariance)[-1]) / 3
    assert intra_class_deviation(rows, labels) == pytest.approx(total)
    assert intra_class_deviation(np.repeat(np.eye(3), 2, axis=0), np.repeat(np.arange(3), 2)) == 0


@LOSSES
@pytest.mark.parametrize("k", [1, 4, 20])
@pytest.mark.parametrize("spread", [0.0, 0.3, 1.5])
def test_theorem_6_bounds_the_excess_and_the_supervised_loss(loss, k: int, spread: float) -> None:  # type: ignore[no-untyped-def]
    rows, labels = classes(spread=spread)
    rho = ClassDistribution.of_labels(labels.tolist())
    losses = simulate_nce(rows, labels, k, loss=loss, draws=20_000, generator=np.random.default_rng(k))
    nce, error = losses.all_negatives
    bound = RefinedBound(
        k=k,
        classes=rho,
        without_collisions=losses.without_collisions[0],
        deviation=intra_class_deviation(rows, labels),
    )
    floor = hinge_floor(k, rho) if loss is hinge else logistic_floor(k, rho)
    assert nce - floor <= bound.excess + 4 * error
    assert mean_classifier_risk(rows, labels, loss=loss) <= bound.value + 1e-9
    assert losses.without_collisions[0] <= nce + 4 * error


def test_without_collisions_is_the_loss_where_there_are_none() -> None:
    rows, labels = classes(number=400, each=1, spread=0.0)
    found = simulate_nce(rows, labels, 1, loss=logistic, draws=4000, generator=np.random.default_rng(0))
    assert found.all_negatives[0] == pytest.approx(found.without_collisions[0], abs=0.02)


def test_the_simulation_agrees_with_the_closed_form_of_the_example() -> None:
    """Figure 2's merging representation: classes 2i and 2i + 1 at one basis vector."""
    example = TwoRepresentations(classes=10, epsilon=0.35)
    rows = np.repeat(np.eye(5), 4, axis=0)
    labels = np.repeat(np.arange(10), 2)
    found = simulate_nce(rows, labels, 3, loss=hinge, draws=20_000, generator=np.random.default_rng(0))
    assert abs(found.all_negatives[0] - example.merging_loss(3)) < 4 * found.all_negatives[1]
    # A twin costs 1 without a collision, too; what is left out are the collisions.
    twin = collision_probability(3, ClassDistribution.uniform(10))
    assert abs(found.without_collisions[0] - twin) < 4 * found.without_collisions[1]
    assert mean_classifier_risk(rows, labels, loss=hinge) == example.merging_supervised_loss


@given(seed=st.integers(0, 10**6), k=st.integers(1, 5), d=st.integers(1, 4))
def test_the_loss_has_the_lipschitz_constant_of_theorem_9(seed: int, k: int, d: int) -> None:
    """|phi(Z) - phi(W)| <= 4 B max |Z - W|, with B the largest l1 length of a row."""
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((k + 2, d))
    w = z + generator.standard_normal((k + 2, d)) * generator.choice([1e-3, 0.3, 2])
    largest = max(np.abs(z).sum(axis=1).max(), np.abs(w).sum(axis=1).max())

    for loss in (hinge, logistic):
        values = [float(loss(rows[0] @ (rows[1] - rows[2:]).T)) for rows in (z, w)]
        assert abs(values[0] - values[1]) <= 4 * largest * np.abs(z - w).max() + 1e-9


def test_the_bound_of_the_trained_encoder_grows_with_every_part() -> None:
    rho = ClassDistribution.uniform(10)
    base = RefinedBound(k=4, classes=rho, without_collisions=0.1, deviation=0.2)
    trained = RefinedBound(k=4, classes=rho, without_collisions=0.1, deviation=0.2, generalization=0.05)
    assert base.excess == pytest.approx(0.1 + math.sqrt(0.4) * 0.2)
    assert trained.excess == pytest.approx(base.excess + 0.1)
    assert trained.value / trained.excess == pytest.approx(base.value / base.excess)


@pytest.mark.parametrize(("loss", "value"), [(0.0, 0.0), (0.1, math.inf)])
def test_a_transfer_coefficient_beyond_a_float_leaves_a_bound_of_zero_or_infinity(
    loss: float, value: float
) -> None:
    rho = ClassDistribution.uniform(10)
    assert RefinedBound(k=10_000, classes=rho, without_collisions=loss, deviation=0.0).value == value


def test_theorem_8_holds_for_thresholds_and_needs_its_factor() -> None:
    """Functions 1[x <= t] of a uniform x, for a grid of t: their means against t, 400 times."""
    generator = np.random.default_rng(0)
    thresholds = np.linspace(0, 1, 51)
    failures = 0
    for _ in range(400):
        x = generator.random(50)
        values = (x[None, :] <= thresholds[:, None]).astype(float)
        complexity, _ = rademacher_complexity(values, draws=200, generator=generator)
        off = float((thresholds - values.mean(axis=1)).max())
        failures += off > uniform_deviation(complexity, samples=50, delta=0.1)
    assert failures / 400 < 0.1
    # All functions with values -1 and 1: complexity 1, and one is 2 off however many samples there are.
    assert uniform_deviation(1.0, samples=10**6, delta=0.05, largest=2.0) >= 2 > 1 + 0.1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"k": 0}, "k must be an integer of at least 1"),
        ({"without_collisions": -1.0}, "without_collisions must be"),
        ({"deviation": -1.0}, "deviation must be"),
        ({"generalization": -1.0}, "generalization must be"),
    ],
)
def test_numbers_out_of_range_are_refused(change: dict[str, object], words: str) -> None:
    fields = {"k": 1, "classes": ClassDistribution.uniform(3), "without_collisions": 0.0, "deviation": 0.0}
    with pytest.raises(ValueError, match=words):
        RefinedBound(**(fields | change))  # type: ignore[arg-type]
    rows, labels = classes()
    with pytest.raises(ValueError, match="draws must be an integer of at least 2"):
        simulate_nce(rows, labels, 1, loss=hinge, draws=1, generator=np.random.default_rng(0))
    for measure in (
        intra_class_deviation,
        lambda rows, labels: mean_classifier_risk(rows, labels, loss=hinge),
    ):
        with pytest.raises(ValueError, match="labels, one for each embedding"):
            measure(rows, labels[1:])
    with pytest.raises(ValueError, match="delta must be"):
        uniform_deviation(0.1, samples=1, delta=0)
