"""Terms equal the functions they are named for, with their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from tammes.reduce import Exponent
from tammes.reduce.terms import Clipped, Exponential, Linear, Rectified, Softened, Term, softplus

FORMULAS: dict[Term, Callable[[Tensor], Tensor]] = {
    Linear(factor=1.5): lambda y: 1.5 * y,
    Rectified(gain=2.0, margin=0.3): lambda y: torch.relu(2 * y + 0.3),
    Softened(factor=0.5): lambda y: 0.5 * functional.softplus(y),
    Clipped(gain=2.0, bound=0.7): lambda y: (2 * y).clamp(-0.7, 0.7),
    Exponential(offset=1.0, factor=-2.0): lambda y: -2 * torch.exp(1 - 2 * y),
}
every_term = pytest.mark.parametrize("term", FORMULAS, ids=lambda term: type(term).__name__)


@every_term
def test_value_and_derivative(term: Term) -> None:
    y = torch.linspace(-3, 3, 41, dtype=torch.float64, requires_grad=True)
    expected = FORMULAS[term](y)
    (slope,) = torch.autograd.grad(expected.sum(), y)
    torch.testing.assert_close(term(y), expected)
    torch.testing.assert_close(term.derivative(y.detach()), slope)
    (own,) = torch.autograd.grad(term(y).sum(), y)
    torch.testing.assert_close(own, slope)


@every_term
def test_multiples_and_limits(term: Term) -> None:
    y = torch.linspace(-1, 1, 41, dtype=torch.float64)
    torch.testing.assert_close(term.times(3.0)(y), 3 * term(y))
    low, high = term.limits(1.0)
    assert (low, high) == pytest.approx((float(term(y).min()), float(term(y).max())))


def test_codes_differ() -> None:
    assert len({term.code for term in FORMULAS}) == len(FORMULAS)


def test_a_squared_weight_keeps_its_term() -> None:
    assert Exponent(tilt=Clipped(gain=2.0, bound=1.0)).squared().tilt == Clipped(gain=4.0, bound=2.0)
    doubled = Exponent(tilt=torch.sin).squared().tilt
    assert doubled is not None
    assert float(doubled(torch.tensor(0.5))) == pytest.approx(2 * float(torch.sin(torch.tensor(0.5))))


@pytest.mark.parametrize("y", [19.9, 20.1, 30.0, 39.9, 40.1])
def test_the_softplus_keeps_the_digits_of_float64(y: float) -> None:
    values = torch.tensor([y], dtype=torch.float64, requires_grad=True)
    soft = softplus(values)
    soft.backward()
    assert abs(float(soft.detach()) - y - math.log1p(math.exp(-y))) <= 2e-14
    assert values.grad is not None
    assert abs(float(values.grad) - 1 / (1 + math.exp(-y))) <= 1e-15
