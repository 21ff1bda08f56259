"""Labels from a file, for a measured class distribution."""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from tammes.checks import check_file

NAMED = 5
"""Columns that a message lists: a file of another kind may have thousands."""


def read_labels(path: Path, *, column: str | None = None) -> list[str]:
    r"""Read the labels of a text file: a column of a CSV, or one label on each line.

    The first line names the columns if one of them has the wanted name. Otherwise a file with a single column
    holds labels from its first line on. Space around labels and empty lines do not count.

    Args:
        path: UTF-8 file, separated by tabs if it ends in .tsv, by commas otherwise.
        column: name of the column; None for `label`.

    Returns:
        The label of each row.

    Raises:
        ValueError: for bytes that are no UTF-8, a column that is missing or comes twice, a row without a
            label or no labels at all; the message names the line.
        OSError: for a file that cannot be read.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder) / "labels.csv"
        ...     _ = file.write_text("name,label\na.png,cat\nb.png,dog\n")
        ...     read_labels(file)
        ['cat', 'dog']
    """
    rows = list(_rows(path))
    if not rows:
        raise ValueError(f"{path} is empty: it needs a column of labels, or a label on each line")
    _, first = rows[0]
    wanted = "label" if column is None else column
    if first.count(wanted) > 1:
        raise ValueError(f"{path} has {first.count(wanted)} columns {wanted}: give each another name")
    if wanted in first:
        place = first.index(wanted)
        rows = rows[1:]
        if not rows:
            raise ValueError(f"{path} has a column {wanted}, but no rows below it")
    elif len(first) == 1 and wanted in re.split(r"\s*[;\t|]\s*", first[0]):
        raise ValueError(
            f"{path} has no commas between its columns: separate them by commas, or by tabs in a file .tsv"
        )
    elif column is None and all(len(cells) == 1 for _, cells in rows):
        place = 0
    else:
        named = ", ".join(first[:NAMED]) + (" and more" if len(first) > NAMED else "")
        raise ValueError(
            f"{path} has no column {wanted}; its first line has {named}: name one with --column, "
            "or give a file with a label on each line"
        )
    labels = []
    for line, cells in rows:
        if place >= len(cells) or not cells[place]:
            raise ValueError(f"{path}, line {line}: there is no label; remove the line or give it one")
        labels.append(cells[place])
    return labels


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row that is not empty, with the number of the line it ends on."""
    # str.splitlines would cut at more signs than ends of lines, such as U+2028 within a cell.
    lines = io.StringIO(_text(path), newline="")
    reader = csv.reader(lines, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: not a row of a CSV file ({error})") from None


def _text(path: Path) -> str:
    content = check_file(path).read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: the byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from None
