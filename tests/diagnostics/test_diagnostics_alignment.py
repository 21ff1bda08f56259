import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given
from hypothesis import strategies as st

from tammes.diagnostics import alignment


@given(n=st.integers(1, 20), dim=st.integers(1, 6), scale=st.floats(0.01, 100))
def test_it_is_two_minus_twice_the_mean_cosine(n: int, dim: int, scale: float) -> None:
    x, y = torch.randn(2, n, dim, dtype=torch.float64)
    expected = 2 - 2 * float(F.cosine_similarity(x, y).mean())
    assert alignment(scale * x, y) == pytest.approx(expected, abs=1e-12)


def test_its_ends() -> None:
    x = torch.randn(5, 3)
    assert alignment(x, 3 * x) == pytest.approx(0, abs=1e-12)
    assert alignment(x, -x) == pytest.approx(4, abs=1e-5)


def test_views_of_different_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"view_b, like view_a, must have shape \(5, 3\), got \(4, 3\)"):
        alignment(torch.ones(5, 3), torch.ones(4, 3))
