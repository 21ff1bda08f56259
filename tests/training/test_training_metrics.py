from dataclasses import replace
from pathlib import Path

import pytest

from tammes.training import EpochMetrics, ImagesSummary, Monitor, RunConfig, build_model
from tammes.training.metrics import read_csv, to_csv
from tiny import make_config, random_images

ROWS = (
    EpochMetrics(epoch=0, step=0, knn=0.1),
    EpochMetrics(epoch=1, step=5, loss=1 / 3, last={"negatives": 510.0, "sinkhorn_error": 1e-17}),
    EpochMetrics(epoch=2, step=10, loss=2.5, knn=0.25, last={"negatives": 510.0}),
)


def test_rows_survive_the_file_exactly(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text(to_csv(ROWS))
    assert read_csv(tmp_path / "metrics.csv") == ROWS


def test_a_file_is_a_header_and_a_line_for_each_row() -> None:
    header, *lines = to_csv(ROWS).splitlines()
    assert header == "epoch,step,loss,knn,negatives,sinkhorn_error"
    assert lines == ["0,0,,0.1,,", "1,5,0.3333333333333333,,510.0,1e-17", "2,10,2.5,0.25,510.0,"]


def test_a_cell_that_is_no_number_is_refused(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("epoch,step,loss,knn\n1,5,low,\n")
    with pytest.raises(ValueError, match=r"metrics\.csv: expected numbers"):
        read_csv(tmp_path / "metrics.csv")


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
    assert [epoch for epoch in range(9) if monitor.is_due(epoch, 8)] == [0, 3, 6, 8]


def test_images_without_labels_are_refused() -> None:
    images = random_images(4)
    with pytest.raises(ValueError, match="expected labeled images"):
        Monitor(bank=images, held_out=replace(images, labels=None, classes=None))
    with pytest.raises(ValueError, match="every must be an integer of at least 1, got 0"):
        Monitor(bank=images, held_out=images, every=0)
