"""`tammes diagnose`: measures of anyone's embeddings, as sentences, a page, and files for other programs."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from tammes.cli.embedded import embedded
from tammes.cli.failures import print_line
from tammes.cli.options.diagnose import Diagnose
from tammes.cli.output import counted
from tammes.diagnosis.condition import Condition
from tammes.diagnosis.diagnose import measured
from tammes.diagnosis.diagnosis import Diagnosis
from tammes.diagnosis.embeddings_file import Embeddings, read_embeddings
from tammes.diagnosis.formats import array_of, opened
from tammes.diagnosis.input import Given, as_labels, as_pairs, as_splits
from tammes.diagnosis.labeled import Labels
from tammes.report.thumbnails import check_folder

NAMES = ("text", "name", "sentence", "title", "id")
"""Columns of which the first that is there names the rows on the page."""
FILES = ("name", "file", "path", "image")
"""Columns of which the first that is there names the image of each row."""
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
    labels = None if _is_array(choice.labels) else choice.labels
    named = [name for name in (labels, choice.pairs, choice.splits, text) if name is not None]
    first = read_embeddings(choice.file, vectors=choice.vectors, columns=named, drop=choice.drop)
    second = None
    if choice.against is not None:
        vectors = choice.vectors if choice.vectors in _matrices(choice.against) else None
        second = read_embeddings(choice.against, vectors=vectors, drop=choice.drop)
        first, second = _same_rows(choice, first, second)
    n, columns = len(first.vectors), first.columns
    given = Given(
        points=torch.from_numpy(first.vectors),
        rows=first.rows,
        labels=_labels(choice, first),
        pairs=as_pairs(columns[choice.pairs], n, first.rows) if choice.pairs is not None else None,
        splits=as_splits(columns[choice.splits], n) if choice.splits is not None else None,
        against=None if second is None else torch.from_numpy(second.vectors),
        columns={} if text is None else {"name": columns[text].astype(str)},
        about=_about(choice, first),
    )
    return measured(given, neighbors=choice.neighbors, batch=choice.batch, seed=choice.seed)


def _is_array(labels: str | None) -> bool:
    return labels is not None and labels.endswith(".npy")


def _labels(choice: Diagnose, first: Embeddings) -> Labels | None:
    """Return the classes, from a column beside the embeddings or a file of their own."""
    if choice.labels is None:
        return None
    n = len(first.vectors)
    if not _is_array(choice.labels):
        return as_labels(first.columns[choice.labels], n)
    return as_labels(array_of(Path(choice.labels), n + first.dropped)[first.rows], n)


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
    print(f"The page is {out / 'report.html'}, the rows are in {out / 'rows.parquet'}")


def _values(condition: Condition, found: Diagnosis) -> str:
    return ", ".join(f"{name} is {found[name].value:g}" for name in condition.names)
