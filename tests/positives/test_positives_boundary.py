"""How far a boundary is: against the definition, by search, and where there is none."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tammes.positives import Boundary, Clusters, Labels


def classes_of(boundary: Boundary, points: Tensor) -> Tensor:
    return (points @ boundary.weight.T + boundary.offset).argmax(dim=1)


def unit(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(
        torch.randn(*shape, generator=generator, dtype=torch.float64), dim=-1
    )


@given(st.integers(0, 1000), st.integers(2, 6), st.integers(2, 5))
def test_nothing_nearer_than_the_distance_has_another_class(seed: int, classes: int, dim: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(classes, dim, generator=generator, dtype=torch.float64)
    offset = torch.randn(classes, generator=generator, dtype=torch.float64) / 4
    boundary = Boundary(weight=weight, offset=offset)
    z = unit(20, dim, seed=seed + 1)
    far, own = boundary.distance(z), classes_of(boundary, z)
    # To every other class along the straight way, which is where the plane between them is nearest.
    for other in range(classes):
        way = weight[other] - weight[own]
        length = way.norm(dim=1, keepdim=True).clamp_min(1e-12)
        inside = z + 0.999 * far[:, None] * way / length
        assert torch.equal(classes_of(boundary, inside), own)
    # And along one of these ways the class changes just beyond the distance.
    beyond = torch.zeros(len(z), dtype=torch.bool)
    for other in range(classes):
        way = weight[other] - weight[own]
        there = z + 1.001 * far[:, None] * way / way.norm(dim=1, keepdim=True).clamp_min(1e-12)
        beyond |= classes_of(boundary, there) != own
    assert beyond.all()


def test_two_classes_without_offset_are_the_papers_product() -> None:
    w = unit(1, 5, seed=3)
    boundary = Boundary(weight=torch.cat([w, -w]), offset=torch.zeros(2, dtype=torch.float64))
    z = unit(30, 5, seed=4)
    torch.testing.assert_close(boundary.distance(7 * z), (z @ w[0]).abs())


def test_the_nearest_center_rule() -> None:
    centers = unit(4, 6, seed=0) * torch.tensor([[0.3], [0.9], [0.5], [0.7]])
    z = unit(50, 6, seed=1)
    assert torch.equal(classes_of(Boundary.between(centers), z), torch.cdist(z, centers).argmin(dim=1))


def test_clusters_that_fell_together_have_nothing_between_them() -> None:
    same = Clusters(number=3).boundary(torch.ones(9, 4), None, seed=0)
    assert same.distance(torch.ones(2, 4)).tolist() == [math.inf, math.inf]


def test_whether_there_is_a_boundary_at_all() -> None:
    assert not Clusters(number=3).boundary(torch.ones(9, 4), None, seed=0).exists
    assert Clusters(number=2).boundary(torch.eye(4), None, seed=0).exists


def test_centers_that_are_all_but_the_same_have_a_boundary_between_them() -> None:
    centers = torch.tensor([[0.6, 0.8], [0.6, 0.8 + 2e-7]])
    z = torch.nn.functional.normalize(torch.tensor([[0.6, 0.8], [1.0, 0.0]]), dim=1)
    exact = (z[:, 1].double() - centers[:, 1].double().mean()).abs()
    torch.testing.assert_close(Boundary.between(centers).distance(z).double(), exact, atol=3e-7, rtol=0)


def test_labels_are_told_apart_and_clusters_found() -> None:
    centers = unit(3, 8, seed=5)
    labels = torch.arange(90) % 3
    points = centers[labels] + 0.05 * unit(90, 8, seed=6)
    torch.testing.assert_close(
        classes_of(Labels().boundary(points, labels, seed=0), points), labels, atol=0, rtol=0
    )
    found = classes_of(Clusters(number=3).boundary(points, None, seed=0), points)
    assert (
        len({(label, cluster) for label, cluster in zip(labels.tolist(), found.tolist(), strict=True)}) == 3
    )


@pytest.mark.equal_bits
def test_the_boundary_is_the_same_every_time() -> None:
    points = unit(500, 8, seed=7).float()
    first, again, other = (Clusters(number=5).boundary(points, None, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.weight, again.weight)
    assert not torch.equal(first.weight, other.weight)


def test_every_class_is_in_the_sample_however_rare() -> None:
    labels = torch.cat([torch.zeros(500), torch.ones(3), torch.full((40,), 2)]).long()
    rows = Labels().sample(labels, n=543, rows=12, seed=0)
    assert labels[rows].bincount().tolist() == [5, 3, 4]
    assert len(rows.unique()) == 12
    assert not torch.equal(rows, Labels().sample(labels, n=543, rows=12, seed=1))
    assert sorted(Labels().sample(labels, n=543, rows=543, seed=0).tolist()) == list(range(543))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Clusters(number=1),
            "number must be .* at least 2, got 1: a boundary needs two clusters",
        ),
        (lambda: Clusters(number=30).count(None, rows=20), "number must be at most the 20 rows .*, got 30"),
        (lambda: Labels().count(None, rows=20), "classes of labels, and the data have none"),
        (lambda: Labels().count(torch.zeros(9, dtype=torch.int64), rows=9), "all labels are the same"),
        (
            lambda: Labels().count(torch.arange(9), rows=8),
            "sample must be at least 9, .* got 8",
        ),
        (
            lambda: Labels().count(torch.tensor([0, 1, -1]), rows=9),
            "from 0, got the label -1 in row 2",
        ),
        (lambda: Labels().boundary(torch.eye(2), torch.tensor([0, -1]), seed=0), "below 0 in 1 of 2 rows"),
        (lambda: Clusters().boundary(torch.full((20, 2), torch.nan), None, seed=0), "NaN or infinite"),
    ],
)
def test_what_cannot_be_is_refused(make: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("scale", [1e-30, 1e-13, 1.0, 1e20, 1e37])
def test_distances_do_not_depend_on_the_length_of_an_embedding(scale: float) -> None:
    boundary = Boundary(weight=torch.eye(2), offset=torch.zeros(2))
    z = torch.tensor([[2.0, 1.0], [0.1, 3.0]])
    torch.testing.assert_close(boundary.distance(scale * z), boundary.distance(z))
