"""The tiled engine equals the dense one, in value and gradient, whatever the shape."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tammes.reduce import Dense, Engine, Exponent, KeyRanges, Negatives, Tiled
from tammes.reduce.terms import Clipped, Exponential, Linear, Rectified, Softened
from tammes.reduce.tiled.fixed_shift import range_is_safe


@st.composite
def problems(draw: st.DrawFn) -> Negatives:
    """Negatives of any shape: one set or two, keys of one row or of up to 6, all negatives or a subset."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10_000)))
    groups = draw(st.integers(2, 7))

    def rows(most: int = 6) -> tuple[Tensor, Tensor]:
        sizes = torch.randint(1, most + 1, (groups,), generator=generator)
        keys = torch.repeat_interleave(torch.arange(groups), sizes)
        z = torch.randn(len(keys), 4, generator=generator)
        return torch.nn.functional.normalize(z.double(), dim=1).requires_grad_(), keys

    anchors, keys = rows()
    negatives = Negatives(
        anchors=anchors,
        ranges=KeyRanges(keys=keys),
        bound=1.001,
        rows=torch.randperm(len(keys), generator=generator),
    )
    if draw(st.booleans()):
        candidates, candidate_keys = rows(draw(st.sampled_from([1, 6])))
        negatives = dataclasses.replace(
            negatives,
            candidates=candidates,
            ranges=KeyRanges(keys=keys, candidate_keys=candidate_keys),
        )
    if draw(st.booleans()):
        least = int(negatives.ranges.available.min())
        negatives = dataclasses.replace(
            negatives, subset=draw(st.integers(1, least)), seed=draw(st.integers(0, 2**62))
        )
    return negatives


def exponents_for(negatives: Negatives, steep: float) -> tuple[Exponent, ...]:
    """One of each kind that a coupling makes; `steep` decides which way of summing is taken."""
    column = torch.linspace(-1, 1, negatives.shape[1], dtype=torch.float64)
    return (
        Exponent(slope=2.0, gradient_slope=2.0),
        Exponent(slope=steep, gradient_slope=1.0),
        Exponent(slope=1.5, column=column),
        Exponent(slope=3.0, gradient_slope=3.0, column=column),
        Exponent(tilt=Exponential(offset=2.0, factor=-1.0), column=column),
        Exponent(slope=2.0, gradient_slope=1.0, tilt=Exponential(offset=2.0, factor=-1.0)),
        Exponent(slope=1.0, gradient_slope=1.0, tilt=Clipped(gain=3.0, bound=0.5)),
    )


def curved(negatives: Negatives) -> tuple[Exponent, ...]:
    column = torch.linspace(-1, 1, negatives.shape[1], dtype=torch.float64)
    return (
        Exponent(slope=1.0, gradient_slope=1.0, tilt=lambda s: -torch.exp(-2 * s), column=column),
        Exponent(tilt=lambda s: (3 * s).clamp(-0.5, 0.5), tilt_has_gradient=True),
        Exponent(),
    )


def leaves(negatives: Negatives) -> list[Tensor]:
    return [negatives.anchors] + ([] if negatives.candidates is None else [negatives.candidates])


def value_and_gradients(
    run: Callable[[Engine], list[Tensor]], engine: Engine, inputs: list[Tensor]
) -> list[Tensor]:
    values = run(engine)
    generator = torch.Generator().manual_seed(1)
    total = sum(
        (value * torch.randn(value.shape, generator=generator, dtype=value.dtype)).sum() for value in values
    )
    assert isinstance(total, Tensor)
    return [*values, *torch.autograd.grad(total, inputs)]


def assert_engines_agree(run: Callable[[Engine], list[Tensor]], inputs: list[Tensor], side: int) -> None:
    dense = value_and_gradients(run, Dense(), inputs)
    tiled = value_and_gradients(run, Tiled(side=side), inputs)
    for one, other in zip(tiled, dense, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-10)


sides = st.integers(1, 40)


@given(negatives=problems(), side=sides, steep=st.sampled_from([5.0, 900.0]))
def test_log_sum_exp(negatives: Negatives, side: int, steep: float) -> None:
    exponents = exponents_for(negatives, steep)
    assert range_is_safe(negatives, exponents) == (steep == 5.0 and negatives.by_keys_alone)
    assert_engines_agree(
        lambda engine: list(engine.log_sum_exp(negatives, exponents)), leaves(negatives), side
    )


@given(negatives=problems(), side=sides)
def test_log_sum_exp_of_curved_exponents(negatives: Negatives, side: int) -> None:
    assert_engines_agree(
        lambda engine: list(engine.log_sum_exp(negatives, curved(negatives))), leaves(negatives), side
    )


@given(negatives=problems(), side=sides, kind=st.integers(0, 5), width=st.integers(1, 3))
def test_expectation(negatives: Negatives, side: int, kind: int, width: int) -> None:
    weight = [*exponents_for(negatives, 5.0)[:3], *curved(negatives)][kind]
    offsets = torch.randn(negatives.shape[0], width, dtype=torch.float64).requires_grad_()

    def run(engine: Engine) -> list[Tensor]:
        (log_total,) = engine.log_sum_exp(negatives, (weight,))
        return [
            engine.expectation(negatives, weight, log_total.detach(), term, 2.0, offsets)
            for term in (torch.nn.functional.softplus, torch.sin, lambda y: torch.relu(2 * y + 0.3))
        ]

    assert_engines_agree(run, [*leaves(negatives), offsets], side)


@given(negatives=problems(), side=sides, width=st.integers(1, 2))
def test_expectation_under_equal_weights(negatives: Negatives, side: int, width: int) -> None:
    offsets = torch.randn(negatives.shape[0], width, dtype=torch.float64).requires_grad_()

    def run(engine: Engine) -> list[Tensor]:
        return [
            engine.expectation(negatives, Exponent(), negatives.log_count, term, scale, offsets)
            for term in (Softened(), Softened(factor=2.0), Linear(), Rectified(gain=2.0, margin=0.3))
            for scale in (1.0, 2.0)
        ]

    assert_engines_agree(run, [*leaves(negatives), offsets], side)


@pytest.mark.equal_bits
@given(negatives=problems(), side=sides)
def test_hardest(negatives: Negatives, side: int) -> None:
    assert torch.equal(Tiled(side=side).hardest(negatives), Dense().hardest(negatives))


@pytest.mark.parametrize("steep", [3.0, 900.0])
def test_gradcheck(steep: float) -> None:
    z = torch.nn.functional.normalize(torch.randn(9, 3, dtype=torch.float64), dim=1).requires_grad_()
    keys = torch.tensor([0, 0, 1, 1, 1, 2, 3, 3, 4])

    def run(anchors: Tensor) -> tuple[Tensor, ...]:
        # A bound far above the similarities sends the steep exponents to the running maximum.
        negatives = Negatives(
            anchors=anchors, ranges=KeyRanges(keys=keys), bound=1.0 if steep < 10 else 100.0
        )
        exponents = (Exponent(slope=3.0, gradient_slope=3.0), Exponent(slope=6.0, gradient_slope=6.0))
        return Tiled(side=4).log_sum_exp(negatives, exponents)

    assert torch.autograd.gradcheck(run, (z,))


def test_memory_grows_linearly() -> None:
    """Peak memory of forward and backward at twice the rows is about twice, not four times, as much."""
    peaks = [_peak_bytes(rows) for rows in (4096, 8192, 16384)]
    growth = [later / earlier for earlier, later in itertools.pairwise(peaks)]
    assert max(growth) < 2.5, f"peaks {peaks}"
    assert peaks[-1] < 16384**2 * 4 / 4, "more than a quarter of what one matrix of similarities takes"


def _peak_bytes(rows: int) -> int:
    z = torch.nn.functional.normalize(torch.randn(rows, 16), dim=1).requires_grad_()
    negatives = Negatives(anchors=z, ranges=KeyRanges(keys=torch.arange(rows) // 2), bound=1.001)
    with torch.profiler.profile(profile_memory=True, acc_events=True) as profile:
        (total,) = Tiled().log_sum_exp(negatives, (Exponent(slope=2.0, gradient_slope=2.0),))
        total.sum().backward()
    held, peak = 0, 0
    for event in profile.profiler.kineto_results.events():  # type: ignore[union-attr]
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    assert peak > 0
    return peak


@pytest.mark.parametrize("side", [0, -3])
def test_side_must_be_positive(side: int) -> None:
    with pytest.raises(ValueError, match="side must be an integer of at least 1"):
        Tiled(side=side)
