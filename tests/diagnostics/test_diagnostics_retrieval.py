"""Which neighbors a changed query retrieves, and of which color."""

from __future__ import annotations

import pytest
import torch

from tammes.diagnostics import color_followed, neighbors_kept, retrieved
from tammes.diagnostics.blocks import SIDE


def test_neighbors_are_those_of_a_loop() -> None:
    gallery, queries = torch.randn(2, 40, 5, generator=torch.Generator().manual_seed(0))
    found = retrieved(gallery, queries, neighbors=3)
    for row in range(40):
        cosines = torch.cosine_similarity(queries[row : row + 1], gallery)
        cosines[row] = -2
        assert found[row].tolist() == cosines.argsort(descending=True)[:3].tolist()


def test_a_query_never_retrieves_itself_in_any_block() -> None:
    points = torch.randn(SIDE + 7, 3, generator=torch.Generator().manual_seed(0))
    found = retrieved(points, points, neighbors=2)
    assert not (found == torch.arange(len(points))[:, None]).any()


def test_lengths_do_not_matter() -> None:
    points = torch.randn(9, 3, generator=torch.Generator().manual_seed(0))
    lengths = torch.arange(1.0, 10.0)[:, None]
    assert torch.equal(retrieved(points * lengths, points), retrieved(points, points / lengths))


def test_what_stays_is_counted_without_order() -> None:
    before = torch.tensor([[1, 2, 3], [4, 5, 6]])
    assert neighbors_kept(before, before.flip(1)) == 1.0
    assert neighbors_kept(before, torch.tensor([[3, 1, 9], [7, 8, 9]])) == pytest.approx(2 / 6)


def test_the_slope_is_that_of_a_regression_through_zero() -> None:
    query = torch.randn(2, 30, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    noise = torch.randn(30, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    change = query[1] - query[0]
    noise -= (noise * change).sum() / change.square().sum() * change
    answers = torch.zeros(30, 3, dtype=torch.float64), 0.3 * change + noise
    assert color_followed((query[0], query[1]), answers) == pytest.approx(0.3)
    assert color_followed((query[0], query[0]), answers) is None


def test_wrong_input_is_refused() -> None:
    points = torch.randn(4, 3)
    with pytest.raises(ValueError, match="4 neighbors are too many for a gallery of 4 rows"):
        retrieved(points, points, neighbors=4)
    with pytest.raises(ValueError, match="queries, like the gallery"):
        retrieved(points, points[:3], neighbors=1)
    with pytest.raises(ValueError, match="after, like before"):
        neighbors_kept(torch.zeros(3, 2), torch.zeros(2, 2))
    with pytest.raises(ValueError, match="one row for each query"):
        color_followed((points, points), (points, points[:2]))
