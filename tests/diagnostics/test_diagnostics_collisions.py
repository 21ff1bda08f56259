import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from tammes.diagnostics import collision_share, estimated_collision_share, weighted_collision_share


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=2, max_size=30))
def test_it_is_the_share_counted_one_by_one(rows: list[tuple[int, int]]) -> None:
    labels, ids = torch.tensor(rows).T
    assume(len(ids.unique()) > 1)
    shares = []
    for label, own in rows:
        negatives = [other_label for other_label, other in rows if other != own]
        shares.append(sum(other_label == label for other_label in negatives) / len(negatives))
    assert collision_share(labels, ids=ids) == pytest.approx(sum(shares) / len(shares))


@given(labels=st.lists(st.integers(0, 3), min_size=2, max_size=20))
def test_uniform_weights_give_the_same(labels: list[int]) -> None:
    n = len(labels)
    weights = (1 - torch.eye(n)) / (n - 1)
    assert weighted_collision_share(torch.tensor(labels), weights) == pytest.approx(
        collision_share(torch.tensor(labels)), abs=1e-6
    )


def test_many_balanced_classes_collide_as_often_as_chance_says() -> None:
    assert collision_share(torch.arange(1000) % 10) == pytest.approx(99 / 999)


def test_what_has_no_negatives_is_refused() -> None:
    with pytest.raises(ValueError, match="one id alone"):
        collision_share(torch.tensor([0, 1]), ids=torch.tensor([3, 3]))
    with pytest.raises(ValueError, match="one id alone"):
        collision_share(torch.tensor([0]))
    with pytest.raises(ValueError, match=r"ids, one for each label, must have shape \(2,\)"):
        collision_share(torch.tensor([0, 1]), ids=torch.tensor([3]))
    with pytest.raises(ValueError, match=r"expected labels \(n,\), got \(0,\)"):
        collision_share(torch.tensor([], dtype=torch.int64))
    with pytest.raises(ValueError, match=r"for each label, must have shape \(2, 2\), got \(3, 3\)"):
        weighted_collision_share(torch.tensor([0, 1]), torch.eye(3))
    with pytest.raises(ValueError, match=r"sum to 1, got 0\.5 in row 1"):
        weighted_collision_share(torch.tensor([0, 1]), torch.tensor([[0.0, 1.0], [0.5, 0.0]]))


@pytest.mark.parametrize("dim", [5, 16, 64, 128])
def test_the_estimate_is_right_where_classes_are_points(dim: int) -> None:
    """Views of one class are all alike: the median splits no class, and all of its pairs are counted.

    The points are at random places, whose products with themselves round to 1 or to a little less.
    """
    for points in (torch.eye(5, dim), torch.randn(5, dim, generator=torch.Generator().manual_seed(0))):
        rows = points.repeat(20, 1)
        assert estimated_collision_share(rows, rows) == pytest.approx(2 * 19 / 99)


def test_the_estimate_is_right_where_views_of_a_class_are_as_alike_as_views_of_a_row() -> None:
    generator = torch.Generator().manual_seed(0)
    centers = torch.randn(10, 64, generator=generator)
    labels = torch.arange(2000) % 10
    view_a, view_b = (centers[labels] + 0.3 * torch.randn(2000, 64, generator=generator) for _ in range(2))
    assert estimated_collision_share(view_a, view_b) == pytest.approx(0.1, rel=0.1)
    assert estimated_collision_share(5 * view_a, view_b) == estimated_collision_share(view_a, view_b)


def test_the_estimate_is_small_where_nothing_is_alike_and_at_most_one() -> None:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(300, 64, generator=generator)
    assert estimated_collision_share(rows, rows + 0.1 * torch.randn(300, 64, generator=generator)) == 0
    assert estimated_collision_share(rows, rows) == estimated_collision_share(rows, 3 * rows) == 0
    for dim in (4, 5, 64, 768):
        same = torch.randn(1, dim, generator=generator).expand(300, -1)
        assert estimated_collision_share(same, same) == estimated_collision_share(same, 3 * same) == 1


def test_the_estimate_needs_a_negative_and_views_of_the_same_rows() -> None:
    with pytest.raises(ValueError, match="at least two rows"):
        estimated_collision_share(torch.ones(1, 2), torch.ones(1, 2))
    with pytest.raises(ValueError, match="of the shape of view_a"):
        estimated_collision_share(torch.ones(3, 2), torch.ones(2, 2))


def test_other_candidates_have_labels_of_their_own() -> None:
    weights = torch.tensor([[0.5, 0.3, 0.2], [0.0, 0.9, 0.1]])
    found = weighted_collision_share(torch.tensor([0, 1]), weights, candidate_labels=torch.tensor([0, 1, 0]))
    assert found == pytest.approx((0.7 + 0.9) / 2)
    with pytest.raises(ValueError, match="a row and a column for each label"):
        weighted_collision_share(torch.tensor([0, 1]), weights)
