"""A study: many cells, each measured once and written down at once, so that a stopped study goes on."""

import csv
import dataclasses
import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_type_hints

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Cell = TypeVar("Cell", bound="DataclassInstance")
Measured = TypeVar("Measured", bound="DataclassInstance")

_READ: dict[type, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    bool: {"True": True, "False": False}.__getitem__,
}


class Results(Generic[Cell, Measured]):
    """What was measured, cell by cell, in a CSV file that grows by a line when a cell is done.

    A line is written whole and flushed to the disk. One that was cut off all the same (the power failed, the
    disk was full) is taken away when the file is opened again: its cell counts as not measured.

    Args:
        path: the file; it is made with the first line, and its folder must exist by then.
        cell: a frozen dataclass of whole numbers, numbers, words and truth values: every setting that the
            numbers depend on, so that a cell of other settings is another cell.
        measured: a dataclass likewise: what a cell is measured for.

    Attributes:
        known: what the file has, in its order.

    Raises:
        ValueError: a file that is no CSV in UTF-8 or has other columns, or a line that cannot be read; the
            file is left as it is.

    Example:
        >>> import tempfile
        >>> @dataclasses.dataclass(frozen=True)
        ... class Size:
        ...     width: int
        >>> @dataclasses.dataclass(frozen=True)
        ... class Area:
        ...     area: float
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Results(Path(folder, "table.csv"), Size, Area).append(Size(width=2), Area(area=4.0))
        ...     Results(Path(folder, "table.csv"), Size, Area).known
        {Size(width=2): Area(area=4.0)}
    """

    def __init__(self, path: Path, cell: type[Cell], measured: type[Measured]) -> None:
        self.path = path
        self._kinds = cell, measured
        self._columns = [field.name for kind in self._kinds for field in dataclasses.fields(kind)]
        self.known: dict[Cell, Measured] = {}
        if path.exists():
            self._read()

    def append(self, cell: Cell, measured: Measured) -> None:
        """Write one more line, and have it on the disk before going on.

        Raises:
            OSError: where it cannot be written.
        """
        values = [*dataclasses.asdict(cell).values(), *dataclasses.asdict(measured).values()]
        with self.path.open("ab") as file:
            if file.tell() == 0:
                file.write(_line(self._columns))
            file.write(_line(values))
            file.flush()
            os.fsync(file.fileno())
        self.known[cell] = measured

    def _read(self) -> None:
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if not _line(self._columns).startswith(content):  # else it is a header, or the beginning of one
            try:
                self._read_lines((content[:whole] or content).decode("utf-8"))
            except (UnicodeDecodeError, csv.Error) as error:
                raise ValueError(
                    f"expected a CSV table in UTF-8 in {self.path}, got something else ({error}); "
                    "save it so, move it away, or choose another --out"
                ) from error
        if whole < len(content):
            os.truncate(self.path, whole)

    def _read_lines(self, text: str) -> None:
        rows = csv.reader(io.StringIO(text, newline=""))
        header = next(rows)
        if header != self._columns:
            raise ValueError(
                f"{self.path} has the columns {', '.join(header)} and not {', '.join(self._columns)}: it "
                "comes from something else; move it away, or choose another --out"
            )
        for row in rows:
            cell, measured = self._parsed(row, rows.line_num)
            self.known[cell] = measured

    def _parsed(self, row: list[str], line: int) -> tuple[Cell, Measured]:
        def filled(kind: type[Any]) -> Any:
            types = get_type_hints(kind)
            return kind(
                **{
                    field.name: _READ[types[field.name]](named[field.name])
                    for field in dataclasses.fields(kind)
                }
            )

        try:
            named = dict(zip(self._columns, row, strict=True))
            return filled(self._kinds[0]), filled(self._kinds[1])
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"{self.path}, line {line}: expected {', '.join(self._columns)}, got "
                f"{', '.join(row)}; mend the line or take it out"
            ) from error


def complete(
    results: Results[Cell, Measured],
    cells: Sequence[Cell],
    measure: Callable[[Cell], Measured],
    *,
    name: Callable[[Cell], str],
) -> dict[Cell, Measured]:
    """Measure the cells that are not known yet, one after the other, and give what is known of all.

    A bar on stderr shows how far it is; where that is no terminal, each cell has a line when it is done.

    Args:
        results: what is known, which grows.
        cells: what is wanted, in the order in which it is to be measured: what matters most comes first.
        measure: measures one cell; the same cell gives the same numbers.
        name: what the bar, or the line, calls a cell.

    Raises:
        KeyboardInterrupt: after Ctrl-C; it says how many cells are done.
    """
    missing = [cell for cell in cells if cell not in results.known]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    done = len(cells) - len(missing)
    console = Console(stderr=True, markup=False, highlight=False)
    on_terminal = console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not on_terminal) as progress:
        bar = progress.add_task("", total=len(cells), completed=done)
        for cell in missing:
            progress.update(bar, description=name(cell))
            try:
                results.append(cell, measure(cell))
            except KeyboardInterrupt:
                raise KeyboardInterrupt(
                    f"stopped with {done} of {len(cells)} cells measured, which {results.path} keeps; the "
                    "same command goes on from there"
                ) from None
            done += 1
            progress.advance(bar)
            if not on_terminal:
                console.print(f"{done} of {len(cells)}: {name(cell)}", soft_wrap=True)
    return {cell: results.known[cell] for cell in cells}


def complete_and_show(
    results: Results[Cell, Measured],
    cells: Sequence[Cell],
    measure: Callable[[Cell], Measured],
    show: Callable[[dict[Cell, Measured]], None],
    *,
    name: Callable[[Cell], str],
) -> None:
    """`complete`, and then show what has been measured; also where the study is stopped, or fails, halfway.

    Args:
        results: see `complete`.
        cells: see `complete`.
        measure: see `complete`.
        show: of the cells that are known, if there are any; writes the page.
        name: see `complete`.

    Raises:
        KeyboardInterrupt: see `complete`; what is known has been shown by then.
    """
    try:
        complete(results, cells, measure, name=name)
    finally:
        known = {cell: results.known[cell] for cell in cells if cell in results.known}
        if known:
            show(known)


def _line(values: Sequence[object]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue().encode("utf-8")
