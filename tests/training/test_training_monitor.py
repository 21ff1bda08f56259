from dataclasses import replace

import pytest

from tammes.training import ImagesSummary, Monitor, RunConfig, build_model
from tiny import make_config, random_images


def test_a_bank_that_holds_the_answers_gives_them() -> None:
    images = random_images(12)
    network = build_model(
        RunConfig(training=make_config(), data=ImagesSummary(source="", count=12, channels=1, size=8))
    )
    assert Monitor(bank=images, held_out=images, neighbors=1).accuracy(network) == 1.0
    few = Monitor(bank=images, held_out=images)  # twelve images cannot give twenty neighbors
    assert 0 <= few.accuracy(network) <= 1


def test_the_first_and_the_last_are_always_due() -> None:
    monitor = Monitor(bank=random_images(4), held_out=random_images(4), every=3)
    assert [epoch for epoch in range(9) if monitor.due(epoch, 8)] == [0, 3, 6, 8]


def test_images_without_labels_are_refused() -> None:
    images = random_images(4)
    with pytest.raises(ValueError, match="expected labeled images"):
        Monitor(bank=images, held_out=replace(images, labels=None, classes=None))
    with pytest.raises(ValueError, match="every must be at least 1 epoch, got 0"):
        Monitor(bank=images, held_out=images, every=0)
