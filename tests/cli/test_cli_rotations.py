"""Whether augmentations act as rotations, in `tammes evaluate` and on pages, known or not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tammes.cli.evaluate import _in_words
from tammes.cli.main import main
from tammes.cli.rotations import MeasuredRotations, known_augmentation, measured_rotations
from tammes.positives import Handwriting, Identity, Photographs, SameClass
from tammes.training import Care, Machine, Run, RunFolder, TrainingConfig, train
from tammes.training.rotations import Rotations
from tiny import make_config, make_text_config, random_images, random_texts, write_images

UNKNOWN = replace(make_config(), augmentation=Identity(), positives=SameClass(), epochs=1)
NETWORK = "encoder:convnet --encoder.width 8"


def trained(config: TrainingConfig, folder: RunFolder | None = None) -> Run:
    return train(config, random_images(22), folder=folder, machine=Machine(accelerator="cpu"))


def test_the_augmentation_is_that_of_the_equivariance_loss_if_it_has_one() -> None:
    config = replace(make_config(), batch_size=8)
    assert known_augmentation(config) == Handwriting()
    assert known_augmentation(replace(config, equivariance=Care(groups=2))) == Handwriting()
    care = Care(groups=2, augmentation=Photographs())
    assert known_augmentation(replace(config, equivariance=care)) == Photographs()
    assert known_augmentation(UNKNOWN) is None
    assert known_augmentation(make_text_config()) is None


def test_a_run_without_an_augmentation_says_which_flag_names_one() -> None:
    run = trained(UNKNOWN)
    missing = measured_rotations(run, random_images(22))
    assert missing.rotations is None
    assert "unknown: name one by --augmentation photographs" in missing.missing
    named = measured_rotations(run, random_images(22), "handwriting").rotations
    assert named is not None
    assert named.rows == 22
    few = measured_rotations(run, random_images(5), "handwriting")
    assert few.rotations is None
    assert "more than 5 images" in few.missing


def test_texts_have_none() -> None:
    texts = random_texts()
    run = train(replace(make_text_config(), epochs=1), texts, machine=Machine(accelerator="cpu"))
    assert "only augmentations of images" in measured_rotations(run, texts).missing
    with pytest.raises(ValueError, match="--augmentation is for images"):
        measured_rotations(run, texts, "photographs")


def test_evaluate_and_the_page_have_the_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_images(tmp_path / "pets", "cat", "dog", count=9)
    out = tmp_path / "run"
    words = f"train simclr --temperature 0.5 --size 8 --batch-size 4 --epochs 1 {NETWORK}"
    assert main([*words.split(), "--data", str(data), "--out", str(out)]) == 0
    assert "Augmentations as rotations" in (out / "report.html").read_text()
    capsys.readouterr()
    evaluate = ["evaluate", str(out), "--data", str(data), "--test", str(data)]
    assert main(evaluate) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "10 augmentations of 18 images" in said
    assert "Two in a row" in said
    assert main([*evaluate, "--json", "--augmentation", "handwriting"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["rows"] == 18
    assert numbers["wahba"] > 0


def test_what_does_not_move_is_said_in_words() -> None:
    still = Rotations(
        wahba=0.0, gamma=None, unexplained=None, invariance=0.0, cosine_variance=0.0, composition_error=None,
        composition_best=None, neighbors_kept=1.0, color_followed=None, rows=50, dimension=8, augmentations=4,
    )  # fmt: skip
    said = _in_words(MeasuredRotations(rotations=still))
    assert "gamma -" in said
    assert "Two in a row" not in said
    assert "no rotation" not in said
    assert "colors follow" not in said


def test_evaluate_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_images(tmp_path / "pets", "cat", "dog", count=6)
    out = tmp_path / "run"
    words = "train simclr --temperature 0.5 --size 8 --batch-size 4 --epochs 1 positives:same-class"
    more = f"augmentation:identity {NETWORK}"
    assert main([*words.split(), *more.split(), "--data", str(data), "--out", str(out)]) == 0
    assert "Augmentations as rotations" not in (out / "report.html").read_text()
    capsys.readouterr()
    evaluate = ["evaluate", str(out), "--data", str(data), "--test", str(data)]
    assert main(evaluate) == 0
    assert "Rotations: not measured; the run pairs different images" in " ".join(
        capsys.readouterr().out.split()
    )
    assert main([*evaluate, "--json"]) == 0
    assert "wahba" not in json.loads(capsys.readouterr().out)
