import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.diagnostics import effective_rank, singular_values


@given(n=st.integers(2, 30), dim=st.integers(1, 8))
def test_squares_are_the_eigenvalues_of_the_covariance(n: int, dim: int) -> None:
    x = torch.randn(n, dim, dtype=torch.float64)
    values = singular_values(x)
    assert values.shape == (min(n, dim),)
    covariance = torch.cov(x.T, correction=0).reshape(dim, dim)
    eigenvalues = torch.linalg.eigvalsh(covariance).flip(0)[: len(values)]
    assert torch.allclose(values.square() / n, eigenvalues.clamp(min=0), atol=1e-9)


@given(rank=st.integers(0, 6))
def test_collapsed_dimensions_count_for_nothing(rank: int) -> None:
    x = torch.randn(200, rank) @ torch.randn(rank, 16) + 100
    values = singular_values(x)
    assert int((values > 0).sum()) == rank
    assert effective_rank(values) <= rank + 1e-9


def test_a_constant_map_has_rank_zero() -> None:
    for dtype in (torch.float32, torch.float64):
        assert effective_rank(singular_values(torch.full((100, 8), 0.1, dtype=dtype))) == 0


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=12), st.floats(0.01, 100))
def test_the_effective_rank_lies_between_one_and_the_rank(values: list[float], scale: float) -> None:
    rank = effective_rank(torch.tensor(values, dtype=torch.float64))
    assert 1 - 1e-9 <= rank <= len(values) + 1e-9
    assert effective_rank(scale * torch.tensor(values, dtype=torch.float64)) == pytest.approx(rank)


@given(count=st.integers(1, 20), zeros=st.integers(0, 5))
def test_equal_values_count_fully_and_zeros_not_at_all(count: int, zeros: int) -> None:
    values = torch.cat([torch.full((count,), 3.0), torch.zeros(zeros)])
    assert effective_rank(values) == pytest.approx(count)


def test_what_has_no_spectrum_is_refused() -> None:
    with pytest.raises(ValueError, match="n of at least 2"):
        singular_values(torch.ones(1, 3))
    with pytest.raises(ValueError, match="NaN or infinity in row 1"):
        singular_values(torch.tensor([[1.0], [torch.nan]]))
    with pytest.raises(ValueError, match="nonnegative finite"):
        effective_rank(torch.tensor([1.0, -1.0]))
