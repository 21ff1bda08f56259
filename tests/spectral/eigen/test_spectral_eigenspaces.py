"""Eigenvalues are grouped by relative gaps, and what is close to the threshold is said to be."""

from __future__ import annotations

import math
import warnings

import networkx as nx
import pytest
import torch
from batches import batch_of
from hypothesis import given
from hypothesis import strategies as st

from tammes.spectral import AmbiguousEigenspaces, Combinatorial, RelativeGap, eigenvector_mask


def grouped(values: list[float], **options: float | bool) -> tuple[list[int], float]:
    row = torch.tensor([values], dtype=torch.float64)
    spaces = RelativeGap(**options)(row, torch.ones_like(row, dtype=torch.bool))
    return spaces.number[0].tolist(), float(spaces.margin)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.floats(1e-6, 1e6), st.integers(0, 99))
def test_multiplicities_are_found_at_any_scale(dimensions: list[int], unit: float, seed: int) -> None:
    noise = torch.randn(sum(dimensions), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    exact = torch.arange(1, len(dimensions) + 1).repeat_interleave(torch.tensor(dimensions))
    values = ((exact + 1e-13 * noise) * unit).sort().values[None]
    spaces = RelativeGap(norm=unit)(values, torch.ones_like(values, dtype=torch.bool))
    assert spaces.number[0].tolist() == (exact - 1).tolist()
    assert spaces.count.item() == len(dimensions)
    expected = [dimension for dimension in dimensions for _ in range(dimension)]
    assert spaces.dimension[0].tolist() == expected
    assert spaces.margin.item() > 1


def test_graphs_of_known_multiplicity() -> None:
    data = batch_of(
        nx.star_graph(5),
        nx.cycle_graph(6),
        nx.complete_graph(4),
        nx.empty_graph(3),
        laplacian=Combinatorial(),
    )
    spaces = RelativeGap()(data.values, eigenvector_mask(data.vectors, data.batch))
    assert spaces.number.tolist() == [
        [0, 1, 1, 1, 1, 2],
        [0, 1, 1, 2, 2, 3],
        [0, 1, 1, 1, -1, -1],
        [0, 0, 0, -1, -1, -1],
    ]
    assert spaces.dimension.tolist() == [
        [1, 4, 4, 4, 4, 1],
        [1, 2, 2, 2, 2, 1],
        [1, 3, 3, 3, 0, 0],
        [3, 3, 3, 0, 0, 0],
    ]
    assert spaces.count.tolist() == [3, 4, 2, 1]


def test_rounding_boundaries_do_not_separate() -> None:
    assert grouped([0.0, 0.50000000499999, 0.50000000500001, 1.0])[0] == [0, 1, 1, 2]
    assert grouped([1e5, 1e5 + 1e-9])[0] == [0, 0]  # relative, not absolute


def test_small_eigenvalues_alone_need_the_norm() -> None:
    assert grouped([0.0, 1e-16, 1e-16], norm=2.0)[0] == [0, 0, 0]
    assert grouped([0.0, 1e-9], norm=1e-8)[0] == [0, 1]


def test_the_margin_is_in_decades_and_ambiguity_is_warned_of() -> None:
    with pytest.warns(AmbiguousEigenspaces, match="graph 0 has a relative gap of 3"):
        assert grouped([0.0, 1.0 - 3e-8, 1.0])[1] == pytest.approx(math.log10(3), abs=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grouped([0.0, 1.0 - 3e-8, 1.0], warn=False)[1] < 1
        assert grouped([0.0, 1.0])[1] == pytest.approx(8)
        assert grouped([0.0])[1] == math.inf
        assert grouped([1.0, 1.0])[1] == math.inf


def test_float32_has_a_wider_threshold() -> None:
    values = torch.tensor([[0.0, 1.0, 1.0 + 1e-6]])
    there = torch.ones_like(values, dtype=torch.bool)
    assert RelativeGap()(values, there).number.tolist() == [[0, 1, 1]]
    with pytest.warns(AmbiguousEigenspaces):
        RelativeGap(tolerance=1e-6)(values, there)


def test_wrong_input_is_refused() -> None:
    there = torch.ones(1, 2, dtype=torch.bool)
    gap = RelativeGap()
    with pytest.raises(ValueError, match="one shape"):
        gap(torch.zeros(1, 3), there)
    with pytest.raises(ValueError, match="boolean mask"):
        gap(torch.zeros(1, 2), there.long())
    with pytest.raises(ValueError, match="k at least 1"):
        gap(torch.zeros(2, 0), there[:0].new_zeros(2, 0))
    with pytest.raises(ValueError, match="ascending"):
        gap(torch.tensor([[1.0, 0.0]]), there)
    with pytest.raises(ValueError, match="finite"):
        gap(torch.tensor([[0.0, math.nan]]), there)
    with pytest.raises(ValueError, match="empty one"):
        gap(torch.zeros(1, 2), torch.tensor([[False, True]]))
    for options in ({"tolerance": 0.0}, {"norm": math.inf}):
        with pytest.raises(ValueError, match="above 0"):
            RelativeGap(**options)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_eigenvalues_in_half_precision_need_a_tolerance(dtype: torch.dtype) -> None:
    values, mask = torch.tensor([[0.0, 0.5, 1.0]], dtype=dtype), torch.ones(1, 3, dtype=torch.bool)
    with pytest.raises(ValueError, match=rf"expected eigenvalues in float32 or float64, got {dtype}"):
        RelativeGap()(values, mask)
    assert RelativeGap(tolerance=0.01)(values, mask).count.tolist() == [3]
