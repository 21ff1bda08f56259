import math

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given
from hypothesis import strategies as st

from tammes.diagnostics import uniformity


@given(n=st.integers(2, 40), side=st.integers(1, 50), scale=st.floats(0.1, 50))
def test_streamed_is_dense(n: int, side: int, scale: float) -> None:
    x = torch.randn(n, 4, dtype=torch.float64)
    # The formula of Wang and Isola's figure 5.
    dense = torch.pdist(F.normalize(x)).pow(2).mul(-scale).exp().mean().log()
    assert uniformity(x, scale=scale, side=side) == pytest.approx(float(dense), abs=1e-9)


def test_coinciding_points_have_none() -> None:
    assert uniformity(torch.ones(100, 3)) == pytest.approx(0, abs=1e-5)


def test_on_the_whole_circle_it_is_a_bessel_function() -> None:
    # E exp(-2 |x - y|^2) = exp(-4) E exp(4 cos a) = exp(-4) I_0(4) for a uniform angle a; pairs of a point
    # with itself do not count.
    n = 512
    angle = torch.arange(n, dtype=torch.float64) * (2 * math.pi / n)
    value = uniformity(torch.stack([angle.cos(), angle.sin()], dim=1))
    mean = float(torch.special.i0e(torch.tensor(4.0, dtype=torch.float64)))
    assert value == pytest.approx(math.log((n * mean - 1) / (n - 1)), abs=1e-12)


def test_a_large_scale_underflows_nowhere() -> None:
    opposite = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    assert uniformity(opposite, scale=1e4) == pytest.approx(-4e4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_lower_precision_comes_close(dtype: torch.dtype) -> None:
    x = torch.randn(50, 8, dtype=torch.float64)
    assert uniformity(x.to(dtype)) == pytest.approx(uniformity(x), abs=1e-2)


def test_memory_does_not_grow_with_the_square() -> None:
    largest = 0

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), keywords=None):  # type: ignore[no-untyped-def]
            nonlocal largest
            result = function(*arguments, **(keywords or {}))
            if isinstance(result, torch.Tensor):
                largest = max(largest, result.numel())
            return result

    x = torch.randn(3000, 4)
    with Watch():
        uniformity(x, side=128)
    assert largest == 128 * 128


def test_what_has_no_pairs_is_refused() -> None:
    with pytest.raises(ValueError, match="at least two embeddings"):
        uniformity(torch.ones(1, 2))
    with pytest.raises(ValueError, match="scale must be a finite number above 0, got -1"):
        uniformity(torch.ones(2, 2), scale=-1)
