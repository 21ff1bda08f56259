import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from tammes.diagnostics import collision_share, weighted_collision_share


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
