"""The debiased loss and its bounds, on populations where every expectation is a sum."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tammes.theory import (
    DebiasedGeneralization,
    DebiasingBound,
    Population,
    biased_gap,
    debiasing_error,
    one_positive,
)


def population(
    *,
    classes: int = 4,
    each: int = 5,
    dim: int = 3,
    spread: float = 0.5,
    temperature: float = 1.0,
    seed: int = 0,
) -> Population:
    """Classes around random directions; with a large spread they have nothing in common."""
    generator = np.random.default_rng(seed)
    centers = np.repeat(generator.standard_normal((classes, dim)), each, axis=0)
    rows = centers + spread * generator.standard_normal(centers.shape)
    return Population(embeddings=rows, labels=np.repeat(np.arange(classes), each), temperature=temperature)


def definition(them: Population, weight: float) -> float:
    """Equation 3.6 in its two forms, row by row."""
    losses = []
    for x in range(len(them.labels)):
        exponentials = np.exp(them.logits[x])
        own = them.labels == them.labels[x]
        true = exponentials[~own].mean()
        prior = them.class_prior
        debiased = (exponentials.mean() - prior * exponentials[own].mean()) / (1 - prior)
        assert debiased == pytest.approx(true)
        for positive in exponentials[own]:
            losses.append(-math.log(positive / (positive + weight * true)))
    return float(np.mean(losses))


def test_the_asymptotic_loss_is_its_definition() -> None:
    them = population()
    assert them.asymptotic_loss(7.5) == pytest.approx(definition(them, 7.5))


def test_lemma_2_the_unbiased_loss_converges_to_it() -> None:
    """With the weight Q fixed, N times as many negatives; here Q = N = 400."""
    them = population()
    mean, error = them.unbiased_loss(400, draws=4000, generator=np.random.default_rng(0))
    assert abs(mean - them.asymptotic_loss(400)) < 4 * error + 1e-3


@given(seed=st.integers(0, 10**6), spread=st.floats(0.01, 5), negatives=st.sampled_from([1, 4, 30]))
def test_lemma_1_false_negatives_lower_the_loss_by_at_most_the_gap(
    seed: int, spread: float, negatives: int
) -> None:
    them = population(seed=seed, spread=spread)
    generator = np.random.default_rng(seed)
    biased, error = them.biased_loss(negatives, draws=2000, generator=generator)
    unbiased, other = them.unbiased_loss(negatives, draws=2000, generator=generator)
    slack = DebiasingBound(negatives=negatives, positives=1, class_prior=0).by_variance
    assert biased >= unbiased + biased_gap(them) - slack - 4 * (error + other)


def test_the_gap_is_zero_for_separated_classes_and_not_for_others() -> None:
    assert biased_gap(population(spread=0.01)) == 0
    assert biased_gap(population(spread=50, dim=2)) < -0.02


def test_false_negatives_raise_the_loss_of_separated_classes() -> None:
    """Lemma 1 for embeddings without a gap: what is trained is an upper bound of the ideal loss."""
    them = population(spread=0.05)
    generator = np.random.default_rng(0)
    biased, error = them.biased_loss(200, draws=4000, generator=generator)
    unbiased, other = them.unbiased_loss(200, draws=4000, generator=generator)
    assert biased > unbiased + 4 * (error + other)


@given(seed=st.integers(0, 10**6), spread=st.floats(0.01, 5), n=st.integers(1, 60), m=st.integers(1, 20))
def test_theorem_2_bounds_the_error(seed: int, spread: float, n: int, m: int) -> None:
    them = population(seed=seed, spread=spread)
    error = debiasing_error(them, negatives=n, positives=m, draws=2000, generator=np.random.default_rng(seed))
    bound = DebiasingBound(negatives=n, positives=m, class_prior=them.class_prior)
    assert error.of_draws[0] <= bound.by_variance + 4 * error.of_draws[1]
    assert abs(error.of_loss[0]) <= bound.by_variance + 4 * error.of_loss[1]
    assert bound.by_variance < bound.printed < bound.by_tails


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_theorem_2_at_other_temperatures(temperature: float) -> None:
    them = population(temperature=temperature)
    error = debiasing_error(them, negatives=10, positives=5, draws=4000, generator=np.random.default_rng(0))
    bound = DebiasingBound(negatives=10, positives=5, class_prior=0.25, temperature=temperature)
    assert error.of_draws[0] < bound.by_variance


def test_low_temperatures_give_numbers_or_say_that_no_float_holds_them() -> None:
    bound = DebiasingBound(negatives=10, positives=5, class_prior=0.25, temperature=0.002)
    assert bound.by_variance == bound.by_tails == math.inf
    generator = np.random.default_rng(0)
    error = debiasing_error(
        population(temperature=0.003), negatives=10, positives=5, draws=100, generator=generator
    )
    assert math.isfinite(error.of_draws[0])
    too_low = population(temperature=0.002)
    with pytest.raises(ValueError, match=r"temperature must be .* at least 0.003, got 0.002: no float"):
        debiasing_error(too_low, negatives=10, positives=5, draws=100, generator=generator)
    with pytest.raises(ValueError, match=r"temperature must be .* at least 0.003, got 0.002: no float"):
        one_positive(too_low, beta=1.0)


def test_a_draw_errs_like_the_root_and_the_loss_like_the_inverse_of_n() -> None:
    """The theorem's rate is that of single draws; their mean has no first order."""
    them = population(spread=1.0)
    sizes = (32, 128, 512)
    errors = [
        debiasing_error(them, negatives=n, positives=n, draws=20_000, generator=np.random.default_rng(n))
        for n in sizes
    ]
    assert all(error.floored < 1e-3 for error in errors)

    def slope(values: list[float]) -> float:
        return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])

    assert slope([error.of_draws[0] for error in errors]) == pytest.approx(-0.5, abs=0.05)
    assert slope([-error.of_loss[0] for error in errors]) == pytest.approx(-1, abs=0.1)


@pytest.mark.parametrize("n", [16, 64, 256, 1024])
def test_the_table_of_single_draws_in_the_docs(n: int) -> None:
    them = population(classes=10, each=20, dim=8, spread=1.0)
    error = debiasing_error(them, negatives=n, positives=n, draws=20_000, generator=np.random.default_rng(n))
    bound = DebiasingBound(negatives=n, positives=n, class_prior=0.1)
    page = (Path(__file__).parents[2] / "docs/theory.md").read_text()
    (row,) = (line for line in page.splitlines() if line.startswith(f"| {n:,} | {bound.printed:.2f} |"))
    shown = [float(cell) for cell in row.strip("| ").split(" | ")[1:]]
    assert shown[:2] == [round(bound.printed, 2), round(bound.by_variance, 2)]
    assert shown[2:] == pytest.approx([error.of_draws[0], error.of_loss[0]], rel=0.04)


def test_few_candidates_fall_on_the_floor() -> None:
    poles = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, -1.0], [0.0, -1.0]])
    them = Population(embeddings=poles, labels=np.array([0, 0, 1, 1]), temperature=1.0)
    error = debiasing_error(them, negatives=1, positives=1, draws=2000, generator=np.random.default_rng(0))
    assert error.floored == pytest.approx(0.5, abs=0.05)  # the one candidate is of the other class


@given(seed=st.integers(0, 10**6), spread=st.floats(0.01, 3), extra=st.integers(0, 5), ways=st.integers(2, 4))
def test_lemma_3_the_mean_classifier_costs_no_more_than_the_loss(
    seed: int, spread: float, extra: int, ways: int
) -> None:
    them = population(seed=seed, spread=spread)
    assert them.mean_classifier_loss(ways) <= them.asymptotic_loss(ways - 1 + extra) + 1e-12


def test_lemma_3_needs_k_minus_1_negatives() -> None:
    them = population(spread=0.01, classes=4, temperature=10.0)
    assert them.mean_classifier_loss(4) > them.asymptotic_loss(1)


@given(
    seed=st.integers(0, 10**6), spread=st.floats(0, 3), beta=st.floats(0, 4), temperature=st.floats(0.3, 3)
)
def test_lemma_7_one_positive_varies_no_more_than_the_alignment_allows(
    seed: int, spread: float, beta: float, temperature: float
) -> None:
    found = one_positive(population(seed=seed, spread=spread, temperature=temperature), beta=beta)
    assert found.variance <= found.bound * (1 + 1e-9) + 1e-12


def test_aligned_positives_do_not_vary() -> None:
    near, far = (one_positive(population(spread=spread), beta=1.0) for spread in (1e-3, 1e-2))
    assert near.variance < far.variance < 1e-4
    assert near.bound == pytest.approx(far.bound / 100, rel=0.1)


def debiased(a: np.ndarray, b: np.ndarray, prior: float) -> float:
    """The loss of theorem 5's proof, of a = e^{l(u) - l+} and b = e^{l(v) - l+}, above the floor."""
    return math.log1p(len(a) * (a.mean() - prior * b.mean()) / (1 - prior))


@given(n=st.integers(1, 30), m=st.integers(1, 30), prior=st.floats(0, 0.9), seed=st.integers(0, 10**6))
def test_theorem_5_the_loss_and_its_gradient_are_bounded(n: int, m: int, prior: float, seed: int) -> None:
    generator = np.random.default_rng(seed)
    constants = DebiasedGeneralization(negatives=n, positives=m, class_prior=prior)
    positive = generator.uniform(-1, 1)
    a, b = (np.exp(generator.uniform(-1, 1, size) - positive) for size in (n, m))
    if (a.mean() - prior * b.mean()) / (1 - prior) < math.exp(-2):
        return  # on the floor, where the loss is constant
    assert debiased(a, b, prior) <= constants.largest
    gradient = []
    for values in (a, b):
        for i in range(len(values)):
            middle = values[i]
            ends = []
            for step in (-1e-6, 1e-6):
                values[i] = middle + step
                ends.append(debiased(a, b, prior))
            values[i] = middle
            gradient.append((ends[1] - ends[0]) / 2e-6)
    bound = math.exp(2) * constants.corrected_lambda / math.sqrt(n + m)
    assert np.linalg.norm(gradient) <= bound * (1 + 1e-6)


def test_theorem_5_the_printed_lambda_is_exceeded() -> None:
    constants = DebiasedGeneralization(negatives=100, positives=1, class_prior=0.9)
    value = 0.5
    slope = 100 / (1 + 100 * value) * 0.9 / 0.1  # by the only positive
    assert slope > math.exp(2) * constants.printed_lambda / math.sqrt(101)
    assert slope < math.exp(2) * constants.corrected_lambda / math.sqrt(101)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": np.zeros(4, dtype=int)}, "at least two classes"),
        ({"labels": np.array([0, 0, 0, 1])}, "classes of equal size, got 1 to 3 rows"),
        ({"labels": np.array([0, 1])}, "labels, one for each embedding, must have shape"),
        ({"embeddings": np.zeros((4, 2))}, "positive, finite length"),
        ({"embeddings": np.full((4, 2), math.nan)}, "positive, finite length"),
        ({"embeddings": np.diag([1.0, 1.0, 1.0, math.inf])}, "positive, finite length"),
        ({"temperature": 0.0}, "temperature must be a finite number above 0"),
    ],
)
def test_what_is_no_population_is_refused(change: dict[str, object], words: str) -> None:
    fields = {"embeddings": np.eye(4), "labels": np.array([0, 0, 1, 1]), "temperature": 1.0} | change
    with pytest.raises(ValueError, match=words):
        Population(**fields)  # type: ignore[arg-type]


def test_numbers_out_of_range_are_refused() -> None:
    them = population()
    generator = np.random.default_rng(0)
    with pytest.raises(ValueError, match="ways must be from 2 to 4, the number of classes, got 5"):
        them.mean_classifier_loss(5)
    with pytest.raises(ValueError, match="weight must be a finite number above 0"):
        them.asymptotic_loss(0)
    with pytest.raises(ValueError, match="negatives must be an integer of at least 1"):
        them.biased_loss(0, draws=10, generator=generator)
    with pytest.raises(ValueError, match="draws must be an integer of at least 2"):
        debiasing_error(them, negatives=1, positives=1, draws=1, generator=generator)
    with pytest.raises(ValueError, match="class_prior must be a finite number at least 0 and below 1"):
        DebiasingBound(negatives=1, positives=1, class_prior=1.0)
    with pytest.raises(ValueError, match="positives must be an integer of at least 1"):
        DebiasedGeneralization(negatives=1, positives=0, class_prior=0.5)
