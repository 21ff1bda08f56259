"""CSV tables with a header: the cells of each row by the names of their columns, and columns of numbers."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tammes.checks import check_file


def table_of(path: Path, needed: tuple[str, ...]) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Return the header of a CSV table, and the line and the cells of each of its rows.

    Args:
        path: file.
        needed: columns that must be there.

    Raises:
        ValueError: If a column is missing or there twice, a line has fewer or more cells than the header, or
            the file is no CSV in UTF-8.
    """
    try:
        with check_file(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            header = next(reader, [])
            lines = [(reader.line_num, cells) for cells in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"expected a CSV table in UTF-8 in {path}, got something else ({error})") from error
    if not set(needed) <= set(header):
        columns = f"column{'s' if len(needed) > 1 else ''} {' and '.join(needed)}"
        raise ValueError(f"expected the {columns} in {path}, got {', '.join(header) or 'none'}")
    if twice := [name for name, count in Counter(header).items() if name and count > 1]:
        raise ValueError(f"expected each column once in {path}, got {twice[0]} twice: rename one of them")
    rows = []
    for line, cells in lines:
        if not "".join(cells).strip() and len(cells) < 2:
            continue  # a blank line
        if len(cells) < len(header) or "".join(cells[len(header) :]).strip():
            raise ValueError(
                f"expected {len(header)} cells in line {line} of {path}, one for each column, got "
                f"{len(cells)}"
            )
        rows.append((line, dict(zip(header, cells, strict=False))))
    return header, rows


def check_once(found: Iterable[tuple[int, str]], what: str, path: Path) -> None:
    """Raise ValueError if a name of a table is empty, or there twice.

    Args:
        found: line and name of each.
        what: what is named, for the message.
        path: file, for the message.

    Example:
        >>> check_once([(2, "a"), (3, "b"), (4, "a")], "graph", Path("labels.csv"))
        Traceback (most recent call last):
            ...
        ValueError: expected each graph once in labels.csv, got a in line 2 and in line 4
    """
    lines: dict[str, int] = {}
    for line, name in found:
        if not name:
            raise ValueError(f"expected the name of a {what} in line {line} of {path}, got none")
        if name in lines:
            raise ValueError(
                f"expected each {what} once in {path}, got {name} in line {lines[name]} and in line {line}"
            )
        lines[name] = line


def feature_columns(
    header: Sequence[str], rows: Iterable[tuple[int, Mapping[str, str]]], *, others: Sequence[str], path: Path
) -> tuple[str, ...]:
    """Return the names of the columns of features: all but the others, and blank ones without a name.

    Args:
        header: names of all columns.
        rows: line and cells of each row.
        others: columns that are no features.
        path: file, for the message.

    Raises:
        ValueError: If a column without a name is not blank: pandas writes the numbers of the rows so, which
            are no features.

    Example:
        >>> feature_columns(["node", "age", ""], [(2, {"node": "a", "age": "3", "": ""})], others=["node"],
        ...     path=Path("nodes.csv"))
        ('age',)
    """
    for name in header:
        if not name.strip() and any(row[name].strip() for _, row in rows):
            raise ValueError(
                f"expected a name for each column of {path}, got a column without one: name it, or leave the "
                "numbers of the rows out (index=False in pandas)"
            )
    return tuple(name for name in header if name.strip() and name not in others)


def numbers_of(row: Mapping[str, str], columns: Sequence[str], line: int, path: Path) -> list[float]:
    """Return the numbers in some columns of a row.

    Args:
        row: cells by column.
        columns: columns of numbers.
        line: line of the row, for the message.
        path: file, for the message.

    Raises:
        ValueError: If a cell is no number.
    """
    try:
        return [float(row[name]) for name in columns]
    except ValueError as error:
        raise ValueError(f"expected a number for each feature in line {line} of {path} ({error})") from error
