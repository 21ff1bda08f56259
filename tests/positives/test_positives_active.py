"""Which candidate is kept: the nearest, or any that is near enough."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tammes.positives import Active, Clusters, Halving, Nearest, Quantile


def choose(distances: Tensor, threshold: float, *, seed: int = 0) -> tuple[Tensor, Any]:
    """Which of the candidates, of whose numbers the views are made, was kept; and all that was said of it."""
    n, m = distances.shape
    draws = torch.rand(n, m, generator=torch.Generator().manual_seed(seed))
    views = [torch.stack([torch.full((n,), float(j)), distances[:, j]], dim=1) for j in range(m)]
    chosen = Active(candidates=m).choose(views, lambda view: view[:, 1], threshold=threshold, draws=draws)
    return chosen.views[:, 0].long(), chosen


@pytest.mark.equal_bits
def test_without_a_threshold_the_nearest_is_kept() -> None:
    distances = torch.rand(40, 6, generator=torch.Generator().manual_seed(1))
    kept, chosen = choose(distances, 0.0)
    assert torch.equal(kept, distances.argmin(dim=1))
    assert torch.equal(chosen.distance, distances.amin(dim=1))
    torch.testing.assert_close(chosen.drawn, distances.mean(dim=1))
    assert chosen.accepted.sum() == 0


def test_within_the_threshold_each_is_as_likely() -> None:
    distances = torch.tensor([0.9, 0.2, 0.1, 0.3, 0.8]).expand(30_000, 5)
    kept, chosen = choose(distances, 0.5)
    counts = kept.bincount(minlength=5)
    assert counts[[0, 4]].tolist() == [0, 0]
    # 10,000 each; five standard deviations are 408.
    assert all(abs(int(count) - 10_000) < 408 for count in counts[1:4])
    assert (chosen.accepted == 3).all()


def test_where_none_is_within_the_nearest_is_kept() -> None:
    distances = torch.tensor([[0.9, 0.7, 0.8], [0.9, 0.2, 0.1]])
    kept, chosen = choose(distances, 0.15)
    assert kept.tolist() == [1, 2]
    assert chosen.accepted.tolist() == [0, 1]


def test_where_there_is_no_boundary_the_first_is_kept() -> None:
    kept, _ = choose(torch.full((3, 4), math.inf), 0.0)
    assert kept.tolist() == [0, 0, 0]


def test_the_thresholds_of_the_rounds() -> None:
    distances = torch.arange(100) / 100
    assert Nearest().threshold(5, distances) == 0
    assert [Halving(lower_bound=1e-9).threshold(t, distances) for t in (1, 4)] == [math.pi, math.pi / 8]
    assert Halving().threshold(2000, distances) == 0.05  # and nothing underflows
    for share in (0.1, 0.25, 0.9):
        below = distances < Quantile(share=share).threshold(1, distances)
        assert abs(float(below.float().mean()) - share) <= 0.02


@given(st.integers(1, 40), st.floats(0, 1, exclude_min=True), st.integers(0, 99))
def test_the_quantile_is_the_smallest_distance_that_the_share_does_not_exceed(
    n: int, share: float, seed: int
) -> None:
    """Also a share of 1, and run by run: the laboratory and training runs have the same thresholds."""
    distances = torch.rand(3, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    threshold = Quantile(share=share).threshold(1, distances)
    within, below = distances <= threshold[:, None], distances < threshold[:, None]
    assert int(below.sum(dim=1).max()) < share * n <= int(within.sum(dim=1).min())
    for run in range(3):
        assert Quantile(share=share).threshold(1, distances[run]) == threshold[run]
    assert torch.equal(Quantile(share=1).threshold(1, distances), distances.amax(dim=1))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Active(candidates=0), "candidates must be an integer of at least 1, got 0"),
        (lambda: Active(candidates=2.0), r"candidates must be an integer of at least 1, got 2\.0"),  # type: ignore[arg-type]
        (lambda: Active(refresh=0), "refresh must be"),
        (lambda: Active(warm_up=-1), "warm_up must be an integer of at least 0, got -1"),
        (lambda: Active(sample=1), "sample must be"),
        (lambda: Active(classes=5), "classes must be Labels"),  # type: ignore[arg-type]
        (lambda: Active(acceptance="nearest"), "acceptance must be Nearest"),  # type: ignore[arg-type]
        (lambda: Halving(lower_bound=0.0), "lower_bound must be a finite number above 0"),
        (lambda: Halving(start=0.01), r"start must be a finite number at least 0\.05, got 0\.01"),
        (lambda: Quantile(share=0.0), "share must be"),
        (lambda: Quantile(share=1.01), "share must be a finite number above 0 and at most 1"),
        (lambda: Quantile(share=math.nan), "share must be"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


def test_the_config_is_the_repr() -> None:
    assert repr(Active(classes=Clusters(number=3), acceptance=Quantile(share=0.5))) == (
        "Active(candidates=4, classes=Clusters(number=3), acceptance=Quantile(share=0.5), refresh=100, "
        "warm_up=0, sample=2048)"
    )
