"""Pairs and triples from tables: every format, rows with empty cells, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from tammes.data import SkippedFilesWarning, Texts, triples

ROWS = (
    {"premise": "It rains.", "entailment": "It is wet.", "contradiction": "It is dry."},
    {"premise": "A cat sleeps.", "entailment": "An animal rests.", "contradiction": "A cat runs."},
    {"premise": "It rains.", "entailment": "Water\nfalls.", "contradiction": "The sun shines."},
)


def write(path: Path, rows: tuple[dict[str, object], ...]) -> Path:
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        mark = "\t" if path.suffix == ".tsv" else ","
        lines = [mark.join(rows[0]), *(mark.join(f'"{cell or ""}"' for cell in row.values()) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    return path


def read(path: Path, **changes: str | bool | None) -> Texts:
    columns = {
        "anchor_column": "premise",
        "positive_column": "entailment",
        "negative_column": "contradiction",
    }
    return triples(path, **{**columns, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_rows_of_one_anchor_are_one_document(tmp_path: Path, suffix: str) -> None:
    found = read(write(tmp_path / f"nli{suffix}", ROWS))
    assert found.sentences[:3] == ("It rains.", "It is wet.", "It is dry.")
    assert found.sentences[7] == "Water falls."
    assert found.required_labels().tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0]
    assert found.positions is not None
    assert found.positions.tolist() == [0, 1, 2, 0, 1, 2, 3, 4, 5]
    assert found.classes == ("row 1", "row 2")
    assert found.names[4] == "row 2:entailment"
    assert found.has_given_pairs
    assert found.subset([6, 7]).has_given_pairs


def test_without_a_column_of_negatives_they_are_pairs(tmp_path: Path) -> None:
    found = read(write(tmp_path / "nli.jsonl", ROWS), negative_column=None)
    assert len(found) == 6
    assert found.positions is not None
    assert found.positions.tolist() == [0, 1, 0, 1, 3, 4]


def test_rows_with_an_empty_cell_are_left_out_and_named(tmp_path: Path) -> None:
    rows = (*ROWS, {**ROWS[1], "contradiction": " "}, {**ROWS[1], "premise": None})
    path = write(tmp_path / "nli.jsonl", rows)
    with pytest.warns(SkippedFilesWarning, match="an empty cell in 2 of 5 rows"):
        found = read(path)
    assert len(found) == 9
    assert found.skipped == ("row 4:contradiction", "row 5:premise")
    with pytest.raises(ValueError, match="an empty cell in 2 of 5 rows"):
        read(path, strict=True)


@pytest.mark.parametrize(
    ("rows", "changes", "message"),
    [
        (ROWS, {"anchor_column": "query"}, "expected a column 'query' in"),
        (ROWS, {"positive_column": "premise"}, "expected a different column for anchors"),
        (ROWS, {"split": "train"}, "tables have no splits"),
        (({**ROWS[0], "premise": 3},), {}, "expected text in column 'premise' .* got int in row 1"),
        (
            tuple({**row, "contradiction": ""} for row in ROWS),
            {},
            "every cell is empty: leave the column out",
        ),
        (tuple({**row, "premise": ""} for row in ROWS), {}, "expected rows with text in premise, entailment"),
    ],
)
def test_what_is_no_table_of_triples_is_refused(
    tmp_path: Path, rows: tuple[dict[str, object], ...], changes: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path / "nli.jsonl", rows), **changes)


def test_other_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="found nothing at"):
        read(tmp_path / "nowhere.csv")
    (tmp_path / "a.txt").write_text("It rains.\n")
    with pytest.raises(ValueError, match="expected a table with columns premise, entailment, contradiction"):
        read(tmp_path / "a.txt")
