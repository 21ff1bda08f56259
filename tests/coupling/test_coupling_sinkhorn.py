"""Sinkhorn: the right potentials from any start, and what each acceleration saves."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import normalize

from tammes import SinkhornWarning, Transport
from tammes.coupling.sinkhorn import WarmStart, loop, sinkhorn
from tammes.coupling.sinkhorn.mixing import AndersonMixing
from tammes.coupling.sinkhorn.scaling import relaxed_scaling
from tammes.reduce import Dense, Engine, Exponent, KeyRanges, Negatives, Tiled

Solution = tuple[Tensor, int, float]
"""Potential, number of updates, marginal error."""


def batch(pairs: int, dim: int = 6, *, seed: int = 0, clusters: int = 0) -> Negatives:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(2 * pairs, dim, generator=generator, dtype=torch.float64)
    if clusters:
        z = 0.4 * z + 2 * torch.eye(dim, dtype=torch.float64)[torch.arange(2 * pairs) % clusters]
    keys = torch.arange(pairs).repeat_interleave(2)
    return Negatives(anchors=normalize(z, dim=1), ranges=KeyRanges(keys=keys), bound=1.001)


def two_sets() -> Negatives:
    """30 candidates that are not the 18 anchors, a few ids in common."""
    anchors, candidates = batch(9, seed=1), batch(15, seed=2)
    return Negatives(
        anchors=anchors.anchors,
        ranges=KeyRanges(keys=anchors.ranges.keys, candidate_keys=candidates.ranges.keys + 4),
        candidates=candidates.anchors,
        bound=1.001,
    )


def uniform(negatives: Negatives) -> Tensor:
    n = len(negatives.ranges.keys)
    return torch.full((n,), -math.log(n), dtype=torch.float64)


def plan(negatives: Negatives, epsilon: float, potential: Tensor) -> Tensor:
    exponents = negatives.anchors @ negatives.anchors.T / epsilon + potential + potential[:, None]
    return exponents.masked_fill(negatives.ranges.keys[:, None] == negatives.ranges.keys, -torch.inf).exp()


def solved(
    negatives: Negatives,
    epsilon: float,
    engine: Engine | None = None,
    *,
    start: Tensor | None = None,
    tolerance: float,
    max_iterations: int = 9000,
) -> Solution:
    fit = sinkhorn(
        negatives,
        Exponent(slope=1 / epsilon),
        engine or Tiled(),
        start=start,
        tolerance=tolerance,
        max_iterations=max_iterations,
    )
    assert fit.weight.column is not None
    assert fit.iterations is not None
    assert fit.error is not None
    return fit.weight.column, fit.iterations, fit.error


def mixed(negatives: Negatives, epsilon: float, *, tolerance: float) -> Solution:
    """By mixed updates from the beginning, as where S is too large for `relaxed_scaling`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "relaxed_scaling", lambda _negatives, _kernel, start, **_: (start, 0, math.inf))
        return solved(negatives, epsilon, tolerance=tolerance)


def averaged(negatives: Negatives, epsilon: float, tolerance: float) -> int:
    """How many plain averaged updates it takes."""
    potential = uniform(negatives)
    for count in range(5000):
        residual = (len(potential) * plan(negatives, epsilon, potential).sum(dim=1)).log()
        if float(torch.expm1(residual).abs().mean()) <= tolerance:
            return count
        potential = potential - residual / 2
    raise AssertionError("the averaged update did not settle")


@given(
    pairs=st.integers(6, 24),
    seed=st.integers(0, 99),
    clusters=st.sampled_from([0, 2, 5]),
    epsilon=st.sampled_from([0.3, 1.0, 2.0]),
)
def test_marginals_are_met(pairs: int, seed: int, clusters: int, epsilon: float) -> None:
    negatives = batch(pairs, seed=seed, clusters=clusters)
    potential, _, error = solved(negatives, epsilon, tolerance=1e-9, max_iterations=5000)
    rows = plan(negatives, epsilon, potential).sum(dim=1) * len(negatives.ranges.keys)
    assert float((rows - 1).abs().mean()) <= 1.1e-9
    assert error <= 1e-9


@pytest.mark.parametrize("clusters", [0, 5])
@pytest.mark.parametrize("epsilon", [0.1, 0.3])
def test_mixed_updates_are_at_most_half_of_the_averaged(clusters: int, epsilon: float) -> None:
    negatives = batch(128, dim=16, clusters=clusters)
    _, iterations, _ = mixed(negatives, epsilon, tolerance=1e-6)
    assert 2 * iterations <= averaged(negatives, epsilon, 1e-6)


@pytest.mark.parametrize("pairs", [3, 20])
def test_a_small_epsilon_is_hardly_slower_than_by_averaging(pairs: int) -> None:
    negatives, epsilon = batch(pairs, seed=1), 0.03
    _, iterations, error = mixed(negatives, epsilon, tolerance=1e-6)
    assert error <= 1e-6
    assert iterations <= averaged(negatives, epsilon, 1e-6) + 8


def test_mixing_is_given_up_after_three_setbacks() -> None:
    mixing, potential = AndersonMixing(), torch.zeros(3)
    errors = [1.0, 0.5, 2.0, 3.0, 4.0, 0.1, 0.01]
    mixes = [mixing.update(potential, torch.full((3,), each), each) is not None for each in errors]
    assert mixes == [True, True, False, False, False, False, False]


@given(
    pairs=st.integers(2, 40),
    seed=st.integers(0, 99),
    clusters=st.sampled_from([0, 2, 5]),
    epsilon=st.sampled_from([0.03, 0.1, 0.3, 1.0]),
)
def test_scaling_ends_where_mixing_does_or_says_that_it_has_not(
    pairs: int, seed: int, clusters: int, epsilon: float
) -> None:
    negatives = batch(pairs, seed=seed, clusters=clusters)
    kernel, start = Exponent(slope=1 / epsilon), uniform(negatives)
    potential, _, error = relaxed_scaling(negatives, kernel, start, tolerance=1e-9, max_iterations=500)
    rows = plan(negatives, epsilon, potential).sum(dim=1) * len(start)
    if math.isfinite(error):  # the error is that of the potential, whether or not it is small
        assert float((rows - 1).abs().mean()) == pytest.approx(error, rel=1e-3, abs=1e-12)
    if error <= 1e-9:
        expected = plan(negatives, epsilon, mixed(negatives, epsilon, tolerance=1e-10)[0])
        torch.testing.assert_close(plan(negatives, epsilon, potential), expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("clusters", [0, 2, 5])
@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0])
def test_scaling_settles_batches_of_usual_size(clusters: int, epsilon: float) -> None:
    negatives = batch(64, dim=16, clusters=clusters)
    kernel, start = Exponent(slope=1 / epsilon), uniform(negatives)
    _, iterations, error = relaxed_scaling(negatives, kernel, start, tolerance=1e-6, max_iterations=500)
    assert error <= 1e-6
    assert iterations <= averaged(negatives, epsilon, 1e-6)


def test_exponents_too_far_apart_for_products_are_left_to_logarithms() -> None:
    negatives, epsilon = batch(20), 0.03  # up to 2 / 0.03 apart
    kernel, start = Exponent(slope=1 / epsilon), uniform(negatives)
    _, _, error = relaxed_scaling(negatives, kernel, start, tolerance=1e-6, max_iterations=9)
    assert error == math.inf
    assert solved(negatives, epsilon, tolerance=1e-6)[2] <= 1e-6


def test_steps_that_increase_the_error_end_in_averaging() -> None:
    """A start far off, and a small epsilon, on clusters: still the one solution."""
    negatives, epsilon = batch(20, clusters=2, seed=3), 0.02
    far = torch.linspace(-40, 40, 40, dtype=torch.float64)
    near, distant = (
        solved(negatives, epsilon, Dense(), start=each, tolerance=1e-10)[0] for each in (None, far)
    )
    torch.testing.assert_close(
        plan(negatives, epsilon, near), plan(negatives, epsilon, distant), rtol=1e-6, atol=1e-12
    )


@pytest.mark.parametrize("negatives", [batch(8), two_sets()], ids=["one set", "two sets"])
def test_nan_ends_it_at_once(negatives: Negatives) -> None:
    kernel = Exponent(tilt=lambda similarity: similarity * math.nan)
    fit = sinkhorn(negatives, kernel, Tiled(), tolerance=1e-5, max_iterations=99)
    assert fit.iterations == 0
    assert fit.error is not None
    assert math.isnan(fit.error)


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("negatives", [batch(8), two_sets()], ids=["one set", "two sets"])
def test_no_more_updates_are_made_than_allowed(negatives: Negatives, most: int) -> None:
    assert solved(negatives, 0.05, tolerance=1e-12, max_iterations=most)[1] == most


def test_a_warm_start_needs_no_updates_for_the_same_batch_and_none_is_used_for_other_ids() -> None:
    coupling = Transport(epsilon=0.1, warm_start=True)
    negatives = batch(32)
    cold = coupling.fit(negatives, 0.5, Tiled())
    again = coupling.fit(negatives, 0.5, Tiled())
    assert cold.iterations is not None
    assert cold.iterations > 1
    assert again.iterations == 0
    other = Negatives(
        anchors=negatives.anchors, ranges=KeyRanges(keys=negatives.ranges.keys + 5), bound=1.001
    )
    assert coupling.fit(other, 0.5, Tiled()).iterations == cold.iterations
    assert Transport(epsilon=0.1).fit(negatives, 0.5, Tiled()).iterations == cold.iterations


def test_a_copy_starts_cold() -> None:
    negatives, memory = batch(4), WarmStart()
    memory.keep(negatives, torch.zeros(8, dtype=torch.float64))
    assert memory.potential_for(negatives) is not None
    for copied in (copy.deepcopy(memory), pickle.loads(pickle.dumps(memory))):
        assert copied.potential_for(negatives) is None


def test_two_sets_alternate() -> None:
    negatives = two_sets()
    fit = Transport(epsilon=0.2, tolerance=1e-10).fit(negatives, 1.0, Tiled())
    exponents = fit.weight.value(negatives.anchors @ negatives.others.T, slice(0, 30))
    keys = negatives.ranges.keys_of_candidates
    weights = exponents.masked_fill(negatives.ranges.keys[:, None] == keys, -torch.inf).softmax(dim=1)
    torch.testing.assert_close(
        weights.mean(dim=0), torch.full((30,), 1 / 30, dtype=torch.float64), rtol=1e-9, atol=0
    )


def test_running_out_of_iterations_warns() -> None:
    with pytest.warns(SinkhornWarning, match="after 1 iterations"):
        Transport(epsilon=0.05, max_iterations=1).fit(batch(8), 1.0, Tiled())


def test_a_start_of_any_range_ends_in_the_one_plan() -> None:
    negatives, epsilon = batch(20), 0.3
    start = torch.linspace(-2000.0, 0.0, 40, dtype=torch.float64)
    potential, _, _ = solved(negatives, epsilon, start=start, tolerance=1e-9, max_iterations=500)
    expected = plan(negatives, epsilon, mixed(negatives, epsilon, tolerance=1e-10)[0])
    torch.testing.assert_close(plan(negatives, epsilon, potential), expected, rtol=1e-5, atol=1e-9)
    for most in (1, 2):  # cut short: still a finite potential
        cut, _, _ = relaxed_scaling(
            batch(20), Exponent(slope=1 / epsilon), start, tolerance=1e-9, max_iterations=most
        )
        assert bool(torch.isfinite(cut).all())
