"""A study: measures many cells, writes each into a table at once, and resumes from that table."""

import csv
import dataclasses
import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_type_hints

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tammes.checks import check_file
from tammes.papers.claim import claim
from tammes.papers.entry import Request
from tammes.papers.page import PaperPage, write_page
from tammes.papers.protocol import Protocol
from tammes.papers.sharing import ALONE, Sharing

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Cell = TypeVar("Cell", bound="DataclassInstance")
Score = TypeVar("Score", bound="DataclassInstance")

_READ: dict[Any, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    bool: {"True": True, "False": False}.__getitem__,
    tuple[float, ...]: lambda text: tuple(map(float, text.split())),
}


@dataclass(frozen=True, kw_only=True)
class Study(Generic[Cell, Score]):
    """Cells to be measured, and the page that shows them.

    Running a study makes the folder, reads the table in it, measures the cells that the table lacks, appends
    each to the table at once, and writes the figure and the page. A study that was stopped resumes.

    Args:
        cells: frozen dataclasses with integer, float, string or bool fields: all settings that a score
            depends on, so that a cell with other settings is another cell. The most important come first.
        scores: dataclass likewise, of what is measured; numbers in a tuple are one column.
        measure: function that measures one cell; the same cell gives the same score.
        name: function that names a cell in the progress bar.
        protocol: seeds, controls and search space.
        page: function from the scores of the cells to the page; None if they show nothing yet.
        partial: whether `page` also takes some of the cells, so that a stopped study has a page.

    Example:
        >>> import tempfile
        >>> from matplotlib.figure import Figure
        >>> from tammes.papers.entry import Entry
        >>> from tammes.papers.finding import Check
        >>> from tammes.papers.page import Numbers
        >>> from tammes.papers.protocol import Protocol
        >>> @dataclass(frozen=True, kw_only=True)
        ... class Square:
        ...     width: int
        >>> @dataclass(frozen=True, kw_only=True)
        ... class SquareScore:
        ...     area: float
        >>> def page(results):
        ...     rows = tuple((str(square.width), f"{score.area:g}") for square, score in results.items())
        ...     return PaperPage(
        ...         title="Squares",
        ...         overview=Figure(),
        ...         findings=(Check(paper="Area grows.", ours="It grows.", passed=True),),
        ...         figures=(),
        ...         numbers=Numbers(header=("width", "area"), rows=rows, note="In square meters."),
        ...         settings={},
        ...     )
        >>> def run(request):
        ...     Study(
        ...         cells=[Square(width=width) for width in (1, 2)],
        ...         scores=SquareScore,
        ...         measure=lambda square: SquareScore(area=square.width**2),
        ...         name=str,
        ...         protocol=Protocol(seeds=[0], controls=["chance"], measured_on="squares"),
        ...         page=page,
        ...     ).run(request)
        >>> entry = Entry(name="squares", statement="Area grows.", source="Euclid, book I", run=run)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     entry.reproduce(Path(folder), budget=1.0, seed=0)
        ...     print(Path(folder, "table.csv").read_text(), end="")
        ...     sorted(file.name for file in Path(folder).iterdir())
        width,area
        1,1
        2,4
        ['figure.svg', 'findings.json', 'report.html', 'study.json', 'table.csv']
    """

    cells: Sequence[Cell]
    scores: type[Score]
    measure: Callable[[Cell], Score]
    name: Callable[[Cell], str]
    protocol: Protocol
    page: Callable[[dict[Cell, Score]], PaperPage | None]
    partial: bool = False

    def run(self, request: Request) -> None:
        """Measure the missing cells, then write the figure and the page into the folder of the request.

        Raises:
            ValueError: a table of another study in the folder, or of this one with other settings.
            KeyboardInterrupt: after Ctrl-C; a `partial` study has written its page by then.
        """
        claim(request, self.protocol)
        results = Results(request.out / "table.csv", type(self.cells[0]), self.scores, request.sharing)
        try:
            complete(results, self.cells, self.measure, name=self.name)
        finally:
            known = {cell: results.known[cell] for cell in self.cells if cell in results.known}
            if len(known) == len(set(self.cells)) or (self.partial and known):
                page = self.page(known)
                if page is not None:
                    write_page(page, request, self.protocol)


class Results(Generic[Cell, Score]):
    """Scores by cell, in a CSV file that grows by a line for each measured cell.

    A line is written whole and flushed to the disk. If a line was cut off all the same (the power failed, the
    disk was full), opening the file again removes it, and its cell counts as not measured.

    Args:
        path: CSV file; the first line makes it, and its folder must exist by then.
        cell: type of the cells; see `Study`.
        scores: type of the scores; see `Study`.
        sharing: how the measurements are shared between processes.

    Attributes:
        known: scores in the file, in its order.
        kinds: types of the cells and of the scores.

    Raises:
        ValueError: a file that is no CSV in UTF-8 or has other columns, or an unreadable line; the file stays
            as it is.

    Example:
        >>> import tempfile
        >>> @dataclass(frozen=True)
        ... class Square:
        ...     width: int
        >>> @dataclass(frozen=True)
        ... class SquareScore:
        ...     area: float
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "table.csv")
        ...     Results(path, Square, SquareScore).append(Square(width=2), SquareScore(area=4.0))
        ...     Results(path, Square, SquareScore).known
        {Square(width=2): SquareScore(area=4.0)}
    """

    def __init__(self, path: Path, cell: type[Cell], scores: type[Score], sharing: Sharing = ALONE) -> None:
        self.path, self.sharing = path, sharing
        self.kinds = cell, scores
        self._columns = [field.name for kind in self.kinds for field in dataclasses.fields(kind)]
        self.known: dict[Cell, Score] = {}
        if path.exists():
            self._read()

    def append(self, cell: Cell, score: Score) -> None:
        """Write one more line, flushed to the disk, unless another process writes the table.

        Raises:
            OSError: a line that cannot be written.
        """
        if self.sharing.writes:
            self._write([*dataclasses.asdict(cell).values(), *dataclasses.asdict(score).values()])
        self.known[cell] = score

    def _write(self, values: Sequence[object]) -> None:
        with self.path.open("ab") as file:
            if file.tell() == 0:
                file.write(_line(self._columns))
            file.write(_line(values))
            file.flush()
            os.fsync(file.fileno())

    def _read(self) -> None:
        content = check_file(self.path).read_bytes()
        whole = content.rfind(b"\n") + 1
        if not _line(self._columns).startswith(content):  # else it is a header, or the beginning of one
            try:
                self._read_lines((content[:whole] or content).decode("utf-8-sig"))  # as spreadsheets save it
            except (UnicodeDecodeError, csv.Error) as error:
                raise ValueError(
                    f"expected a CSV table in UTF-8 in {self.path}, got something else ({error}); "
                    "save it as CSV in UTF-8, move it away, or choose another folder"
                ) from error
        if whole < len(content) and self.sharing.writes:
            os.truncate(self.path, whole)

    def _read_lines(self, text: str) -> None:
        rows = csv.reader(io.StringIO(text, newline=""))
        header = next(rows)
        if header != self._columns:
            raise ValueError(
                f"{self.path} has the columns {', '.join(header)} and not {', '.join(self._columns)}: it "
                "belongs to another study; move it away, or choose another folder"
            )
        for row in rows:
            cell, score = self._parsed(row, rows.line_num)
            self.known[cell] = score

    def _parsed(self, row: list[str], line: int) -> tuple[Cell, Score]:
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
            return filled(self.kinds[0]), filled(self.kinds[1])
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"{self.path}, line {line}: expected {', '.join(self._columns)}, got "
                f"{', '.join(row)}; mend the line or take it out"
            ) from error


def grouped(results: Mapping[Cell, Score], *names: str) -> dict[Any, dict[Cell, Score]]:
    """Return the results in groups of cells that agree in the named fields, each in the order of the results.

    Example:
        >>> @dataclass(frozen=True)
        ... class Square:
        ...     width: int
        ...     seed: int
        >>> results = {Square(2, 0): "a", Square(3, 0): "b", Square(2, 1): "c"}
        >>> {width: list(group.values()) for width, group in grouped(results, "width").items()}
        {2: ['a', 'c'], 3: ['b']}
    """
    groups: dict[Any, dict[Cell, Score]] = {}
    key = attrgetter(*names)
    for cell, score in results.items():
        groups.setdefault(key(cell), {})[cell] = score
    return groups


def complete(
    results: Results[Cell, Score],
    cells: Sequence[Cell],
    measure: Callable[[Cell], Score],
    *,
    name: Callable[[Cell], str],
) -> dict[Cell, Score]:
    """Measure the cells that the results lack, here or elsewhere, and return the scores of all cells.

    A bar on stderr shows the progress; without a terminal, each measured cell prints a line.

    Args:
        results: known scores; each measured cell is appended.
        cells: cells in the order of measurement.
        measure: function that measures one cell.
        name: function that names a cell in the bar, or the line.

    Raises:
        KeyboardInterrupt: after Ctrl-C, with the number of measured cells.
    """
    missing = [cell for cell in cells if cell not in results.known]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True, markup=False, highlight=False, quiet=not results.sharing.writes)
    on_terminal = console.is_terminal
    try:
        with Progress(*columns, console=console, transient=True, disable=not on_terminal) as progress:
            bar = progress.add_task("", total=len(cells), completed=len(cells) - len(missing))

            def begun(number: int) -> dict[str, Any]:  # plain values, which other processes can read
                progress.update(bar, description=name(missing[number]))
                return vars(measure(missing[number]))

            found = results.sharing.measured(len(missing), begun, lambda number: name(missing[number]))
            for done, (number, values) in enumerate(found, start=len(cells) - len(missing) + 1):
                results.append(missing[number], results.kinds[1](**values))
                progress.update(bar, description=name(missing[number]), advance=1)
                if not on_terminal:
                    console.print(f"{done} of {len(cells)}: {name(missing[number])}", soft_wrap=True)
    except KeyboardInterrupt:
        measured = sum(cell in results.known for cell in cells)
        raise KeyboardInterrupt(
            f"stopped with {measured} of {len(cells)} cells measured, which {results.path} keeps; the "
            "same command resumes from there"
        ) from None
    return {cell: results.known[cell] for cell in cells}


def _line(values: Sequence[object]) -> bytes:
    text = io.StringIO()
    cells = [" ".join(map(str, value)) if isinstance(value, tuple) else value for value in values]
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode("utf-8")
