"""Neighbors of all rows, and what follows from them: hubs, intrinsic dimension, duplicates, leaks."""

import sys

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.neighbors import NearestNeighbors

from tammes.diagnostics import (
    duplicates,
    equal_rows,
    hubness,
    hubs,
    indexed_neighbors,
    intrinsic_dimension,
    k_occurrence,
    leaked,
    near_threshold,
    nearest,
    nearest_neighbors,
    orphans,
)


def points(n: int = 120, dim: int = 5, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_neighbors_are_those_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "ELEMENTS", 1000)  # several blocks
    x = points()
    found = nearest_neighbors(x, 6)
    distances, indices = NearestNeighbors(n_neighbors=7).fit(x.numpy()).kneighbors(x.numpy())
    assert found.indices.tolist() == indices[:, 1:].tolist()
    assert np.allclose(found.distances, distances[:, 1:])
    some = nearest_neighbors(x, 6, rows=torch.tensor([5, 3]))
    assert some.indices.tolist() == found.indices[[5, 3]].tolist()
    with pytest.raises(ValueError, match="fewer neighbors than the 120 rows"):
        nearest_neighbors(x, 120)


@pytest.mark.parametrize("elements", [500, 2**24])
def test_points_far_from_zero_and_nearly_collapsed_ones_have_their_neighbors(
    elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In float32 the points differ by a thousandth of their length, whose square products cannot resolve."""
    monkeypatch.setattr(nearest, "ELEMENTS", elements)
    collapsed = torch.nn.functional.normalize(points(1, 64, seed=1) + 0.001 * points(300, 64), dim=1)
    for x in ((points() + 1000).float(), collapsed.float()):
        found, exact = nearest_neighbors(x, 6), nearest_neighbors(x.double(), 6)
        same = (found.indices[:, :, None] == exact.indices[:, None, :]).any(dim=2)
        assert float(same.double().mean()) > 0.995


def test_an_index_needs_faiss_and_enough_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    with pytest.raises(ValueError, match="from 10,000 points on"):
        indexed_neighbors(points(), 3, generator=generator)
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match="pip install"):
        indexed_neighbors(points(10_000, 4).float(), 3, generator=generator)


def test_an_index_finds_most_neighbors_and_says_how_many() -> None:
    pytest.importorskip("faiss")
    centers = 5 * points(40, 16).float()
    x = centers[torch.arange(12_000) % 40] + (points(12_000, 4, seed=1) @ points(4, 16)).float()
    found = indexed_neighbors(x, 5, generator=torch.Generator().manual_seed(0))
    assert found.tested == nearest.TESTED
    exact = nearest_neighbors(x, 5)
    share = (found.indices[:, :, None] == exact.indices[:, None, :]).any(dim=2).double().mean()
    assert found.recall > 0.9
    assert float(share) == pytest.approx(found.recall, abs=0.03)
    assert not bool((found.indices == torch.arange(12_000)[:, None]).any())


def test_hubness_is_the_skewness_of_the_k_occurrence() -> None:
    occurrence = k_occurrence(nearest_neighbors(points(), 5).indices, 120)
    assert int(occurrence.sum()) == 600
    assert hubness(occurrence) == pytest.approx(stats.skew(occurrence.numpy()), rel=1e-9)
    assert orphans(occurrence).tolist() == (occurrence == 0).tolist()
    assert k_occurrence(torch.tensor([[1, -1]]), 2).tolist() == [0, 1]


def test_counts_of_chance_are_no_hubs() -> None:
    generator = torch.Generator().manual_seed(0)
    occurrence = torch.poisson(torch.full((5000,), 10.0), generator=generator).long()
    assert int(hubs(occurrence).sum()) == 0
    occurrence[17] = 90
    assert hubs(occurrence).nonzero().tolist() == [[17]]
    assert not bool(hubs(torch.zeros(3, dtype=torch.int64)).any())


def test_the_intrinsic_dimension_equals_the_fit_of_the_paper_and_finds_a_plane() -> None:
    generator = torch.Generator().manual_seed(0)
    flat = torch.rand(800, 2, generator=generator, dtype=torch.float64) @ points(2, 10)
    distances = nearest_neighbors(flat, 2).distances
    mu = np.sort((distances[:, 1] / distances[:, 0]).numpy())
    kept = int(0.9 * len(mu))
    x, y = np.log(mu[:kept]), -np.log(1 - np.arange(1, kept + 1) / len(mu))
    slope = np.linalg.lstsq(x[:, None], y, rcond=None)[0][0]
    found = intrinsic_dimension(distances)
    assert found == pytest.approx(slope, rel=1e-9)
    assert found == pytest.approx(2, abs=0.25)
    assert intrinsic_dimension(3 * distances) == pytest.approx(found)
    assert intrinsic_dimension(distances[:5]) is None
    assert intrinsic_dimension(torch.ones(50, 2)) is None
    assert intrinsic_dimension(distances, discarded=0) == pytest.approx(2, abs=0.4)


def test_equal_rows_are_found_whatever_the_sign_of_zero() -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        x = points(50).to(dtype)
        x[30], x[40], x[4, 0], x[9] = x[3], x[3], 0.0, x[4]
        x[9, 0] = -0.0
        found = equal_rows(x)
        expected = list(range(50))
        expected[30] = expected[40] = 3
        expected[9] = 4
        assert found.tolist() == expected


def test_groups_join_equal_and_nearly_equal_rows() -> None:
    x = points(400, 8)
    x[10], x[20] = x[0], x[0] + 1e-4
    x[300] = x[299] + 1e-4
    near = nearest_neighbors(x, 5)
    found = duplicates(equal_rows(x), near.indices, near.distances, 8.0)
    assert found.exact.nonzero().flatten().tolist() == [0, 10]
    assert set(found.near.nonzero().flatten().tolist()) >= {20, 299, 300}
    assert len({int(found.group[row]) for row in (0, 10, 20)}) == 1
    assert found.groups == 2
    assert found.rows.sum() == 5
    alone = duplicates(equal_rows(x), near.indices, near.distances, None)
    assert not bool(alone.near.any())


def test_of_many_copies_at_one_place_the_ratio_is_zero() -> None:
    """Rows of one direction are equal at length one, though not before: their k-th neighbor is as near."""
    x = points(60)
    x[:10] = x[0] * 2.0 ** torch.arange(10)[:, None]
    near = nearest_neighbors(x / x.norm(dim=1, keepdim=True), 5)
    found = duplicates(equal_rows(x), near.indices, near.distances, 4.0)
    assert found.near.nonzero().flatten().tolist() == list(range(10))
    assert found.ratio.tolist() == [0.0] * len(found.pairs)


def test_a_long_chain_is_one_group_whatever_the_order_of_its_rows() -> None:
    """Each row is a near-duplicate of the next, as the frames of a film; two alone come after it."""
    for n in (1_000, 3_000):
        order = torch.randperm(n, generator=torch.Generator().manual_seed(1))
        indices = torch.arange(n + 2)[:, None].repeat(1, 2)
        distances = torch.ones(n + 2, 2)
        indices[order[:-1], 0], distances[order[:-1], 0] = order[1:], 0.0
        found = duplicates(torch.arange(n + 2), indices, distances, 1.0)
        assert found.group.tolist() == [0] * n + [1, 2]
        assert bool(leaked(found.group, (torch.arange(n + 2) == int(order[0])).long())[:n].all())


@pytest.mark.parametrize(
    ("copies", "apart", "found"), [(5, 0.1, 5), (6, 0.1, 0), (6, 0.005, 6), (12, 0.005, 12)]
)
def test_more_than_five_rows_are_a_class_unless_they_are_hardly_apart(
    copies: int, apart: float, found: int
) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(300, 32, generator=generator)
    x[:copies] = x[0] + apart * torch.randn(copies, 32, generator=generator)
    near = nearest_neighbors(x, 20)
    dimension = intrinsic_dimension(near.distances)
    assert dimension is not None
    assert int(duplicates(equal_rows(x), near.indices, near.distances, dimension).near.sum()) == found


def test_a_uniform_cloud_has_no_near_duplicates() -> None:
    """The threshold expects 0.001 false pairs, in two dimensions as in many."""
    for dim in (2, 20):
        for seed in range(5):
            x = points(500, dim, seed)
            near = nearest_neighbors(x, 10)
            found = duplicates(equal_rows(x), near.indices, near.distances, float(dim))
            assert found.groups == 0
    assert near_threshold(1000, 20, 2) < near_threshold(1000, 20, 4) <= 0.25


def test_a_leak_is_a_group_across_splits() -> None:
    assert leaked(torch.tensor([0, 0, 1, 2]), torch.tensor([0, 1, 1, 0])).tolist() == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("elements", [1, 8 * 9, 2**24])
@pytest.mark.parametrize("k", [1, 7, 101, 200])
def test_blocks_do_not_change_the_largest_products(
    k: int, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = torch.Generator().manual_seed(0)
    asked, rows = torch.randn(3, 8, generator=generator), torch.randn(101, 8, generator=generator)
    expected = (asked @ rows.T).topk(min(k, 101), dim=1)
    monkeypatch.setattr(nearest, "ELEMENTS", elements)
    for given in (rows, rows.numpy().astype(np.float32)):
        values, places = nearest.largest_products(asked, given, k)
        torch.testing.assert_close(values, expected.values)
        assert torch.equal(places, expected.indices)


def test_neighbors_far_from_the_origin_are_those_around_it() -> None:
    around = 1e-3 * torch.randn(500, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    points = (around + 100).float()  # which rounds the points; their neighbors are those of the rounded ones
    exact = torch.cdist(points.double(), points.double()).fill_diagonal_(torch.inf).topk(5, largest=False)
    found = nearest_neighbors(points, 5)
    torch.testing.assert_close(found.distances.double(), exact.values, rtol=1e-4, atol=0)
