"""Measurements of a network under augmentations, each of which is applied to all images."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from tammes.data.images import as_floats
from tammes.diagnostics import alignment, composition, invariance, relative_equivariance, wahba_error
from tammes.encoders import Encoder
from tammes.positives import Handwriting, Identity
from tammes.training import Model
from tammes.training.rotations import measure_rotations
from tammes.training.seeds import Purpose, derive
from tiny import random_images


class Pixels(Encoder):
    """The pixels, times a weight."""

    def __init__(self, weight: float = 1.0) -> None:
        super().__init__()
        self.features = 64
        self.weight = nn.Parameter(torch.tensor(weight))

    def forward(self, images: Tensor) -> Tensor:
        return self.weight * images.flatten(1)


class Constant(Pixels):
    def forward(self, images: Tensor) -> Tensor:
        return self.weight.expand(len(images), 64)


def test_the_numbers_are_those_of_the_functions() -> None:
    images, augmentation = random_images(30), Handwriting()
    model = Model(Pixels(), None)
    found = measure_rotations(model, images, augmentation, seed=3, augmentations=4, compositions=2)
    plain = as_floats(images.batch(range(30)))
    seeds = [derive(3, Purpose.MEASURED_AUGMENTATION, number) for number in range(4)]
    views = [augmentation(plain, seed=seed, groups=1) for seed in seeds]
    before, after = plain.flatten(1), [view.flatten(1) for view in views]
    assert found.each == tuple(wahba_error(before, each) for each in after)
    assert found.wahba == pytest.approx(sum(found.each) / 4)
    moved = sum(30 * alignment(before, each) for each in after)
    assert found.unexplained == pytest.approx(sum(error**2 for error in found.each) / moved)
    assert found.gamma == pytest.approx(sum(relative_equivariance(before, each) for each in after) / 4)
    assert found.invariance == pytest.approx(sum(invariance(before, each) for each in after) / 4)
    both = [augmentation(views[i], seed=seeds[i + 1], groups=1).flatten(1) for i in range(2)]
    composed = [composition(before, after[i], after[i + 1], both[i]) for i in range(2)]
    assert found.composition_error == pytest.approx(sum(each.error for each in composed) / 2)
    assert found.composition_best == pytest.approx(sum(each.best for each in composed) / 2)
    assert (found.rows, found.dimension, found.augmentations) == (30, 64, 4)
    assert found.largest_wahba == pytest.approx(60**0.5)
    assert set(found.numbers) >= {"wahba", "gamma", "rows", "augmentations"}


def test_every_network_is_measured_on_the_same_augmentations_and_in_evaluation_mode() -> None:
    images = random_images(20)
    model = Model(Pixels(), None).train()
    first = measure_rotations(model, images, Handwriting(), augmentations=2, compositions=0)
    assert model.training
    second = measure_rotations(
        Model(Pixels(2.0), None), images, Handwriting(), augmentations=2, compositions=0
    )
    assert first.each == pytest.approx(second.each)
    other = measure_rotations(model, images, Handwriting(), seed=1, augmentations=2, compositions=0)
    assert first.each != pytest.approx(other.each)
    assert first.composition_error is None
    assert "composition_error" not in first.numbers


def test_what_does_not_move_has_no_gamma() -> None:
    images = random_images(20)
    for model, augmentation in ((Pixels(), Identity()), (Constant(), Handwriting())):
        found = measure_rotations(Model(model, None), images, augmentation, augmentations=2, compositions=1)
        assert found.gamma is None
        assert found.unexplained is None
        assert found.invariance == 0
        assert found.wahba == pytest.approx(0, abs=1e-6)
    assert found.neighbors_kept > 0.99


def test_colors_of_what_pixels_retrieve_follow_the_query() -> None:
    images = random_images(60)
    pixels = measure_rotations(Model(Pixels(), None), images, Handwriting(), augmentations=1, compositions=0)
    constant = measure_rotations(
        Model(Constant(), None), images, Handwriting(), augmentations=1, compositions=0
    )
    assert pixels.neighbors_kept < constant.neighbors_kept
    assert constant.color_followed == pytest.approx(0, abs=1e-9)
    assert pixels.color_followed is not None


def test_wrong_numbers_are_refused() -> None:
    model, images = Model(Pixels(), None), random_images(10)
    with pytest.raises(ValueError, match="2 compositions need more than 2 augmentations"):
        measure_rotations(model, images, Handwriting(), augmentations=2, compositions=2)
    with pytest.raises(ValueError, match="retrieval needs more than 5 images, got 5"):
        measure_rotations(model, random_images(5), Handwriting())
    with pytest.raises(ValueError, match="augmentations must be an integer"):
        measure_rotations(model, images, Handwriting(), augmentations=0)
