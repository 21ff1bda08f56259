"""Attacks on a linear classifier, whose worst case is known in closed form."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from tammes.evaluation import PGD, attacked_accuracy, check_input_gradient, robust_sets, towards

WEIGHT = torch.randn(3, 48, generator=torch.Generator().manual_seed(0))


def linear(images: Tensor) -> Tensor:
    return images.flatten(1) @ WEIGHT.T


def pictures(count: int, seed: int = 1) -> Tensor:
    return 0.2 + 0.6 * torch.rand(count, 3, 4, 4, generator=torch.Generator().manual_seed(seed))


def margins(images: Tensor, labels: Tensor, radius: float) -> Tensor:
    """Least margin of two classes of a linear classifier within an l-infinity ball inside of [0, 1]."""
    other = 1 - labels
    difference = WEIGHT[labels] - WEIGHT[other]
    return (images.flatten(1) * difference).sum(dim=1) - radius * difference.abs().sum(dim=1)


def two(images: Tensor) -> Tensor:
    return linear(images)[:, :2]


def test_an_attack_stays_in_its_ball_and_in_the_range_of_pixels() -> None:
    images = torch.rand(20, 3, 4, 4, generator=torch.Generator().manual_seed(2))
    labels = linear(images).argmax(dim=1)
    for attack in (PGD(radius=0.05), PGD(radius=0.3, steps=1, step=1.0, random_start=False)):
        moved = attack(linear, images, labels)
        assert float((moved - images).abs().amax()) <= attack.radius + 1e-6
        assert 0 <= float(moved.amin()) <= float(moved.amax()) <= 1
        assert torch.equal(moved, attack(linear, images, labels))
    assert not torch.equal(PGD(seed=1)(linear, images, labels), PGD(seed=2)(linear, images, labels))


@pytest.mark.parametrize(
    "attack", [PGD(radius=0.05, steps=20), PGD(radius=0.05, steps=1, step=0.05, random_start=False)]
)
def test_of_a_linear_classifier_the_worst_case_is_found(attack: PGD) -> None:
    images = pictures(200)
    labels = two(images).argmax(dim=1)
    robust = (margins(images, labels, 0.05) > 0).double().mean()
    assert 0.1 < float(robust) < 0.9
    assert attacked_accuracy(two, images, labels) == 1
    assert attacked_accuracy(two, images, labels, attack) == pytest.approx(float(robust), abs=1e-9)


def test_a_larger_radius_leaves_less_and_none_leaves_all() -> None:
    images = pictures(300)
    labels = two(images).argmax(dim=1)
    shares = [attacked_accuracy(two, images, labels, PGD(radius=radius)) for radius in (0.0, 0.02, 0.05, 0.2)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == 1


def test_repeated_steps_end_where_the_target_is_reached() -> None:
    images = pictures(50)
    targets = torch.arange(50) % 3
    moved, taken = towards(linear, images, targets, step=0.01)
    assert bool((taken >= 0).all())
    assert bool((linear(moved).argmax(dim=1) == targets).all())
    assert float((moved - images).abs().flatten(1).amax(dim=1).sub(0.01 * taken).amax()) < 1e-6
    already = linear(images).argmax(dim=1) == targets
    assert torch.equal(taken == 0, already)
    assert torch.equal(moved[already], images[already])
    # One step fewer is not enough.
    most = int(taken.amax())
    assert int((towards(linear, images, targets, step=0.01, most=most - 1)[1] < 0).sum()) >= 1


def test_robust_sets_keep_images_labels_and_targets_together() -> None:
    images, labels = pictures(60), torch.arange(60) % 3
    sets = robust_sets(linear, images, labels, classes=3, seed=4)
    assert bool(sets.reached.all())
    assert torch.equal(sets.labels, labels)
    assert torch.equal(linear(sets.images).argmax(dim=1), sets.targets)
    assert sets.targets.unique().tolist() == [0, 1, 2]
    assert torch.equal(sets.targets, robust_sets(linear, images, labels, classes=3, seed=4).targets)
    short = robust_sets(linear, images, labels, classes=3, most=1, step=1e-6)
    assert 0 < int(short.reached.sum()) < 60
    assert torch.equal(short.reached, short.steps >= 0)


class Rounded(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        return linear((255 * images).round() / 255)


@pytest.mark.parametrize(
    ("classify", "problem"),
    [
        (Rounded(), "got zero for every pixel: it rounds its input"),
        (torch.no_grad()(linear), "got none: it computes without gradients"),
        (lambda images: torch.ones(len(images), 3, requires_grad=True), "got none"),
        (lambda images: (images.flatten(1) - images.flatten(1)).sqrt(), "got NaN or infinity"),
    ],
)
def test_what_has_no_gradient_in_its_input_cannot_be_attacked(classify: nn.Module, problem: str) -> None:
    images, labels = pictures(4), torch.zeros(4, dtype=torch.int64)
    for attacked in (
        lambda: check_input_gradient(classify, images),
        lambda: attacked_accuracy(classify, images, labels, PGD()),
        lambda: towards(classify, images, labels),
        lambda: robust_sets(classify, images, labels, classes=3),
    ):
        with pytest.raises(ValueError, match=f"expected a classifier with a gradient .* {problem}"):
            attacked()


def test_a_saturated_classifier_is_not_taken_for_one_without_gradients() -> None:
    check_input_gradient(lambda images: 1e4 * linear(images), pictures(2))


def test_no_images_are_no_fault_of_the_classifier() -> None:
    images, labels = pictures(0), torch.zeros(0, dtype=torch.int64)
    for measured in (
        lambda: attacked_accuracy(linear, images, labels),
        lambda: attacked_accuracy(linear, images, labels, PGD()),
        lambda: PGD()(linear, images, labels),
        lambda: towards(linear, images, labels),
    ):
        with pytest.raises(ValueError, match="at least one image, got none"):
            measured()


@pytest.mark.parametrize(
    ("pixel", "message"), [(1.5, r"got 0\.2.* to 1\.5"), (-0.5, "got -0.5 to"), (torch.nan, "got nan to nan")]
)
def test_pixels_outside_their_range_are_not_cut_off(pixel: float, message: str) -> None:
    images, labels = pictures(4), torch.zeros(4, dtype=torch.int64)
    images[2, 1, 0, 0] = pixel
    for measured in (
        lambda: attacked_accuracy(linear, images, labels),
        lambda: PGD()(linear, images, labels),
        lambda: towards(linear, images, labels),
    ):
        with pytest.raises(ValueError, match=rf"expected images in \[0, 1\], {message}"):
            measured()
    with pytest.raises(ValueError, match=r"as floating-point numbers, got torch\.uint8"):
        attacked_accuracy(linear, (255 * pictures(4)).byte(), labels)


def test_wrong_numbers_are_refused() -> None:
    images, labels = pictures(4), torch.zeros(4, dtype=torch.int64)
    for given, match in (({"radius": 1.5}, "radius"), ({"steps": 0}, "steps"), ({"step": 0.0}, "step")):
        with pytest.raises(ValueError, match=match):
            PGD(**given)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="labels, one for each image"):
        PGD()(linear, images, labels[:2])
    with pytest.raises(ValueError, match="labels, one for each image"):
        attacked_accuracy(linear, images, labels[:2])
    with pytest.raises(ValueError, match="targets, one for each image"):
        towards(linear, images, labels[:2])
    with pytest.raises(ValueError, match="labels"):
        robust_sets(linear, images, labels + 3, classes=3)
    with pytest.raises(ValueError, match="classes"):
        robust_sets(linear, images, labels, classes=1)
