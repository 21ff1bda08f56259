"""Classifiers trained by the training error: which learning rate is shown, what is kept and written."""

from __future__ import annotations

import csv
import gzip
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tammes.data import Images
from tammes.data.images import TensorPixels
from tammes.papers.robinson_sets import SETS_TRAINING_ERROR as ENTRY
from tammes.papers.robinson_sets.loss_training import (
    CONSTANT,
    LOSSES,
    SINGLETON,
    UNTRAINED,
    Classifiers,
    LossScore,
    LossTraining,
)
from tammes.papers.robinson_sets.training_error import RATES, best_of, cells, findings, page, parts

CELL = LossTraining(
    data="MNIST",
    images=54,
    network="small convolutional network",
    loss=SINGLETON,
    learning_rate=0.05,
    epochs=2,
    seed=0,
)
MEASURED = LossScore(
    diverged=False, validation=0.5, value=0.4, error=0.4, distance=0.1, seconds_per_epoch=1.0
)


def write_mnist(folder: Path, images: int = 60) -> None:
    """Two classes that differ in brightness, in the original form."""
    folder.mkdir()
    labels = (np.arange(images) % 2).astype(np.uint8)
    pixels = np.full((images, 28, 28), 20, dtype=np.uint8) + (200 * labels)[:, None, None].astype(np.uint8)
    for part in ("train", "t10k"):
        with gzip.open(folder / f"{part}-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">IIII", 2051, images, 28, 28) + pixels.tobytes())
        with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">II", 2049, images) + labels.tobytes())


@pytest.fixture
def mnist(tmp_path: Path) -> Path:
    write_mnist(tmp_path / "mnist")
    return tmp_path / "mnist"


def gray(count: int) -> Images:
    """Images that are told apart by their brightness, which is their number."""
    pixels = torch.arange(count, dtype=torch.uint8)[:, None, None, None].expand(count, 1, 8, 8)
    return Images(
        pixels=TensorPixels(pixels.contiguous()),
        names=tuple(map(str, range(count))),
        labels=torch.arange(count) % 2,
        classes=("even", "odd"),
    )


def test_the_entry_trains_each_loss_at_each_rate_and_shows_the_best(mnist: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ENTRY.reproduce(out, budget=0.02, seed=0, data=mnist)
    with (out / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    controls, rows = rows[:2], rows[2:]
    assert [(row["loss"], row["epochs"]) for row in controls] == [(UNTRAINED, "0"), (CONSTANT, "0")]
    assert [(row["loss"], float(row["learning_rate"])) for row in rows] == [
        (loss, rate) for rate in RATES for loss in LOSSES
    ]
    assert {row["epochs"] for row in rows} == {"2"}
    assert all(0 <= float(row["value"]) <= 1 for row in rows if row["loss"] == SINGLETON)
    assert len(list((out / "curves").iterdir())) == len(rows)
    assert "<svg" in (out / "figure.svg").read_text()
    page = (out / "report.html").read_text()
    assert "MNIST, 54 training images" in page
    assert "learning rate: 0.01, 0.05, 0.1, 0.2; chosen on 6 validation images" in page
    assert "60 test images (accuracies)" in page


def test_a_stopped_study_goes_on(mnist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, measure, asked = tmp_path / "out", Classifiers.measure, []

    def stopping(classifiers: Classifiers, cell: LossTraining) -> LossScore:
        asked.append(cell)
        if len(asked) == 6:
            raise KeyboardInterrupt
        return measure(classifiers, cell)

    monkeypatch.setattr(Classifiers, "measure", stopping)
    with pytest.raises(KeyboardInterrupt, match="stopped with 5 of 18 cells measured"):
        ENTRY.reproduce(out, budget=0.02, seed=0, data=mnist)
    assert "The training error as a loss" in (out / "report.html").read_text()
    ENTRY.reproduce(out, budget=0.02, seed=0, data=mnist)
    assert len(asked) == len(set(asked)) + 1 == 19


def test_what_is_no_such_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected CIFAR-10, SVHN or MNIST as published at .*; found none"):
        ENTRY.reproduce(tmp_path / "out", budget=0.02, seed=0, data=tmp_path)
    assert not (tmp_path / "out").exists()


def test_the_rate_that_validates_best_is_shown_and_of_equal_ones_the_smaller() -> None:
    def at(rate: float, validation: float, *, loss: str = SINGLETON, diverged: bool = False) -> None:
        cell = replace(CELL, loss=loss, learning_rate=rate)
        results[cell] = replace(MEASURED, validation=validation, diverged=diverged)

    results: dict[LossTraining, LossScore] = {}
    at(0.2, 0.9)
    at(0.01, 0.8)
    at(0.1, 0.9)
    at(0.05, 1.0, diverged=True)
    at(0.05, 0.0, loss="hinge", diverged=True)
    rates = {loss: [cell.learning_rate for cell in group] for loss, group in best_of(results).items()}
    assert rates == {SINGLETON: [0.1]}
    follows, minimizes, _ = findings(best_of(results), [0.9])
    assert follows.verdict == "not measured yet"  # there is nothing to compare it with yet
    assert minimizes.verdict == "not measured yet"


def test_a_rate_must_be_best_over_all_seeds() -> None:
    results = {
        replace(CELL, learning_rate=rate, seed=seed): replace(MEASURED, validation=validation)
        for rate, validations in ((0.01, (0.5, 0.5)), (0.1, (0.9, 0.2)), (0.2, (0.9,)))
        for seed, validation in enumerate(validations)
    }
    (group,) = best_of(results).values()
    assert [(cell.learning_rate, cell.seed) for cell in group] == [(0.1, 0), (0.1, 1)]


def test_there_is_no_page_where_nothing_but_divergence_was_seen() -> None:
    assert page({CELL: replace(MEASURED, diverged=True)}, lambda cell: []) is None


def test_a_training_that_diverges_is_told_from_one_that_ends(tmp_path: Path) -> None:
    classifiers = Classifiers(gray(40), gray(10), gray(20), tmp_path / "curves")
    cell = replace(CELL, loss="cross-entropy", learning_rate=1e30, epochs=5)
    measured = classifiers.measure(cell)
    assert measured.diverged
    assert (measured.validation, measured.value, measured.error, measured.distance) == (0, 0, 0, 0)
    assert len(classifiers.curve(cell)) < 5


def test_the_distance_is_the_mean_over_epochs(tmp_path: Path) -> None:
    classifiers = Classifiers(gray(40), gray(10), gray(20), tmp_path / "curves")
    cell = replace(CELL, epochs=3)
    measured = classifiers.measure(cell)
    curve = classifiers.curve(cell)
    assert len(curve) == 3
    with next((tmp_path / "curves").iterdir()).open() as file:
        assert [row["epoch"] for row in csv.DictReader(file)] == ["1", "2", "3"]
    assert measured.distance == pytest.approx(sum(abs(value - error) for value, error in curve) / 3)
    assert (measured.value, measured.error) == curve[-1]
    assert measured.validation in {number / 10 for number in range(11)}
    again = classifiers.measure(cell)
    assert replace(again, seconds_per_epoch=measured.seconds_per_epoch) == measured


def test_images_to_validate_with_are_others() -> None:
    train, validation = parts(gray(50), 40, seed=1)
    assert (len(train), len(validation)) == (36, 4)
    shades = [
        int(images[place][0][0, 0, 0]) for images in (train, validation) for place in range(len(images))
    ]
    assert len(set(shades)) == 40
    train, validation = parts(gray(50), None, seed=1)
    assert (len(train), len(validation)) == (45, 5)


def test_the_whole_budget_is_the_papers() -> None:
    whole = cells("CIFAR-10", 45_000, budget=1, seeds=[0])
    assert {(cell.network, cell.epochs) for cell in whole} == {("ResNet-18", 200), ("ResNet-18", 0)}
    assert {cell.epochs for cell in cells("SVHN", 45_000, budget=0.1, seeds=[0])} == {0, 10}


def test_the_controls_are_an_untrained_network_and_one_class_for_all(tmp_path: Path) -> None:
    classifiers = Classifiers(gray(41), gray(10), gray(20), tmp_path / "curves")
    constant = classifiers.measure(replace(CELL, loss=CONSTANT, epochs=0))
    assert (constant.error, constant.validation, constant.test) == (pytest.approx(20 / 41), 0.5, 0.5)
    untrained = classifiers.measure(replace(CELL, loss=UNTRAINED, epochs=0))
    frozen = classifiers.measure(replace(CELL, learning_rate=0.0))
    assert (untrained.test, untrained.validation) == (frozen.test, frozen.validation)
    assert untrained.error == pytest.approx(frozen.error)
