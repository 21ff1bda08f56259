"""Collision probabilities against drawing, against each other, and at their limits."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tammes.theory import (
    ClassDistribution,
    collision_probability,
    collision_probability_in_batch,
    coverage,
    negatives_until_collision,
)

UNEVEN = ClassDistribution(probabilities=(0.4, 0.25, 0.1, 0.05), repeats=(1, 1, 3, 1))
DRAWS = 40_000

counts = st.lists(st.integers(1, 50), min_size=2, max_size=12)


def draw(classes: ClassDistribution, size: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    each = np.repeat(classes.rho, classes.sizes)
    return generator.choice(len(each), size=size, p=each / each.sum())


def agrees(hits: np.ndarray, probability: float) -> bool:
    """Whether a share of hits is within four of its standard errors."""
    return abs(hits.mean() - probability) < 4 * np.sqrt(probability * (1 - probability) / len(hits)) + 1e-12


@pytest.mark.parametrize("classes", [ClassDistribution.uniform(20), UNEVEN], ids=["uniform", "uneven"])
@pytest.mark.parametrize("k", [1, 5, 30])
def test_collisions_and_coverage_are_those_of_draws(classes: ClassDistribution, k: int) -> None:
    generator = np.random.default_rng(0)
    anchor = draw(classes, (DRAWS,), generator)
    negatives = draw(classes, (DRAWS, k), generator)
    assert agrees((negatives == anchor[:, None]).any(axis=1), collision_probability(k, classes))
    seen = np.zeros((DRAWS, classes.number), dtype=bool)
    np.put_along_axis(seen, negatives, True, axis=1)
    share = seen.mean(axis=1)
    assert abs(share.mean() - coverage(k, classes)) <= 4 * share.std() / np.sqrt(DRAWS) + 1e-12


@pytest.mark.parametrize("classes", [ClassDistribution.uniform(20), UNEVEN], ids=["uniform", "uneven"])
@pytest.mark.parametrize(("k", "pairs"), [(1, 2), (3, 10), (9, 10), (18, 10), (11, 30)])
def test_collisions_in_a_batch_are_those_of_pairs_drawn_without_replacement(
    classes: ClassDistribution, k: int, pairs: int
) -> None:
    generator = np.random.default_rng(1)
    labels = draw(classes, (DRAWS, pairs), generator)
    views = np.repeat(labels[:, 1:], 2, axis=1)  # both views of each other pair
    chosen = generator.permuted(np.broadcast_to(np.arange(views.shape[1]), views.shape), axis=1)[:, :k]
    hit = (np.take_along_axis(views, chosen, axis=1) == labels[:, :1]).any(axis=1)
    assert agrees(hit, collision_probability_in_batch(k, classes, pairs=pairs))


@given(counts=counts, pairs=st.integers(2, 40))
def test_all_of_a_batch_collide_like_half_as_many_independent_draws(counts: list[int], pairs: int) -> None:
    classes = ClassDistribution.of_counts(counts)
    every = collision_probability_in_batch(2 * (pairs - 1), classes, pairs=pairs)
    assert every == pytest.approx(collision_probability(pairs - 1, classes), abs=1e-12)


@given(counts=counts, k=st.integers(1, 100))
def test_a_subset_of_a_large_batch_collides_like_independent_draws(counts: list[int], k: int) -> None:
    classes = ClassDistribution.of_counts(counts)
    batch = collision_probability_in_batch(k, classes, pairs=20_000)
    assert batch <= collision_probability(k, classes) + 1e-12
    assert batch == pytest.approx(collision_probability(k, classes), abs=k**2 / 40_000)


@example(counts=[23, 30, 30, 30], k=164)  # rounded above 1, once
@given(counts=counts, k=st.integers(1, 1000))
def test_more_negatives_collide_and_cover_more(counts: list[int], k: int) -> None:
    classes = ClassDistribution.of_counts(counts)
    for share in (collision_probability, coverage):
        assert 0 < share(k, classes) <= share(k + 1, classes) <= 1
    # Jensen: of all distributions over N classes the uniform one has the fewest pairs of one class.
    assert collision_probability(1, classes) >= 1 / len(counts) - 1e-12
    assert collision_probability(1, classes) == pytest.approx(classes.class_prior)


def test_limits_of_the_collision_probability() -> None:
    assert collision_probability(3, ClassDistribution.uniform(1)) == 1
    assert collision_probability(10**9, ClassDistribution.uniform(10)) == 1
    # 1 - (1 - 1/N)^k would lose nine digits here.
    assert collision_probability(1, ClassDistribution.uniform(10**9)) == pytest.approx(1e-9, rel=1e-12)


@given(counts=counts, share=st.floats(0.01, 0.99))
def test_the_least_k_that_collides_is_the_least(counts: list[int], share: float) -> None:
    classes = ClassDistribution.of_counts(counts)
    k = negatives_until_collision(share, classes)
    assert collision_probability(k, classes) >= share
    assert k == 1 or collision_probability(k - 1, classes) < share


def test_wrong_numbers_are_refused_in_words() -> None:
    classes = ClassDistribution.uniform(10)
    for function in (collision_probability, coverage):
        with pytest.raises(ValueError, match="k must be an integer of at least 1, got 0"):
            function(0, classes)
        with pytest.raises(ValueError, match=r"got 1\.5"):
            function(1.5, classes)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="share must be a finite number above 0 and below 1, got 1"):
        negatives_until_collision(1, classes)
    with pytest.raises(ValueError, match=r"has 2 \(B - 1\) = 6 negatives for each anchor, got k=7"):
        collision_probability_in_batch(7, classes, pairs=4)
    with pytest.raises(ValueError, match="pairs must be an integer of at least 2, got 1"):
        collision_probability_in_batch(1, classes, pairs=1)
