from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tammes.data import Images, TensorPixels
from tammes.evaluation import ImageReadout, LabeledFeatures, LinearProbe, ShiftScores, measure_shift
from tammes.evaluation.shift import shared_classes
from tiny import random_images


@pytest.mark.parametrize(("shifted", "clean"), [(0.3, 0.8), (0.02, 0.9), (0.6, 0.6)])
def test_the_interval_of_a_shift_holds_the_truth_in_95_of_100_sets(shifted: float, clean: float) -> None:
    generator = torch.Generator().manual_seed(1)
    truth = 1 - shifted / clean
    hits = 0
    for _ in range(300):
        scores = ShiftScores(
            shifted=torch.rand(100, generator=generator) < shifted,
            right=torch.rand(150, generator=generator) < clean,
            classes=2,
        )
        assert scores.fall is not None
        hits += scores.fall.low <= truth <= scores.fall.high
    assert 0.91 <= hits / 300 <= 0.99


def test_a_fall_from_nothing_has_no_number() -> None:
    wrong = torch.zeros(5, dtype=torch.bool)
    assert ShiftScores(shifted=~wrong, right=wrong, classes=2).fall is None
    lost = ShiftScores(shifted=wrong, right=~wrong, classes=2).fall
    assert lost is not None
    assert (lost.mean, lost.high) == (1.0, 1.0)
    assert lost.low < 1


class Given:
    """Classifier that reads its logits off the first pixels, and prefers class 1 among equals not at all."""

    classes = torch.arange(3)

    def logits(self, images: Images) -> Tensor:
        return images.batch(range(len(images))).flatten(1)[:, :3].float()


def drawn(rows: list[list[int]], labels: list[int], classes: tuple[str, ...]) -> Images:
    tensor = torch.zeros(len(rows), 1, 2, 2, dtype=torch.uint8)
    tensor.flatten(1)[:, :3] = torch.tensor(rows, dtype=torch.uint8)
    return Images(
        pixels=TensorPixels(tensor),
        names=tuple(map(str, range(len(rows)))),
        labels=torch.tensor(labels),
        classes=classes,
    )


def test_logits_are_restricted_to_the_classes_of_both_sets() -> None:
    usual = drawn([[9, 8, 0], [0, 8, 9], [0, 0, 9], [9, 5, 0]], [0, 1, 2, 2], ("ant", "bee", "cat"))
    # Class ant wins everywhere here, but the other set has no ants.
    other = drawn([[9, 8, 0], [9, 8, 7], [9, 0, 1]], [0, 1, 1], ("bee", "cat"))
    scores = measure_shift(Given(), usual, other)
    assert scores.shifted.tolist() == [True, False, True]
    assert scores.right.tolist() == [False, True, False]
    assert scores.classes == 2
    numbered = replace(other, classes=("1", "2"))
    assert torch.equal(measure_shift(Given(), usual, numbered).shifted, scores.shifted)


def test_classes_that_do_not_match_are_named() -> None:
    usual = drawn([[9, 8, 0], [0, 8, 9]], [0, 1], ("ant", "bee", "cat"))
    other = drawn([[9, 8, 0], [9, 8, 7]], [0, 1], ("bee", "wasp"))
    with pytest.raises(ValueError, match=r"named as classes of the data \(ant, bee, cat\).*found wasp"):
        measure_shift(Given(), usual, other)
    with pytest.raises(ValueError, match="found 0, 7"):
        shared_classes(("ant", "bee"), ("0", "7"))
    assert shared_classes(("0", "1", "10"), ("1", "10")) == (1, 2), "names come before numbers"
    cats = drawn([[9, 8, 0], [9, 8, 7]], [0, 1], ("bee", "cat"))
    images = random_images(20)
    assert images.labels is not None
    points = LabeledFeatures(features=images.batch(range(20)).flatten(1) / 255, labels=images.labels)
    few = ImageReadout(features=lambda _: points.features, readout=LinearProbe().fit(points))
    with pytest.raises(ValueError, match="has learned from no image of cat"):
        measure_shift(few, usual, cats)
    ants = replace(usual, labels=torch.tensor([0, 0]))
    with pytest.raises(ValueError, match="at least two classes"):
        measure_shift(Given(), ants, cats)
    beeless = drawn([[9, 8, 0], [0, 8, 9]], [0, 3], ("ant", "bee", "cat", "dog"))
    with pytest.raises(ValueError, match="no test image has a class of the other set: bee, cat"):
        measure_shift(Given(), beeless, cats)
