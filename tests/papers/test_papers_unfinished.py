"""The training that a study was stopped in: it resumes, gives the same score, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tammes.papers.robinson_masked.measured import measured
from tammes.papers.robinson_masked.runs import CAN
from tammes.papers.robinson_masked.scale import MaskedScale
from tammes.papers.robinson_masked.training import base_run, drawer
from tammes.papers.robinson_negatives.images_arms import HCL, SIMCLR, ImageRun
from tammes.papers.robinson_negatives.images_training import ImageScale, measurer
from tammes.papers.unfinished import Unfinished
from tammes.training.checkpoint import SaveCheckpoint
from tiny import random_images

SETS = {"noise": (random_images(60, classes=4), random_images(20, classes=4, seed=1))}
RUN = ImageRun(
    data="noise",
    objective=SIMCLR,
    temperature=0.5,
    hardness=0.0,
    class_prior=0.0,
    batch_size=8,
    classes=4,
    images=40,
    epochs=3,
    encoder="ResNet-9, width 8",
    seed=0,
)
SCALE = ImageScale(images=40, test_images=20, epochs=3, batch_size=8)


@pytest.fixture
def stopped_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Send SIGTERM once, after the first epoch's checkpoint; the steps of all checkpoints are listed."""
    steps: list[int] = []
    usual = SaveCheckpoint.on_train_epoch_end

    def save(self: SaveCheckpoint, trainer: Any, module: Any) -> None:
        usual(self, trainer, module)
        steps.append(trainer.global_step)
        if len(steps) == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(SaveCheckpoint, "on_train_epoch_end", save)
    return steps


def test_an_image_cell_resumes_and_scores_as_if_it_had_not_been_stopped(
    tmp_path: Path, stopped_once: list[int]
) -> None:
    begun = Unfinished(study=tmp_path)
    measure = measurer(SETS, SCALE, begun)
    with pytest.raises(KeyboardInterrupt, match="stopped after"):
        measure(RUN)
    assert len(list(begun.path.iterdir())) == 1
    resumed = measure(RUN)
    assert stopped_once[0] == 5
    assert stopped_once[-1] == 15 == resumed.steps
    assert stopped_once.count(5) == 1  # the first epoch was not trained again
    assert not begun.path.exists()
    assert resumed.seconds > 0
    whole = measurer(SETS, SCALE)(RUN)
    assert replace(resumed, seconds=0.0) == replace(whole, seconds=0.0)


def test_a_masked_cell_resumes_too(tmp_path: Path, stopped_once: list[int]) -> None:
    scale = MaskedScale(images=40, test_images=20, epochs=3, batch_size=8)
    run = replace(base_run("noise", SETS["noise"], scale), method=CAN, epochs=3)
    drawn, begun = drawer(SETS)(run), Unfinished(study=tmp_path)
    with pytest.raises(KeyboardInterrupt, match="stopped after"):
        measured(run, drawn, unfinished=begun)
    resumed = measured(run, drawn, unfinished=begun)
    assert stopped_once.count(stopped_once[0]) == 1
    whole = measured(run, drawn)
    assert repr(replace(resumed, seconds=0.0)) == repr(replace(whole, seconds=0.0))  # with NaN in them


def test_the_training_of_another_cell_is_not_taken_up(tmp_path: Path, stopped_once: list[int]) -> None:
    begun = Unfinished(study=tmp_path)
    measure = measurer(SETS, SCALE, begun)
    with pytest.raises(KeyboardInterrupt):
        measure(RUN)
    other = replace(RUN, objective=HCL, hardness=1.0, class_prior=0.1)
    assert replace(measure(other), seconds=0.0) == replace(measurer(SETS, SCALE)(other), seconds=0.0)
    with begun.training(RUN) as folder:
        assert not folder.resume  # the first one was given up


def test_nor_is_one_that_was_begun_with_other_settings(tmp_path: Path, stopped_once: list[int]) -> None:
    begun = Unfinished(study=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        measurer(SETS, replace(SCALE, on_gpu=True), begun)(RUN)  # another precision and learning rate
    measured_here = measurer(SETS, SCALE, begun)(RUN)
    assert replace(measured_here, seconds=0.0) == replace(measurer(SETS, SCALE)(RUN), seconds=0.0)


def test_a_stop_in_the_scoring_keeps_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = Unfinished(study=tmp_path)
    measure = measurer(SETS, SCALE, begun)

    def stopped(*_: object) -> float:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tammes.papers.robinson_negatives.images_training._readouts", stopped)
        with pytest.raises(KeyboardInterrupt):
            measure(RUN)
    steps: list[int] = []
    monkeypatch.setattr(SaveCheckpoint, "on_train_epoch_end", lambda *_: steps.append(1))
    assert replace(measure(RUN), seconds=0.0) == replace(measurer(SETS, SCALE)(RUN), seconds=0.0)
    assert len(steps) == 3  # of the one that is trained anew


def fails(begun: Unfinished) -> None:
    with begun.training(RUN) as folder:
        folder.config.write_text("settings")
        raise RuntimeError("disk")


def test_an_error_keeps_the_training_and_an_end_deletes_it(tmp_path: Path) -> None:
    begun = Unfinished(study=tmp_path)
    with pytest.raises(RuntimeError, match="disk"):
        fails(begun)
    with begun.training(RUN) as folder:
        assert folder.resume
        assert folder.config.read_text() == "settings"
    assert list(tmp_path.iterdir()) == []


def test_only_long_trainings_are_kept() -> None:
    assert not MaskedScale().resumes
    assert MaskedScale(encoder="ViT 6 x 192").resumes
