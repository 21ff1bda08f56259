"""Pairs and triples of sentences from a table: an anchor, its positive and, perhaps, a given negative."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from tammes.data.listing import warn_of_skipped
from tammes.data.tables import HUB, SUFFIXES, Row, data_set_rows, is_saved_data_set, table_rows
from tammes.data.texts import Texts
from tammes.data.texts_loading import check_length

SEVERAL = ": write a row for each, with the other cells repeated"
"""What to do with a cell that holds a list of sentences."""
STRIDE = 3
"""Positions of a row in the document of its anchor: anchor, positive and negative."""


def triples(
    path: str | Path,
    *,
    anchor_column: str,
    positive_column: str,
    negative_column: str | None = None,
    split: str | None = None,
    encoding: str = "utf-8",
    strict: bool = False,
) -> Texts:
    r"""Load pairs or triples of sentences from a table or a Hugging Face data set.

    The result has the cells of each row as sentences, one after the other. Rows of one anchor are a document,
    so that `GivenPairs` never takes the positive of an anchor for a negative of the same anchor in another
    row. Row r of a document has the positions 3r (anchor), 3r + 1 (positive) and 3r + 2 (negative).

    Args:
        path: CSV, TSV, JSON lines or parquet, a folder that `datasets` saved, or `hub:owner/name`.
        anchor_column: name of the column of anchors (premises, queries).
        positive_column: name of the column of their positives (entailments, answers).
        negative_column: name of the column of their negatives (contradictions); None for pairs.
        split: part of a Hugging Face data set, for example "train"; needed if it has several.
        encoding: encoding of CSV, TSV and JSON lines.
        strict: whether a row with an empty cell is an error.

    Raises:
        ValueError: If the path is no table; if a column is missing, or named twice; if a cell is not text, or
            too long for a sentence; if no row is whole, or no row has a negative; if `strict`, and a row was
            left out.
        ImportError: If the path is a Hugging Face data set, and `datasets` is not installed.

    Warns:
        SkippedFilesWarning: If rows with an empty cell were left out; `skipped` of the result names them.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     file = Path(root) / "nli.csv"
        ...     _ = file.write_text("premise,follows,contradicts\nIt rains.,It is wet.,It is dry.\n")
        ...     found = triples(
        ...         file, anchor_column="premise", positive_column="follows", negative_column="contradicts"
        ...     )
        >>> found.sentences, found.names[2]
        (('It rains.', 'It is wet.', 'It is dry.'), 'row 1:contradicts')
    """
    columns = [anchor_column, positive_column, *([] if negative_column is None else [negative_column])]
    if len(set(columns)) < len(columns):
        raise ValueError(
            f"expected a different column for anchors, positives and negatives, got {', '.join(columns)}"
        )
    whole, skipped, has_negative = [], [], False
    for number, row in enumerate(_rows(path, columns, split, encoding), 1):
        cells = _cells(row, columns, number, path)
        has_negative |= len(cells) == STRIDE and bool(cells[-1])
        if all(cells):
            whole.append((number, cells))
        else:
            skipped.append(f"row {number}:{columns[cells.index('')]}")
    if negative_column is not None and not has_negative:
        raise ValueError(
            f"expected negatives in column {negative_column!r} of {path}, but every cell is empty: leave the "
            "column out to train on pairs"
        )
    if not whole:
        raise ValueError(f"expected rows with text in {', '.join(columns)} in {path}, found none")
    warn_of_skipped(
        f"an empty cell in {len(skipped)} of {len(skipped) + len(whole)} rows of {path}",
        skipped,
        strict=strict,
    )
    anchors = {cells[0]: f"row {number}" for number, cells in reversed(whole)}
    document = {anchor: at for at, anchor in enumerate(dict.fromkeys(cells[0] for _, cells in whole))}
    rows_of = [0] * len(document)
    labels, positions = [], []
    for _, cells in whole:
        label = document[cells[0]]
        labels += [label] * len(cells)
        positions += [STRIDE * rows_of[label] + place for place in range(len(cells))]
        rows_of[label] += 1
    return Texts(
        sentences=tuple(cell for _, cells in whole for cell in cells),
        names=tuple(f"row {number}:{column}" for number, _ in whole for column in columns),
        labels=torch.tensor(labels),
        classes=tuple(anchors[anchor] for anchor in document),
        positions=torch.tensor(positions),
        skipped=tuple(skipped),
        has_given_pairs=True,
    )


def _rows(path: str | Path, columns: list[str], split: str | None, encoding: str) -> Iterator[Row]:
    place, is_hub = Path(path), str(path).startswith(HUB)
    if not is_hub and not place.exists():
        raise ValueError(f"expected a table or hub:owner/name, found nothing at {path}")
    if is_hub or is_saved_data_set(place):
        return data_set_rows(str(path), columns, split)
    if not place.is_file() or place.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"expected a table with columns {', '.join(columns)} ({', '.join(sorted(SUFFIXES))}, or a "
            f"Hugging Face data set), got {path}"
        )
    if split is not None:
        raise ValueError(f"expected no split for {path}, because tables have no splits; got split={split!r}")
    return table_rows(place, columns, encoding)


def _cells(row: Row, columns: list[str], number: int, path: str | Path) -> tuple[str, ...]:
    """Return the cells of a row on one line each; empty where there is no text."""
    for column, cell in zip(columns, row, strict=True):
        if cell is not None and not isinstance(cell, str):
            raise ValueError(
                f"expected text in column {column!r} of {path}, got {type(cell).__name__} in row {number}"
                f"{SEVERAL if isinstance(cell, list) else ''}"
            )
        check_length(cell or "", f"row {number}:{column}")
    return tuple(" ".join((cell or "").split()) for cell in row)
