import math
import warnings
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import torch

from tammes import recipes
from tammes.evaluation import KNN
from tammes.training import (
    Adam,
    Constant,
    Cosine,
    EpochMetrics,
    ImagesSummary,
    Machine,
    Monitor,
    Run,
    RunConfig,
    RunFolder,
    build_model,
    train,
)
from tammes.training.metrics import OvertakenWarning, read_csv, to_csv
from tammes.training.module import ContrastiveModule
from tiny import make_config, random_images

ROWS = (
    EpochMetrics(epoch=0, step=0, knn=0.1),
    EpochMetrics(
        epoch=1,
        step=5,
        loss=1 / 3,
        learning_rate=1e-3,
        gradient_norm=2 / 3,
        last={"negatives": 510.0, "sinkhorn_error": 1e-17},
    ),
    EpochMetrics(epoch=2, step=10, loss=2.5, knn=0.25, learning_rate=5e-4, last={"negatives": 510.0}),
)


def go(adam: Adam, folder: RunFolder | None = None, *, epochs: int = 3, batch_size: int = 4) -> Run:
    config = replace(make_config(), optimizer=adam, epochs=epochs, batch_size=batch_size)
    return train(config, random_images(22), folder=folder, machine=Machine(accelerator="cpu"))


def modified(epsilon: float, epochs: int, folder: RunFolder | None = None) -> Run:
    objective = recipes.ifm(temperature=0.5, epsilon=epsilon)
    config = replace(
        make_config(), objective=objective, epochs=epochs, annealing=None, optimizer=Adam(schedule=Constant())
    )
    return train(config, random_images(22), folder=folder, machine=Machine(accelerator="cpu"))


def test_an_epsilon_too_large_is_said_once_in_a_run_that_is_resumed_too(tmp_path: Path) -> None:
    with pytest.warns(OvertakenWarning, match="of 100% of the anchors below all their negatives") as said:
        run = modified(1.5, 2, RunFolder(path=tmp_path / "run"))
    assert len([each for each in said if each.category is OvertakenWarning]) == 1
    assert [row.last["overtaken_positives"] for row in run.metrics] == [1.0, 1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", OvertakenWarning)
        modified(1.5, 3, RunFolder(path=tmp_path / "run", resume=True))
        modified(0.0, 1)


def test_rows_survive_the_file_exactly(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text(to_csv(ROWS))
    assert read_csv(tmp_path / "metrics.csv") == ROWS


def test_a_file_is_a_header_and_a_line_for_each_row() -> None:
    header, *lines = to_csv(ROWS).splitlines()
    assert header == "epoch,step,loss,knn,learning_rate,gradient_norm,negatives,sinkhorn_error"
    assert lines == [
        "0,0,,0.1,,,,",
        "1,5,0.3333333333333333,,0.001,0.6666666666666666,510.0,1e-17",
        "2,10,2.5,0.25,0.0005,,510.0,",
    ]


def test_a_file_of_an_older_version_lacks_the_later_columns(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("epoch,step,loss,knn,negatives\n1,5,0.5,,510.0\n")
    (row,) = read_csv(tmp_path / "metrics.csv")
    assert row == EpochMetrics(epoch=1, step=5, loss=0.5, last={"negatives": 510.0})


def test_the_learning_rate_is_that_of_the_last_step() -> None:
    adam = Adam(learning_rate=2e-3, schedule=Cosine(warmup_epochs=1))
    rates = [row.learning_rate for row in go(adam).metrics]
    expected = [2e-3 * adam.schedule.factor(step=step, steps=15, steps_per_epoch=5) for step in (4, 9, 14)]
    assert rates == pytest.approx(expected, rel=1e-12)


def test_the_gradient_norm_is_the_mean_over_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    norms: list[float] = []
    check = ContrastiveModule.on_before_optimizer_step

    def on_before_optimizer_step(module: ContrastiveModule, optimizer: torch.optim.Optimizer) -> None:
        squares = [p.grad.double().square().sum() for p in module.parameters() if p.grad is not None]
        norms.append(math.sqrt(sum(map(float, squares))))
        check(module, optimizer)

    monkeypatch.setattr(ContrastiveModule, "on_before_optimizer_step", on_before_optimizer_step)
    found = [row.gradient_norm for row in go(Adam()).metrics]
    assert found == pytest.approx([fmean(norms[start : start + 5]) for start in (0, 5, 10)], rel=1e-5)


def test_the_gradient_norm_is_that_before_clipping() -> None:
    plain, clipped = (
        go(Adam(clip_norm=clip), epochs=1, batch_size=22).metrics[-1].gradient_norm for clip in (None, 1e-3)
    )
    assert plain == clipped
    assert plain is not None
    assert plain > 1e-3


@pytest.mark.parametrize("step", [5, 7], ids=["between epochs", "within an epoch"])
def test_a_run_of_an_older_version_goes_on_with_empty_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    folder = RunFolder(path=tmp_path / "run", checkpoint_every=1)
    whole = go(Adam())
    begin = ContrastiveModule.training_step

    def training_step(module: ContrastiveModule, *arguments: Any) -> torch.Tensor:
        if module.global_step == step:
            raise KeyboardInterrupt
        return begin(module, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(ContrastiveModule, "training_step", training_step)
        with pytest.raises(KeyboardInterrupt):
            go(Adam(), folder)
    folder.previous.unlink()
    checkpoint = torch.load(folder.checkpoint, weights_only=True)
    state = checkpoint["callbacks"]["Metrics"]
    del state["gradient_norm_sum"]
    state["rows"] = [[*row[:4], row[-1]] for row in state["rows"]]
    torch.save(checkpoint, folder.checkpoint)

    first, second, third = go(Adam(), replace(folder, resume=True)).metrics
    complete = whole.metrics
    assert first == replace(complete[0], learning_rate=None, gradient_norm=None)
    assert second == (complete[1] if step == 5 else replace(complete[1], gradient_norm=None))
    assert third == complete[2]


def test_a_cell_that_is_no_number_is_refused(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("epoch,step,loss,knn\n1,5,low,\n")
    with pytest.raises(ValueError, match=r"metrics\.csv: expected numbers"):
        read_csv(tmp_path / "metrics.csv")


def test_a_bank_that_holds_the_answers_gives_them() -> None:
    images = random_images(12)
    network = build_model(
        RunConfig(training=make_config(), data=ImagesSummary(source="", count=12, channels=1, size=8))
    )
    assert Monitor(bank=images, held_out=images, knn=KNN(neighbors=1)).accuracy(network) == 1.0
    few = Monitor(bank=images, held_out=images)  # twelve images cannot give twenty neighbors
    assert 0 <= few.accuracy(network) <= 1


def test_a_bank_smaller_than_the_vote_is_refused_before_the_training() -> None:
    images = random_images(12)
    Monitor(bank=images, held_out=images, knn=KNN(neighbors=12, temperature=0.1))
    said = "neighbors must be at most the number of training points, got 200 neighbors and 12 points"
    with pytest.raises(ValueError, match=said):
        Monitor(bank=images, held_out=images, knn=KNN(neighbors=200, temperature=0.1))


def test_a_weighted_vote_of_all_goes_by_similarity() -> None:
    """A majority of all rows names the larger class for every image; a sharp vote the class of the image."""
    images = random_images(12)
    known = images.subset([0, 1, 3, 5, 7])
    network = build_model(
        RunConfig(training=make_config(), data=ImagesSummary(source="", count=12, channels=1, size=8))
    )
    counted, weighted = (
        Monitor(bank=known, held_out=known, knn=KNN(neighbors=5, temperature=temperature))
        for temperature in (None, 1e-4)
    )
    assert counted.accuracy(network) == 0.8
    assert weighted.accuracy(network) == 1.0


def test_the_first_and_the_last_are_always_due() -> None:
    monitor = Monitor(bank=random_images(4), held_out=random_images(4), every=3)
    assert [epoch for epoch in range(9) if monitor.is_due(epoch, 8)] == [0, 3, 6, 8]


def test_images_without_labels_are_refused() -> None:
    images = random_images(4)
    with pytest.raises(ValueError, match="expected labeled images"):
        Monitor(bank=images, held_out=replace(images, labels=None, classes=None))
    with pytest.raises(ValueError, match="every must be an integer of at least 1, got 0"):
        Monitor(bank=images, held_out=images, every=0)
