from pathlib import Path

import pytest

from tammes.training import Row
from tammes.training.metrics import read_csv, to_csv

ROWS = (
    Row(epoch=0, step=0, knn=0.1),
    Row(epoch=1, step=5, loss=1 / 3, last={"negatives": 510.0, "sinkhorn_error": 1e-17}),
    Row(epoch=2, step=10, loss=2.5, knn=0.25, last={"negatives": 510.0}),
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
