"""The table of all measurements, for the terminal and for a page."""

from __future__ import annotations

import io
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from machine import Rate
from method import Size, Task
from timing import Times

_HEADINGS = ("pairs", "method", "ms", "times ours", "times products", "peak MB")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Time of one method and, if asked for, its memory; or the reason why it was not measured."""

    name: str
    times: Times | None = None
    megabytes: float | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A task at one size; its first cell is ours."""

    task: Task
    size: Size
    rate: Rate
    cells: tuple[Cell, ...]

    @property
    def lead(self) -> float | None:
        """Return the best peer's time divided by that of our first method, above 1 if we are faster."""
        ours, names = self.cells[0].times, [peer.name for peer in self.task.peers]
        peers = [cell.times for cell in self.cells if cell.name in names and cell.times is not None]
        if ours is None or not peers:
            return None
        return min(peers, key=lambda times: times.median).over(ours)

    def rows(self) -> list[tuple[str, ...]]:
        """Return a row for each method, in the order of `_HEADINGS`."""
        first = self.cells[0].times
        alone = None if (flops := self.task.flops(self.size)) is None else flops / self.rate.best
        return [
            (
                f"{self.size.pairs:,}" if place == 0 else "",
                cell.name,
                cell.note if cell.times is None else _milliseconds(cell.times.median),
                "" if cell.times is None or first is None else f"{cell.times.over(first):.2f}",
                "" if cell.times is None or alone is None else f"{cell.times.median / alone:.2f}",
                "" if cell.megabytes is None else f"{cell.megabytes:,.0f}",
            )
            for place, cell in enumerate(self.cells)
        ]


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:,.3f}" if seconds < 1e-2 else f"{1e3 * seconds:,.1f}"


def _rate(rate: Rate) -> str:
    return f"{rate.tile / 1e9:,.0f} tile, {rate.large / 1e9:,.0f} large"


def summary_rows(sections: list[Section]) -> list[tuple[str, ...]]:
    """Return rows that say how many times as fast as the best peer we are, by task and size."""
    return [
        (
            section.task.key,
            f"{section.size.pairs:,}",
            "" if section.lead is None else f"{section.lead:.2f}",
            _rate(section.rate),
        )
        for section in sections
    ]


_SUMMARY = ("task", "pairs", "best peer / ours", "GFLOP/s of products")


def show(sections: list[Section], console: Console) -> None:
    """Print the table of methods, then the lead over the best peer."""
    table = Table(title="Forward and backward, medians", title_justify="left")
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for place, section in enumerate(sections):
        if place == 0 or section.task is not sections[place - 1].task:
            table.add_section()
            table.add_row("", f"[bold]{section.task.title}[/bold]")
        for row in section.rows():
            table.add_row(*row)
    console.print(table)
    lead = Table(title="Times as fast as the best peer", title_justify="left")
    for heading in _SUMMARY:
        lead.add_column(heading, justify="left" if heading == "task" else "right")
    for row in summary_rows(sections):
        lead.add_row(*row)
    console.print(lead)


def markdown(sections: list[Section], description: str, command: str, date: str) -> str:
    """Return the same tables as a page in Markdown."""
    page = io.StringIO()
    page.write(f"# {date}, CPU\n\n{description}\n\n    {command}\n")
    page.write("\n## Times as fast as the best peer\n\n")
    _write_table(page, _SUMMARY, summary_rows(sections))
    for place, section in enumerate(sections):
        if place == 0 or section.task is not sections[place - 1].task:
            page.write(f"\n## {section.task.title}\n\n")
            rows = [r for s in sections if s.task is section.task for r in s.rows()]
            _write_table(page, _HEADINGS, rows)
    return page.getvalue()


def _write_table(page: io.StringIO, headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    page.write(f"| {' | '.join(headings)} |\n")
    page.write(f"|{'|'.join(':-' if name in ('method', 'task') else '-:' for name in headings)}|\n")
    for row in rows:
        page.write(f"| {' | '.join(row)} |\n")
