"""The page of an entry: the paper's statements beside our numbers, the figures, the table."""

import json
from collections import Counter
from dataclasses import dataclass
from zlib import crc32

from matplotlib.figure import Figure as Drawing

from tammes.atomic import write_atomically
from tammes.papers.entry import Request
from tammes.papers.finding import NOTHING, OPEN, Check, Effect, Finding
from tammes.papers.protocol import Protocol
from tammes.report.markup import Panel, inline_svg, render


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Row of panels under a heading.

    Args:
        title: heading.
        words: sentence that says what the panels show.
        panels: drawings, side by side.
        wide: whether a panel takes more than a third of the page.
    """

    title: str
    words: str
    panels: tuple[Panel, ...]
    wide: bool = False


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """Table of the page: a header, and rows of equal length that begin with the name of the row."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str


@dataclass(frozen=True, kw_only=True)
class PaperPage:
    """Content of an entry's page, from top to bottom.

    Args:
        title: heading of the page.
        overview: drawing that becomes `figure.svg`.
        findings: statements of the paper beside our measurements, and checks.
        figures: rows of panels.
        numbers: table of all results.
        lead: first sentence of the page; left out, it counts the verdicts.
        remarks: paragraphs that say how to read the page.
        intervals: what the intervals are of, and by whose method.
        settings: names and values of what the paper leaves open or the budget decides.
    """

    title: str
    overview: Drawing
    findings: tuple[Finding | Check, ...]
    figures: tuple[Figure, ...]
    numbers: Numbers
    lead: str = ""
    remarks: tuple[str, ...] = ()
    intervals: str = "over the seeds (Student's t; of differences, seed by seed)"
    settings: dict[str, str]

    @property
    def summary(self) -> str:
        """The verdicts, counted; without what would decide those that are not resolved."""
        stated = [finding.verdict for finding in self.findings if finding.verdict != NOTHING]
        counts = Counter(OPEN if verdict.startswith(OPEN) else verdict for verdict in stated)
        return "Verdicts: " + ", ".join(f"{count} × {verdict}" for verdict, count in counts.items()) + "."


def panel(drawing: Drawing, description: str, *, name: str = "", caption: str = "", color: str = "") -> Panel:
    """Return a drawing as a panel of a page.

    Args:
        drawing: figure in the colors of `tammes.report.palette`.
        description: text that a screen reader reads in place of the drawing; different for each panel of a
            page, since the ids in the drawing derive from it.
        name: title of the panel.
        caption: line of numbers below the drawing.
        color: CSS color of the title.
    """
    svg = inline_svg(drawing, name=f"panel-{crc32(description.encode()):08x}", description=description)
    return Panel(name=name, color=color, svg=svg, caption=caption)


def write_page(page: PaperPage, request: Request, protocol: Protocol) -> None:
    """Write a page into the folder of the request.

    The files are `figure.svg`, `report.html`, which is self-contained, and `findings.json` for programs. The
    first of several processes writes them.
    """
    if not request.sharing.writes:
        return
    page.overview.savefig(request.out / "figure.svg", facecolor="white", dpi=200)
    content = render(
        "paper.html.jinja", {"title": page.title, "page": page, "request": request, "protocol": protocol}
    )
    write_atomically(request.out / "report.html", content.encode("utf-8", "replace"))
    findings = [
        {"paper": finding.paper, "ours": finding.ours, "verdict": finding.verdict}
        | {
            kind: [_in_numbers(effect) for effect in effects]
            for kind, effects in (("effects", finding.effects), ("controls", finding.controls))
        }
        for finding in page.findings
    ]
    text = json.dumps(findings, indent=1, ensure_ascii=False) + "\n"
    write_atomically(request.out / "findings.json", text.encode("utf-8", "replace"))


def _in_numbers(effect: Effect) -> dict[str, str | float | None]:
    """Return an effect with the ends of its interval, which are None if they are not known, and its text."""
    found = effect.difference
    if found is None:
        return {"name": effect.name, "mean": None, "low": None, "high": None, "text": effect.text}
    ends = (found.low, found.high) if found.is_known else (None, None)
    return {"name": effect.name, "mean": found.mean, "low": ends[0], "high": ends[1], "text": effect.text}
