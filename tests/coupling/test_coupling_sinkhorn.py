"""Potentials: the right ones, from any start, however seldom the error is looked at."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import normalize

from tammes import Pairs, SinkhornWarning, Transport
from tammes.coupling.sinkhorn import Settled, _Symmetric, scaled, settle, sinkhorn
from tammes.reduce import Dense, Exponent, Negatives, Tiled


def batch(pairs: int, dim: int = 6, *, seed: int = 0, clusters: int = 0) -> Negatives:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(2 * pairs, dim, generator=generator, dtype=torch.float64)
    if clusters:
        z = 0.4 * z + 2 * torch.eye(dim, dtype=torch.float64)[torch.arange(2 * pairs) % clusters]
    keys = torch.arange(pairs).repeat_interleave(2)
    return Negatives(anchors=normalize(z, dim=1), keys=keys, bound=1.001)


def plan(negatives: Negatives, epsilon: float, potential: Tensor) -> Tensor:
    exponents = negatives.anchors @ negatives.anchors.T / epsilon + potential + potential[:, None]
    return exponents.masked_fill(negatives.keys[:, None] == negatives.keys, -torch.inf).exp()


@given(
    pairs=st.integers(6, 24),
    seed=st.integers(0, 99),
    clusters=st.sampled_from([0, 2, 5]),
    epsilon=st.sampled_from([0.3, 1.0, 2.0]),
)
def test_marginals_are_met(pairs: int, seed: int, clusters: int, epsilon: float) -> None:
    negatives = batch(pairs, seed=seed, clusters=clusters)
    settled = sinkhorn(
        negatives,
        Exponent(slope=1 / epsilon),
        Tiled(),
        start=None,
        tolerance=1e-9,
        max_iterations=5000,
    )
    rows = plan(negatives, epsilon, settled.potential).sum(dim=1) * len(negatives.keys)
    assert float((rows - 1).abs().mean()) <= 1.1e-9
    assert settled.error <= 1e-9


def averaged_updates(negatives: Negatives, epsilon: float, tolerance: float) -> int:
    """How many plain averaged updates it takes."""
    n = len(negatives.keys)
    potential = torch.full((n,), -math.log(n), dtype=torch.float64)
    for count in range(5000):
        residual = (n * plan(negatives, epsilon, potential).sum(dim=1)).log()
        if float(torch.expm1(residual).abs().mean()) <= tolerance:
            return count
        potential = potential - residual / 2
    raise AssertionError("the averaged update did not settle")


def mixed(negatives: Negatives, epsilon: float, *, tolerance: float) -> Settled:
    """By mixed steps from the beginning, as where S is too large for `scaled`."""
    n = len(negatives.keys)
    return settle(
        _Symmetric(negatives, Exponent(slope=1 / epsilon), Tiled()),
        torch.full((n,), -math.log(n), dtype=torch.float64),
        tolerance=tolerance,
        max_iterations=5000,
        looks_each_time=True,
    )


@pytest.mark.parametrize("clusters", [0, 5])
@pytest.mark.parametrize("epsilon", [0.1, 0.3])
def test_the_mixed_steps_are_at_least_twice_as_quick_as_averaging(clusters: int, epsilon: float) -> None:
    negatives = batch(128, dim=16, clusters=clusters)
    settled = mixed(negatives, epsilon, tolerance=1e-6)
    assert 2 * settled.iterations <= averaged_updates(negatives, epsilon, 1e-6)


@pytest.mark.parametrize("pairs", [3, 20])
def test_a_small_epsilon_is_hardly_slower_than_by_averaging(pairs: int) -> None:
    negatives, epsilon = batch(pairs, seed=1), 0.03
    settled = mixed(negatives, epsilon, tolerance=1e-6)
    assert settled.error <= 1e-6
    assert settled.iterations <= averaged_updates(negatives, epsilon, 1e-6) + 8


@given(
    pairs=st.integers(2, 40),
    seed=st.integers(0, 99),
    clusters=st.sampled_from([0, 2, 5]),
    epsilon=st.sampled_from([0.03, 0.1, 0.3, 1.0]),
)
def test_products_with_the_kernel_end_where_mixing_does_or_say_that_they_have_not(
    pairs: int, seed: int, clusters: int, epsilon: float
) -> None:
    negatives = batch(pairs, seed=seed, clusters=clusters)
    n = len(negatives.keys)
    start = torch.full((n,), -math.log(n), dtype=torch.float64)
    by_products = scaled(negatives, Exponent(slope=1 / epsilon), start, tolerance=1e-9, max_iterations=500)
    rows = plan(negatives, epsilon, by_products.potential).sum(dim=1) * n
    if math.isfinite(by_products.error):  # what it says of its potential is true, settled or not
        assert float((rows - 1).abs().mean()) == pytest.approx(by_products.error, rel=1e-3, abs=1e-12)
    if by_products.error <= 1e-9:
        expected = plan(negatives, epsilon, mixed(negatives, epsilon, tolerance=1e-10).potential)
        torch.testing.assert_close(
            plan(negatives, epsilon, by_products.potential), expected, rtol=1e-5, atol=1e-9
        )


@pytest.mark.parametrize("clusters", [0, 2, 5])
@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0])
def test_products_with_the_kernel_settle_batches_of_usual_size(clusters: int, epsilon: float) -> None:
    negatives = batch(64, dim=16, clusters=clusters)
    start = torch.full((128,), -math.log(128), dtype=torch.float64)
    settled = scaled(negatives, Exponent(slope=1 / epsilon), start, tolerance=1e-6, max_iterations=500)
    assert settled.error <= 1e-6
    assert settled.iterations <= averaged_updates(negatives, epsilon, 1e-6)


def test_exponents_too_far_apart_for_products_are_left_to_logarithms() -> None:
    negatives, epsilon = batch(20), 0.03  # up to 2 / 0.03 apart
    start = torch.full((40,), -math.log(40), dtype=torch.float64)
    kernel = Exponent(slope=1 / epsilon)
    assert scaled(negatives, kernel, start, tolerance=1e-6, max_iterations=9).error == math.inf
    assert sinkhorn(negatives, kernel, Tiled(), start=None, tolerance=1e-6, max_iterations=9000).error <= 1e-6


def test_steps_that_make_it_worse_end_in_averaging() -> None:
    """A start far off, and a small epsilon, on clusters: still the one solution."""
    negatives, epsilon = batch(20, clusters=2, seed=3), 0.02
    start = torch.linspace(-40, 40, 40, dtype=torch.float64)
    found = [
        sinkhorn(
            negatives, Exponent(slope=1 / epsilon), Dense(), start=each, tolerance=1e-10, max_iterations=9000
        ).potential
        for each in (None, start)
    ]
    torch.testing.assert_close(
        plan(negatives, epsilon, found[0]), plan(negatives, epsilon, found[1]), rtol=1e-6, atol=1e-12
    )


@given(
    rate=st.floats(0.05, 0.95),
    tolerance=st.floats(1e-9, 0.5),
    most=st.integers(1, 60),
    first=st.sampled_from([1.0, 0.1, 1e-12]),
)
def test_looking_seldom_ends_where_looking_each_time_does(
    rate: float, tolerance: float, most: int, first: float
) -> None:
    start = torch.tensor([first, first / 3], dtype=torch.float64)

    def update(potential: Tensor) -> tuple[Tensor, Tensor]:
        return potential * rate, potential.abs().max()

    each_time, seldom = (
        settle(update, start, tolerance=tolerance, max_iterations=most, looks_each_time=looks)
        for looks in (True, False)
    )
    assert torch.equal(each_time.potential, seldom.potential)
    assert (each_time.iterations, each_time.error) == (seldom.iterations, seldom.error)


def test_the_device_is_asked_a_few_times_only() -> None:
    """200 updates at a steady rate: one look in about 32 of them."""
    looks = 0

    class Counting(torch.Tensor):
        def __bool__(self) -> bool:
            nonlocal looks
            looks += 1
            return bool(self.as_subclass(torch.Tensor))

    def update(potential: Tensor) -> tuple[Tensor, Tensor]:
        return potential * 0.9, potential.abs().max()

    start = torch.ones(3, dtype=torch.float64).as_subclass(Counting)
    settled = settle(update, start, tolerance=1e-9, max_iterations=500, looks_each_time=False)
    assert settled.iterations == math.ceil(math.log(1e-9) / math.log(0.9))
    assert looks <= 10


def test_nan_ends_it_at_once() -> None:
    for looks in (True, False):
        settled = settle(
            lambda x: (x, x * math.nan),
            torch.zeros(()),
            tolerance=1e-5,
            max_iterations=99,
            looks_each_time=looks,
        )
        assert settled.iterations == 0
        assert math.isnan(settled.error)


def test_a_warm_start_needs_no_updates_for_the_same_batch_and_none_is_used_for_other_ids() -> None:
    coupling = Transport(epsilon=0.1, warm_start=True)
    negatives = batch(32)
    cold = coupling.fit(negatives, 0.5, Tiled())
    again = coupling.fit(negatives, 0.5, Tiled())
    assert cold.iterations is not None
    assert cold.iterations > 1
    assert again.iterations == 0
    other = Negatives(anchors=negatives.anchors, keys=negatives.keys + 5, bound=1.001)
    assert coupling.fit(other, 0.5, Tiled()).iterations == cold.iterations
    assert Transport(epsilon=0.1).fit(negatives, 0.5, Tiled()).iterations == cold.iterations


def test_other_candidates_alternate() -> None:
    anchors, candidates = batch(9, seed=1), batch(15, seed=2)
    negatives = Negatives(
        anchors=anchors.anchors,
        keys=anchors.keys,
        candidates=candidates.anchors,
        candidate_keys=candidates.keys + 4,
        bound=1.001,
    )
    fit = Transport(epsilon=0.2, tolerance=1e-10).fit(negatives, 1.0, Tiled())
    exponents = fit.weight.value(negatives.anchors @ candidates.anchors.T, slice(0, 30))
    keys = negatives.keys_of_candidates
    weights = exponents.masked_fill(negatives.keys[:, None] == keys, -torch.inf).softmax(dim=1)
    torch.testing.assert_close(
        weights.mean(dim=0), torch.full((30,), 1 / 30, dtype=torch.float64), rtol=1e-9, atol=0
    )


def test_running_out_of_iterations_is_told() -> None:
    objective_pairs = Pairs(anchors=batch(8).anchors, ids=batch(8).keys)
    with pytest.warns(SinkhornWarning, match="after 1 iterations"):
        Transport(epsilon=0.05, max_iterations=1).fit(
            Negatives(anchors=objective_pairs.anchors, keys=objective_pairs.ids, bound=1.001), 1.0, Tiled()
        )


def test_a_start_of_any_range_ends_in_the_one_plan() -> None:
    negatives, epsilon = batch(20), 0.3
    start = torch.linspace(-2000.0, 0.0, 40, dtype=torch.float64)
    settled = sinkhorn(
        negatives, Exponent(slope=1 / epsilon), Tiled(), start=start, tolerance=1e-9, max_iterations=500
    )
    expected = plan(negatives, epsilon, mixed(negatives, epsilon, tolerance=1e-10).potential)
    torch.testing.assert_close(plan(negatives, epsilon, settled.potential), expected, rtol=1e-5, atol=1e-9)
    single = batch(20)
    for most in (1, 2):  # cut short: still a potential, whatever it is worth
        cut = scaled(single, Exponent(slope=1 / epsilon), start, tolerance=1e-9, max_iterations=most)
        assert bool(torch.isfinite(cut.potential).all())
