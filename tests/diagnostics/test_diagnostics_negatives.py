import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.diagnostics import hardest_negatives, uniform_negatives
from tammes.diagnostics.blocks import directions


@given(groups=st.lists(st.integers(0, 6), min_size=4, max_size=25), k=st.integers(1, 3), data=st.data())
def test_the_hardest_are_harder_than_all_others(groups: list[int], k: int, data: st.DataObject) -> None:
    ids = torch.tensor([0, 0, 1, 2, 3, *groups])
    x = torch.randn(len(ids), 3, dtype=torch.float64)
    anchor = data.draw(st.integers(0, len(ids) - 1))
    negatives = (ids != ids[anchor]).nonzero()[:, 0].tolist()
    if k > len(negatives):
        return
    found = hardest_negatives(x, torch.tensor([anchor]), k=k, ids=ids)
    chosen = found.indices[0].tolist()
    similarity = directions(x) @ directions(x)[anchor]
    assert len(set(chosen)) == k
    assert set(chosen) <= set(negatives)
    assert torch.allclose(found.similarities[0], similarity[chosen], atol=1e-12)
    assert found.similarities[0].tolist() == sorted(found.similarities[0].tolist(), reverse=True)
    others = [float(similarity[row]) for row in negatives if row not in chosen]
    assert all(other <= float(found.similarities[0, -1]) + 1e-12 for other in others)


def test_without_ids_only_the_anchor_is_left_out() -> None:
    x = torch.ones(4, 2)
    assert hardest_negatives(x, torch.tensor([1, 3]), k=3).indices.tolist() == [[0, 2, 3], [0, 1, 2]]


def test_uniform_ones_are_uniform_and_never_positives() -> None:
    x, ids = torch.randn(7, 3), torch.tensor([0, 0, 1, 2, 3, 4, 5])
    generator = torch.Generator().manual_seed(0)
    drawn = uniform_negatives(x, torch.zeros(3000, dtype=torch.int64), k=2, ids=ids, generator=generator)
    assert (drawn.indices[:, 0] != drawn.indices[:, 1]).all()
    counts = drawn.indices.flatten().bincount(minlength=7)
    assert counts[:2].tolist() == [0, 0]
    # 1200 expected of each other row, standard deviation 26.8.
    assert int((counts[2:] - 1200).abs().max()) < 5 * 26.8
    similarity = directions(x) @ directions(x)[0]
    assert torch.allclose(drawn.similarities, similarity[drawn.indices], atol=1e-6)


def test_the_generator_decides() -> None:
    def draw(seed: int) -> list[list[int]]:
        generator = torch.Generator().manual_seed(seed)
        x = torch.ones(50, 2)
        return uniform_negatives(x, torch.tensor([0, 1]), k=5, generator=generator).indices.tolist()

    assert draw(0) == draw(0)
    assert draw(0) != draw(1)


@pytest.mark.parametrize(
    ("anchors", "k", "ids", "message"),
    [
        ([0], 3, None, "k from 1 to the 2 negatives of anchor 0, got k=3"),
        ([0], 2, [5, 5, 6], "k from 1 to the 1 negatives of anchor 0, got k=2"),
        ([0], 0, None, "k must be an integer of at least 1, got 0"),
        ([0], 1.5, None, "k must be an integer of at least 1, got 1.5"),
        ([3], 1, None, "anchors from 0 to 2, rows of the embeddings, got 3"),
        ([-1], 1, None, "got -1"),
        ([], 1, None, r"at least one, got \(0,\)"),
        ([0], 1, [1, 2], r"ids, one for each row, must have shape \(3,\), got \(2,\)"),
    ],
)
def test_what_cannot_be_found_is_refused(
    anchors: list[int], k: float, ids: list[int] | None, message: str
) -> None:
    numbers = torch.tensor(anchors, dtype=torch.int64)
    of_each = None if ids is None else torch.tensor(ids)
    with pytest.raises(ValueError, match=message):
        hardest_negatives(torch.eye(3), numbers, k=k, ids=of_each)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        uniform_negatives(  # type: ignore[arg-type]
            torch.eye(3), numbers, k=k, ids=of_each, generator=torch.Generator()
        )
