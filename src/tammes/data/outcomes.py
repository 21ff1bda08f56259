"""Outcomes of the rows of a data set, real or ordinal: a table with a row for each, by its id."""

from __future__ import annotations

import csv
import io
import math
import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from tammes.checks import check_file
from tammes.data.labels import Rows, labels_of_names, rows_of
from tammes.data.listing import listing

ID = "id"
"""Column of the ids."""
MOST_GRADES = 20
"""Most values of an ordinal outcome: more are taken for numbers by mistake."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Outcomes:
    """Columns of outcomes, in the order of the rows of a data set.

    Cells are kept as text, and read when a column is used: others may hold words.

    Args:
        columns: cells of each column, by its name.
        places: place of each row in its file, for messages.

    Raises:
        ValueError: If a column has another number of cells than there are rows.

    Example:
        >>> outcomes = Outcomes.of({"share": [0.1, 0.25], "stage": [2, 1]})
        >>> outcomes, outcomes.real("share").tolist()
        (Outcomes(2 rows, share, stage), [0.1, 0.25])
        >>> outcomes.take([1]).grades("stage")
        (tensor([0]), ('1',))
    """

    columns: Mapping[str, tuple[str, ...]]
    places: tuple[str, ...]

    def __post_init__(self) -> None:
        for name, cells in self.columns.items():
            if len(cells) != len(self.places):
                raise ValueError(
                    f"expected a cell of {name} for each of {len(self.places)} rows, got {len(cells)}"
                )

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[float]]) -> Outcomes:
        """Make outcomes of numbers, each column with one for each row."""
        count = max((len(values) for values in columns.values()), default=0)
        cells = {name: tuple(map(_cell, values)) for name, values in columns.items()}
        return cls(columns=cells, places=tuple(f"row {row}" for row in range(count)))

    def __len__(self) -> int:
        return len(self.places)

    def take(self, rows: Rows) -> Outcomes:
        """Return the outcomes of these rows, in this order."""
        chosen = rows_of(rows, len(self)).tolist()
        return Outcomes(
            columns={name: tuple(cells[row] for row in chosen) for name, cells in self.columns.items()},
            places=tuple(self.places[row] for row in chosen),
        )

    def real(self, column: str) -> Float64[Tensor, " n"]:
        """Return a column as numbers.

        Raises:
            ValueError: If there is no such column, or a cell is empty or no finite number; the message has
                its place.
        """
        values = []
        for place, cell in self._cells(column):
            try:
                value = float(cell)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                raise ValueError(
                    f"{place}: expected a finite number in column {column}, got {cell!r}; correct it, or "
                    "remove the row and its item"
                )
            values.append(value)
        return torch.tensor(values, dtype=torch.float64)

    def grades(self, column: str) -> tuple[Int64[Tensor, " n"], tuple[str, ...]]:
        """Return the rank of each grade of an ordinal column, from 0, and the grades in their order.

        Two grades are neighbors if no row has a grade between them.

        Raises:
            ValueError: If there is no such column, a cell is no integer, or there are more than 20 grades.
        """
        for place, cell in self._cells(column):
            if not cell.removeprefix("-").isdecimal():
                raise ValueError(
                    f"{place}: expected an integer grade in column {column}, got {cell!r}; number the grades "
                    "in their order"
                )
        values = [int(cell) for _, cell in self._cells(column)]
        grades = sorted(set(values))
        if len(grades) > MOST_GRADES:
            raise ValueError(
                f"expected at most {MOST_GRADES} grades in column {column}, got {len(grades)}: it is no "
                "ordinal outcome; read it as a real one"
            )
        return torch.tensor([grades.index(value) for value in values]), tuple(str(grade) for grade in grades)

    def classes(self, column: str) -> tuple[Int64[Tensor, " n"], tuple[str, ...]]:
        """Return the label of each row by the words of a column, and the classes in the order of their names.

        Raises:
            ValueError: If there is no such column, or a cell is empty.
        """
        named = [cell for _, cell in self._cells(column)]
        classes, labels = labels_of_names(named, self.places)
        assert classes is not None  # no cell is empty
        assert labels is not None
        return labels, classes

    def _cells(self, column: str) -> list[tuple[str, str]]:
        """Return the place and the text of each cell of a column, none of them empty."""
        if column not in self.columns:
            raise ValueError(
                f"expected a column {column} of outcomes, found {listing(list(self.columns)) or 'none'}"
            )
        cells = list(zip(self.places, self.columns[column], strict=True))
        for place, cell in cells:
            if not cell:
                raise ValueError(
                    f"{place}: column {column} is empty; fill it in, or remove the row and its item"
                )
        return cells

    def __repr__(self) -> str:
        return f"Outcomes({', '.join([f'{len(self)} rows', *self.columns])})"


def _cell(value: Any) -> str:
    """Return a number as text; an integer of any type, of NumPy or torch too, without a point."""
    try:
        return str(operator.index(value))
    except TypeError:
        return repr(float(value))


def read_outcomes(path: str | Path, names: Sequence[str], *, id_column: str = ID) -> Outcomes:
    r"""Read a table of outcomes, and return its rows in the order of the items.

    An id is the name of an item, such as `scans/007.nii.gz`, or that name without its suffix.

    Args:
        path: CSV file with a header, or one of tabs if it ends in .tsv.
        names: name of each item.
        id_column: name of the column of ids.

    Raises:
        ValueError: If the table has no rows, no column of ids, a column twice, or a row of another length; if
            an id is missing or comes twice, or is of no item or of two; if an item has no row. The message
            has the file and the row.
        OSError: If the file cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "outcomes.csv")
        ...     _ = file.write_text("id,volume\nb,0.5\na,2\n")
        ...     outcomes = read_outcomes(file, ["a.npy", "b.npy"])
        >>> outcomes.real("volume").tolist()
        [2.0, 0.5]
    """
    path = Path(path)
    header, rows = _table(path)
    if id_column not in header:
        raise ValueError(f"{path} has no column {id_column} of ids; its columns are {listing(header)}")
    owners = _owners(names)
    row_of: dict[int, int] = {}
    for number, (place, cells) in enumerate(rows):
        item = cells[header.index(id_column)]
        if not item:
            raise ValueError(f"{place}: there is no id; give one, or remove the row")
        found = owners.get(item, ())
        if len(found) != 1:
            several = f"of {len(found)} items, {listing([names[row] for row in found])}: give the whole name"
            lacks = "of no item: correct it, or remove the row"
            raise ValueError(f"{place}: the id {item} is {several if found else lacks}")
        if found[0] in row_of:
            raise ValueError(f"{place}: the id {item} came before, in {rows[row_of[found[0]]][0]}")
        row_of[found[0]] = number
    missing = [name for row, name in enumerate(names) if row not in row_of]
    if missing:
        raise ValueError(
            f"{path} has no row for {len(missing)} of {len(names)} items: {listing(missing)}; add them, or "
            "remove the items"
        )
    ordered = [rows[row_of[row]] for row in range(len(names))]
    return Outcomes(
        columns={
            name: tuple(cells[place] for _, cells in ordered)
            for place, name in enumerate(header)
            if name != id_column
        },
        places=tuple(place for place, _ in ordered),
    )


def _owners(names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the rows whose names an id may mean: those of this name, else of this name and any suffix."""
    owners: dict[str, tuple[int, ...]] = {}
    for row, name in enumerate(names):
        short = name.removesuffix(".gz")
        stem = short[: len(short) - len(Path(short).suffix)]
        owners[stem] = (*owners.get(stem, ()), row)
    for row, name in enumerate(names):
        owners[name] = (row,)
    return owners


def _table(path: Path) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the header of a CSV file, and its other rows with their places; blank lines do not count."""
    try:
        text = check_file(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8: save it as UTF-8") from None
    # str.splitlines would cut at more signs than ends of lines, such as U+2028 within a cell.
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    rows = []
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if any(stripped):
                rows.append((f"{path}, line {reader.line_num}", stripped))
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: not a row of a CSV file ({error})") from None
    if len(rows) < 2:
        raise ValueError(f"expected a header and rows of outcomes in {path}, found {len(rows)} rows")
    header = rows[0][1]
    if twice := [name for name, count in Counter(header).items() if count > 1]:
        raise ValueError(f"{path} has the column {twice[0]} twice: give each another name")
    for place, cells in rows[1:]:
        if len(cells) != len(header):
            raise ValueError(f"{place}: expected {len(header)} cells as in the header, got {len(cells)}")
    return header, rows[1:]
