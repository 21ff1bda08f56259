"""`tammes diagnose`: measures of anyone's embeddings, as sentences, a page, and files for other programs."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tammes.cli.embedded import embedded
from tammes.cli.failures import print_line
from tammes.cli.options.diagnose import Diagnose
from tammes.cli.options.labels import read_labels
from tammes.cli.output import counted
from tammes.diagnosis.condition import Condition
from tammes.diagnosis.diagnose import measured
from tammes.diagnosis.diagnosis import Diagnosis
from tammes.diagnosis.embeddings_file import Embeddings, read_embeddings
from tammes.diagnosis.formats import array_of, opened
from tammes.diagnosis.input import Given, as_labels, as_pairs, as_splits
from tammes.report.thumbnails import check_folder

NAMES = ("text", "name", "sentence", "title", "id")
"""Columns of which the first that is there names the rows on the page."""
FILES = ("name", "file", "path", "image")
"""Columns of which the first that is there names the image of each row."""
TEXT = (".csv", ".tsv", ".txt")
"""Ends of the names of text files with a label for each row."""
FAILED = 1
"""Exit code if the condition of --fail-on holds."""


def main(choice: Diagnose) -> None:
    """Diagnose the embeddings, write the folder, and print what was found."""
    # A condition that cannot be parsed, and a folder that is not there, are refused before the work.
    condition = None if choice.fail_on is None else Condition.of(choice.fail_on)
    if choice.images is not None:
        check_folder(choice.images)
    file = embedded(choice.file)
    found = _diagnosed(replace(choice, file=file))
    out = choice.out or Path(f"{choice.file.resolve().stem}-diagnosis")
    found.write(out, images=choice.images)
    if choice.json:
        print(found.json())
    else:
        _print(found, out)
    if condition is not None and condition.holds(found.measures):
        print_line(f"the condition {condition.text!r} holds: {_values(condition, found)}")
        sys.exit(FAILED)


def _diagnosed(choice: Diagnose) -> Diagnosis:
    text = choice.text or _naming(choice)
    columns = (choice.labels, choice.pairs, choice.splits, text)
    named = [name for name in columns if name is not None and not _is_file(name)]
    first = read_embeddings(choice.file, vectors=choice.vectors, columns=named, drop=choice.drop)
    second = None
    if choice.against is not None:
        vectors = choice.vectors if choice.vectors in _matrices(choice.against) else None
        second = read_embeddings(choice.against, vectors=vectors, drop=choice.drop)
        first, second = _same_rows(choice, first, second)
    n = len(first.vectors)
    labels, splits = _given(choice.labels, first), _given(choice.splits, first)
    pairs = _given(choice.pairs, first, or_pairs=True)
    given = Given(
        points=torch.from_numpy(first.vectors),
        rows=first.rows,
        labels=None if labels is None else as_labels(labels, n),
        pairs=None if pairs is None else as_pairs(pairs, n, first.rows, n + first.dropped),
        splits=None if splits is None else as_splits(splits, n),
        against=None if second is None else torch.from_numpy(second.vectors),
        columns={} if text is None else {"name": _texts(first.columns[text])},
        about=_about(choice, first),
    )
    return measured(given, neighbors=choice.neighbors, batch=choice.batch, seed=choice.seed)


def _texts(column: NDArray[Any]) -> NDArray[Any]:
    """Return the names of the rows; those that are missing are empty."""
    if column.dtype == object:
        column = np.where(column == None, "", column)  # noqa: E711, entry by entry
    return column.astype(str)


def _is_file(name: str) -> bool:
    """Return whether an option names a file and not a column."""
    return name.endswith(".npy") or (Path(name).suffix in TEXT and Path(name).is_file())


def _given(name: str | None, first: Embeddings, *, or_pairs: bool = False) -> NDArray[Any] | None:
    """Return a value for each row, or pairs of rows, from a column of the file or a file of their own."""
    if name is None:
        return None
    if not _is_file(name):
        return first.columns[name]
    count = len(first.vectors) + first.dropped
    if Path(name).suffix not in TEXT:
        values = array_of(Path(name), count, or_pairs=or_pairs)
        return values if values.ndim == 2 else values[first.rows]
    if or_pairs:
        raise ValueError(f"expected pairs in a .npy file, two rows in each line, got {name}")
    lines = np.array(read_labels(Path(name)))
    if len(lines) != count:
        raise ValueError(f"expected a label for each of the {count:,} rows in {name}, got {len(lines):,}")
    return lines[first.rows]


def _about(choice: Diagnose, first: Embeddings) -> dict[str, str]:
    """Return what the page says of the files."""
    about = {"file": str(choice.file), "embeddings": first.name}
    if first.dropped:
        about["dropped"] = counted(first.dropped, "row")
    if choice.against is not None:
        about["against"] = str(choice.against)
    return about


def _naming(choice: Diagnose) -> str | None:
    """Return the column that names the rows, or the files of images; None if there is none."""
    columns = opened(choice.file, choice.vectors).columns
    usual = FILES if choice.images is not None else NAMES
    found = next((name for name in usual if name in columns), None)
    if choice.images is not None and found is None:
        raise ValueError(
            f"--images needs the file of each row, in a column {' or '.join(FILES)}, or one that --text "
            f"names; {choice.file} has {', '.join(columns) or 'no column beside the embeddings'}"
        )
    return found


def _matrices(path: Path) -> set[str]:
    return {opened(path).name}


def _same_rows(choice: Diagnose, first: Embeddings, second: Embeddings) -> tuple[Embeddings, Embeddings]:
    """Return the rows that both files have; they differ only by rows that were dropped."""
    all_of = [len(each.vectors) + each.dropped for each in (first, second)]
    if all_of[0] != all_of[1]:
        raise ValueError(
            f"expected other embeddings of the same rows, got {all_of[0]:,} rows in {choice.file} and "
            f"{all_of[1]:,} in {choice.against}"
        )
    if not first.dropped and not second.dropped:
        return first, second
    both = np.intersect1d(first.rows, second.rows)
    parts = []
    for each in (first, second):
        kept = np.isin(each.rows, both)
        columns = {name: values[kept] for name, values in each.columns.items()}
        dropped = each.dropped + int((~kept).sum())
        parts.append(
            replace(each, vectors=each.vectors[kept], rows=each.rows[kept], columns=columns, dropped=dropped)
        )
    return parts[0], parts[1]


def _print(found: Diagnosis, out: Path) -> None:
    print(found)
    for sentence in found.advice:
        print(sentence)
    # A file may have several matrices, and numeric columns that are no coordinates.
    about, dimensions = found.about, found["dimensions"].value
    print(f"Measured: {about['embeddings']} of {about['file']}, {dimensions:g} dimensions")
    print(f"The page is {out / 'report.html'}, the rows are in {out / 'rows.parquet'}")


def _values(condition: Condition, found: Diagnosis) -> str:
    return ", ".join(f"{name} is {found[name].value:g}" for name in condition.names)
