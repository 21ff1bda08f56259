from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tammes.data import Outcomes, read_outcomes

NAMES = ["scans/a.nii.gz", "scans/b.npy", "c"]


def table(folder: Path, text: str, name: str = "outcomes.csv") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_rows_come_in_the_order_of_the_items(tmp_path: Path) -> None:
    file = table(tmp_path, "who,id,share\nx,c,3\ny,scans/b,2\n\nz,scans/a.nii.gz,1e0\n")
    outcomes = read_outcomes(file, NAMES)
    assert outcomes.real("share").tolist() == [1.0, 2.0, 3.0]
    assert list(outcomes.columns) == ["who", "share"]
    assert outcomes.places[2] == f"{file}, line 2"


def test_a_cell_may_hold_signs_that_separate_lines_elsewhere(tmp_path: Path) -> None:
    file = table(tmp_path, "id,note,share\nc,two\u2028lines,3\nscans/b,\x0b,2\nscans/a,,1\n")
    assert read_outcomes(file, NAMES).real("share").tolist() == [1.0, 2.0, 3.0]


def test_a_file_of_tabs_and_another_column_of_ids_are_read(tmp_path: Path) -> None:
    file = table(tmp_path, "subject\tstage\nc\t-1\nscans/a\t4\nscans/b\t2\n", "some.tsv")
    ranks, grades = read_outcomes(file, NAMES, id_column="subject").grades("stage")
    assert (ranks.tolist(), grades) == ([2, 1, 0], ("-1", "2", "4"))


def test_words_of_a_column_are_classes() -> None:
    outcomes = Outcomes(columns={"kind": ("b", "a", "b")}, places=("1", "2", "3"))
    labels, classes = outcomes.classes("kind")
    assert (labels.tolist(), classes) == ([1, 0, 1], ("a", "b"))


def test_numbers_survive_as_text() -> None:
    values = torch.rand(5, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).tolist()
    outcomes = Outcomes.of({"a": values, "b": [1, 2, 3, 4, 5]})
    assert outcomes.real("a").tolist() == values
    assert outcomes.take(torch.tensor([4, 0])).grades("b")[1] == ("1", "5")
    assert len(Outcomes.of({})) == 0


@pytest.mark.parametrize("values", [[2, 1], np.array([2, 1]), torch.tensor([2, 1]), [True, False]])
def test_integers_of_any_type_are_grades(values: Any) -> None:
    outcomes = Outcomes.of({"stage": values})
    assert outcomes.grades("stage")[0].tolist() == [1, 0]
    assert outcomes.real("stage").tolist() == [float(value) for value in values]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a header and rows"),
        ("id,share\n", "expected a header and rows"),
        ("name,share\nc,1\n", "no column id of ids; its columns are name, share"),
        ("id,share,share\nc,1,1\n", "has the column share twice"),
        ("id,share\nc,1,2\n", "line 2: expected 2 cells as in the header, got 3"),
        ("id,share\nc,1\n,2\n", "line 3: there is no id"),
        ("id,share\nc,1\nd,2\n", "line 3: the id d is of no item"),
        ("id,share\nc,1\nscans/a,1\nscans/a.nii.gz,2\n", "line 4: the id scans/a.nii.gz came before"),
        ("id,share\nc,1\n", "no row for 2 of 3 items: scans/a.nii.gz, scans/b.npy"),
    ],
)
def test_a_table_that_does_not_match_is_refused_with_its_place(
    tmp_path: Path, text: str, message: str
) -> None:
    file = table(tmp_path, text)
    with pytest.raises(ValueError, match=message) as error:
        read_outcomes(file, NAMES)
    assert str(file) in str(error.value)


def test_an_id_of_two_items_is_refused(tmp_path: Path) -> None:
    file = table(tmp_path, "id,share\na,1\nb,2\n")
    with pytest.raises(ValueError, match=r"line 2: the id a is of 2 items, a\.npy, a\.nii"):
        read_outcomes(file, ["a.npy", "a.nii"])


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "outcomes.csv"
    file.write_bytes(b"id,share\nc,\xff\n")
    with pytest.raises(ValueError, match="is not UTF-8"):
        read_outcomes(file, ["c"])
    file.write_text('id,share\nc,"' + "x" * 200_000)
    with pytest.raises(ValueError, match="not a row of a CSV file"):
        read_outcomes(file, ["c"])


@pytest.mark.parametrize("cell", ["", "nan", "inf", "many"])
def test_a_cell_that_is_no_number_is_refused_with_its_place(cell: str) -> None:
    outcomes = Outcomes(columns={"share": ("1", cell)}, places=("t.csv, line 2", "t.csv, line 3"))
    with pytest.raises(ValueError, match=r"t\.csv, line 3: .*column share"):
        outcomes.real("share")


def test_what_is_no_grade_is_refused() -> None:
    with pytest.raises(ValueError, match=r"row 1: expected an integer grade in column a, got '0\.5'"):
        Outcomes.of({"a": [1, 0.5]}).grades("a")
    with pytest.raises(ValueError, match="at most 20 grades in column a, got 30"):
        Outcomes.of({"a": list(range(30))}).grades("a")
    with pytest.raises(ValueError, match="expected a column b of outcomes, found a"):
        Outcomes.of({"a": [1]}).real("b")
    with pytest.raises(ValueError, match="expected a column b of outcomes, found none"):
        Outcomes.of({}).real("b")


def test_columns_have_a_cell_for_each_row() -> None:
    with pytest.raises(ValueError, match="a cell of a for each of 1 rows, got 2"):
        Outcomes(columns={"a": ("1", "2")}, places=("1",))
