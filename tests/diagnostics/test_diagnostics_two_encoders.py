from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from tammes.diagnostics import cka_by_chance, lidar, linear_cka, neighbor_overlap, procrustes_distance, rsa


def two(dim: int = 6, other: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(80, dim, generator=generator, dtype=torch.float64)
    mix = torch.randn(dim, other, generator=generator, dtype=torch.float64)
    return x, x @ mix + 2 * torch.randn(80, other, generator=generator, dtype=torch.float64) + 1


def test_each_measure_equals_a_second_implementation() -> None:
    x, y = two()
    gram_x, gram_y = (np.asarray((z - z.mean(0)) @ (z - z.mean(0)).T) for z in (x, y))
    kernel_form = (gram_x * gram_y).sum() / np.sqrt((gram_x**2).sum() * (gram_y**2).sum())
    assert linear_cka(x, y) == pytest.approx(kernel_form, rel=1e-9)
    assert procrustes_distance(x, y) == pytest.approx(procrustes(x.numpy(), y.numpy())[2], rel=1e-9)
    reference = spearmanr(pdist(x.numpy(), "cosine"), pdist(y.numpy(), "cosine")).statistic
    assert rsa(x, y) == pytest.approx(reference, abs=1e-6)


def test_a_rotation_with_shift_and_scale_changes_nothing() -> None:
    x, _ = two()
    turn = torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64))[0]
    y = 3 * x @ turn
    assert linear_cka(x, y + 5) == pytest.approx(1, abs=1e-9)
    assert procrustes_distance(x, y + 5) == pytest.approx(0, abs=1e-9)
    assert rsa(x, y) == pytest.approx(1, abs=1e-9)


def test_dimensions_may_differ_and_constants_have_no_similarity() -> None:
    x, y = two(6, 3)
    wide = torch.cat([x, torch.zeros(80, 2, dtype=torch.float64)], dim=1)
    assert procrustes_distance(x, wide) == pytest.approx(0, abs=1e-9)
    assert 0 < linear_cka(x, y) < 1
    constant = torch.ones(80, 3, dtype=torch.float64)
    assert linear_cka(x, constant) == rsa(x, constant) == 0
    assert procrustes_distance(x, constant) == 1
    with pytest.raises(ValueError, match="with the rows of first"):
        linear_cka(x, y[:5])


@pytest.mark.parametrize("measure", [linear_cka, procrustes_distance, rsa, lidar])
def test_embeddings_that_are_not_finite_are_refused(measure: Callable[..., float]) -> None:
    good, bad = torch.randn(6, 3), torch.randn(6, 3)
    bad[4, 1] = torch.nan
    with pytest.raises(ValueError, match=r"finite first .* the first of them row 4"):
        measure(bad, good)
    with pytest.raises(ValueError, match=r"finite second .* the first of them row 4"):
        measure(good, bad)


def test_unrelated_gaussians_have_the_similarity_of_chance() -> None:
    x, y = torch.randn(2, 2000, 40, dtype=torch.float64)
    assert linear_cka(x, y) == pytest.approx(cka_by_chance(2000, 40, 40), rel=0.1)


def test_the_overlap_counts_neighbors_in_any_order() -> None:
    a, b = torch.tensor([[1, 2, 3], [0, 2, 4]]), torch.tensor([[3, 2, 1], [5, 6, 7]])
    assert neighbor_overlap(a, b).tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="second, like first"):
        neighbor_overlap(a, b[:1])
