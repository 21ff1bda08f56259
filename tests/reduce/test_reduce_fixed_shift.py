"""One fixed shift in float32, as far as its range goes: no digit is lost to underflow or overflow."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from tammes.reduce import Dense, Engine, Exponent, KeyRanges, Negatives, Tiled
from tammes.reduce.terms import Exponential
from tammes.reduce.tiled.fixed_shift import range_is_safe

_BOUND = 1.001
_SCALE = 65536.0
"""What a GradScaler multiplies a loss by."""


def rows(n: int) -> Tensor:
    """Unit vectors, some of them equal and some opposite, so that both ends of the range are met."""
    z = normalize(torch.randn(n, 8, dtype=torch.float64), dim=1)
    z[1], z[3], z[5] = -z[0], z[0], z[0]
    return z


def exponent(kind: torch.dtype, n: int, linear: float, spread: float, curved: bool) -> Exponent:
    """With a range of `linear` along the similarity, one of `spread` along the columns, and a tilt."""
    column = None
    if spread > 0:
        column = spread * torch.rand(n, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        column[:2] = torch.tensor([0.0, spread])
        column = column.to(kind)
    return Exponent(
        slope=linear / 2 / _BOUND,
        gradient_slope=linear / 2 / _BOUND,
        tilt=Exponential(offset=1.0, factor=-1.0) if curved else None,
        column=column,
    )


@pytest.mark.parametrize("n", [64, 700], ids=["S kept", "S in tiles"])
@pytest.mark.parametrize(
    ("linear", "spread", "curved"),
    [(79.9, 0.0, False), (40.0, 39.9, False), (0.1, 79.8, False), (30.0, 30.0, True)],
)
def test_up_to_its_range_it_keeps_its_digits(n: int, linear: float, spread: float, curved: bool) -> None:
    z, weights = rows(n), torch.linspace(-_SCALE, _SCALE, n, dtype=torch.float64)

    def found(kind: torch.dtype, engine: Engine) -> tuple[Tensor, Tensor]:
        anchors = z.to(kind).clone().requires_grad_()
        negatives = Negatives(anchors=anchors, ranges=KeyRanges(keys=torch.arange(n) // 2), bound=_BOUND)
        exponents = (exponent(kind, n, linear, spread, curved),)
        assert range_is_safe(negatives, exponents)
        (sums,) = engine.log_sum_exp(negatives, exponents)
        (gradient,) = torch.autograd.grad((sums * weights.to(kind)).sum(), anchors)
        return sums.detach().double(), gradient.double()

    sums, gradient = found(torch.float32, Tiled(side=256))
    exact_sums, exact_gradient = found(torch.float64, Dense())
    torch.testing.assert_close(sums, exact_sums, rtol=0, atol=2e-5)
    assert float((gradient - exact_gradient).abs().max() / exact_gradient.abs().max()) < 2e-5


def test_beyond_its_range_it_is_not_taken() -> None:
    negatives = Negatives(anchors=rows(8).float(), ranges=KeyRanges(keys=torch.arange(8) // 2), bound=_BOUND)
    assert not range_is_safe(negatives, (exponent(torch.float32, 8, 80.1, 0.0, False),))
    assert not range_is_safe(negatives, (exponent(torch.float32, 8, 40.0, 40.1, False),))


def test_a_slope_beside_a_large_tilt_counts() -> None:
    """The range of the tilt, rounded to its size, would hide that of the slope."""
    anchors, keys = torch.zeros(4, 1, dtype=torch.float64), torch.arange(4)
    negatives = Negatives(anchors=anchors, ranges=KeyRanges(keys=keys), bound=1e-20)
    tilt = Exponential(offset=2.0, factor=-1e30)
    assert range_is_safe(negatives, (Exponent(slope=1e20, tilt=tilt),))
    assert not range_is_safe(negatives, (Exponent(slope=1e25, tilt=tilt),))
