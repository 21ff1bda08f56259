"""The page of an entry: the paper's statements beside our numbers, the figures, the table."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure as Drawing

from tammes.report.panels import Panel
from tammes.report.render import render
from tammes.report.svg import inline_svg
from tammes.training.atomic import write_atomically


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One statement and what we saw.

    Args:
        paper: what the paper states, with its number.
        ours: what we measured, in numbers.
        agrees: whether the one bears out the other; None where the paper states nothing to compare.
    """

    paper: str
    ours: str
    agrees: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A row of panels under a heading, with a sentence that says what is to be seen."""

    title: str
    words: str
    panels: tuple[Panel, ...]
    wide: bool = False

    @classmethod
    def of(
        cls, drawing: Drawing, *, name: str, title: str, words: str, description: str = "", wide: bool = True
    ) -> "Figure":
        """One drawing alone, with its title and words as its description where none is given."""
        svg = inline_svg(drawing, name=name, description=description or f"{title}. {words}")
        return cls(title=title, words=words, panels=(Panel(svg=svg),), wide=wide)


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """A table: a header, and rows of text of the same length, the first cell naming the row."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str


@dataclass(frozen=True, kw_only=True)
class PaperPage:
    """What the page of an entry shows, from top to bottom.

    Where there is no lead, it is what was measured for each finding, one after the other.
    """

    title: str
    statement: str
    source: str
    lead: str = ""
    findings: tuple[Finding, ...]
    figures: tuple[Figure, ...]
    numbers: Numbers
    remarks: tuple[str, ...]
    settings: dict[str, str]
    command: str


def write_page(path: Path, page: PaperPage) -> None:
    """Write the page as one self-contained HTML file."""
    content = render("paper.html.jinja", {"title": page.title, "page": page})
    write_atomically(path, content.encode("utf-8", "replace"))


def write_table(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows with the same keys as comma-separated values, with a header."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
