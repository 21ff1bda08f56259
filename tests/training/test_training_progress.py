"""What a training shows where there is no terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tammes
from tammes.data import digits
from tammes.encoders import ConvNetConfig
from tammes.positives import Handwriting
from tammes.training import Machine, Monitor, RunFolder, TrainingConfig, train


def test_a_line_for_each_epoch_goes_to_files_and_pipes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    images = digits("train").subset(range(64))
    config = TrainingConfig(
        objective=tammes.recipes.simclr(temperature=0.5),
        encoder=ConvNetConfig(width=8),
        augmentation=Handwriting(),
        batch_size=32,
        epochs=2,
    )
    monitor = Monitor(bank=images, held_out=digits("test").subset(range(32)), every=2)
    folder = RunFolder(path=tmp_path / "run")
    run = train(config, images, monitor=monitor, folder=folder, machine=Machine(progress=True))
    first, second, third = capsys.readouterr().out.strip().splitlines()
    assert re.fullmatch(r"before training: kNN [\d.]+ %", first)
    assert re.fullmatch(
        rf"epoch 1/2: loss {run.metrics[1].loss:.4f}, [\d.]+ (s|min), about [\d.]+ (s|min) left", second
    )
    assert re.fullmatch(rf"epoch 2/2: loss {run.metrics[2].loss:.4f}, kNN [\d.]+ %, [\d.]+ (s|min)", third)
    train(config, images, monitor=monitor)
    assert capsys.readouterr().out == ""
