"""What the bar says while a run goes on."""

from dataclasses import replace

import pytest

from tammes.training import Machine, train
from tiny import make_config, random_images


def test_epochs_are_counted_from_one(capfd: pytest.CaptureFixture[str]) -> None:
    machine = Machine(accelerator="cpu", progress=True)
    train(replace(make_config(), epochs=2), random_images(22), machine=machine)
    said = "".join(capfd.readouterr())
    assert "Epoch 2/2" in said
    assert "Epoch 1/1" not in said
