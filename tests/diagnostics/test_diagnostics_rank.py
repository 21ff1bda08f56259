import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tammes.diagnostics import (
    Moments,
    alpha_req,
    dead_dimensions,
    dimensions_for,
    duplicated_dimensions,
    isoscore,
    nesum,
    rankme,
    stable_rank,
)

N, DIM = 60, 7


def example(seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(N, DIM, generator=generator, dtype=torch.float64)
    return x * torch.linspace(0.5, 3, DIM, dtype=torch.float64) + 0.3


def rotated(x: Tensor) -> Tensor:
    turn = torch.linalg.qr(torch.randn(x.shape[1], x.shape[1], dtype=torch.float64))[0]
    return (x @ turn)[torch.randperm(len(x))]


def test_each_measure_equals_a_second_implementation_on_plain_matrices() -> None:
    x = example().numpy()
    moments = Moments.of(torch.from_numpy(x))
    sigma = np.linalg.svd(x, compute_uv=False)
    p = sigma / sigma.sum() + 1e-7
    assert rankme(moments.singular_values) == pytest.approx(np.exp(-(p * np.log(p)).sum()), rel=1e-9)
    assert stable_rank(moments.singular_values) == pytest.approx(
        np.linalg.norm(x, "fro") ** 2 / np.linalg.norm(x, 2) ** 2, rel=1e-9
    )
    covariance = np.cov(x.T, bias=True)
    eigen = np.linalg.eigvalsh(covariance)[::-1]
    assert nesum(moments.eigenvalues) == pytest.approx(np.trace(covariance) / eigen[0], rel=1e-9)
    slope = np.polyfit(np.log(np.arange(1, DIM + 1)), np.log(eigen), 1)[0]
    assert alpha_req(moments.eigenvalues) == pytest.approx(-slope, rel=1e-9)
    # Algorithm 1 of the paper, step by step: principal components, variances, defect, rescaling.
    scores = (x - x.mean(0)) @ np.linalg.eigh(covariance)[1]
    diagonal = scores.var(axis=0)
    normalized = diagonal * math.sqrt(DIM) / np.linalg.norm(diagonal)
    defect = np.linalg.norm(normalized - 1) / math.sqrt(2 * (DIM - math.sqrt(DIM)))
    used = (DIM - defect**2 * (DIM - math.sqrt(DIM))) ** 2 / DIM**2
    assert isoscore(moments.eigenvalues) == pytest.approx((DIM * used - 1) / (DIM - 1), rel=1e-9)
    assert moments.mean_share == pytest.approx(
        np.square(x.mean(0)).sum() / np.square(x).sum(1).mean(), rel=1e-9
    )


def test_no_measure_changes_by_rotation_order_or_scale() -> None:
    x = example()
    y = 7 * rotated(x)
    a, b = Moments.of(x), Moments.of(y)
    for measure in (rankme, stable_rank):
        assert measure(a.singular_values) == pytest.approx(measure(b.singular_values), rel=1e-9)
    for measure in (nesum, alpha_req, isoscore):
        assert measure(a.eigenvalues) == pytest.approx(measure(b.eigenvalues), rel=1e-9)
    assert a.mean_share == pytest.approx(b.mean_share, rel=1e-9)


@given(k=st.integers(1, 12))
def test_equal_directions_count_fully_in_each_measure(k: int) -> None:
    values = torch.cat([torch.full((k,), 2.0), torch.zeros(12 - k)])
    assert rankme(values, epsilon=0) == pytest.approx(k)
    assert stable_rank(values) == pytest.approx(k)
    assert nesum(values) == pytest.approx(k)
    assert dimensions_for(values, share=1.0) == k
    # The paper's score counts the share of dimensions in use, apart from the first.
    assert isoscore(values) == pytest.approx((k - 1) / 11, abs=1e-6)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_squares_of_the_values_neither_overflow_nor_vanish(unit: float) -> None:
    values = torch.tensor([4.0, 2.0, 1.0], dtype=torch.float64)
    for measure in (rankme, stable_rank, nesum, alpha_req, isoscore, dimensions_for):
        assert measure(unit * values) == pytest.approx(measure(values), rel=1e-12)
    assert stable_rank(unit * values) == 21 / 16


def test_values_without_variance_have_no_rank_and_no_slope() -> None:
    zero = torch.zeros(4)
    assert rankme(zero) == stable_rank(zero) == nesum(zero) == dimensions_for(zero) == 0
    assert alpha_req(zero) is None
    assert isoscore(zero) is None
    assert isoscore(torch.ones(1)) is None


def test_values_that_are_no_spectrum_are_refused() -> None:
    for share in (0.0, 1.5, 99.0, torch.nan):
        with pytest.raises(ValueError, match="share must be a finite number above 0 and at most 1"):
            dimensions_for(torch.ones(3), share)
    for bad in (torch.tensor([1.0, -1.0]), torch.tensor([torch.nan]), torch.empty(0)):
        with pytest.raises(ValueError, match="nonnegative finite values"):
            rankme(bad)


def test_moments_of_parts_add_up_and_can_be_taken_out() -> None:
    x = example()
    whole = Moments.of(x[:20]) + Moments.of(x[20:])
    assert torch.allclose(whole.covariance, torch.cov(x.T, correction=0))
    assert torch.allclose((whole - Moments.of(x[:20])).mean, x[20:].mean(dim=0))
    with pytest.raises(ValueError, match="floating-point embeddings"):
        Moments.of(torch.ones(3, 3, dtype=torch.int64))


def test_rounding_of_a_far_mean_leaves_no_variance() -> None:
    moments = Moments.of(torch.full((50, 4), 0.1))
    assert float(moments.eigenvalues.sum()) == 0
    assert moments.mean_share == pytest.approx(1)


def test_dead_and_copied_dimensions_are_found() -> None:
    x = example()
    x[:, 2] = 1.0
    x[:, 5] = -3 * x[:, 1] + 2
    covariance = Moments.of(x).covariance
    assert dead_dimensions(covariance).nonzero().flatten().tolist() == [2]
    assert duplicated_dimensions(covariance).tolist() == [[1, 5]]
