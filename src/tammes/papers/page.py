"""The page of an entry: the paper's statements beside our numbers, the figures, the table."""

from dataclasses import dataclass
from zlib import crc32

from matplotlib.figure import Figure as Drawing

from tammes.papers.entry import Request
from tammes.report.markup import Panel, inline_svg, render
from tammes.training.atomic import write_atomically


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Statement of the paper beside our measurement.

    Args:
        paper: statement of the paper, with its number.
        ours: measurement, in numbers.
        agrees: verdict; None if the paper states nothing to compare.
    """

    paper: str
    ours: str
    agrees: bool | None = None


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
        findings: statements of the paper beside our measurements.
        figures: rows of panels.
        numbers: table of all results.
        lead: first sentence of the page; left out, it is what was measured for each finding.
        remarks: paragraphs that say how to read the page.
        settings: names and values of what the paper leaves open or the budget decides.
    """

    title: str
    overview: Drawing
    findings: tuple[Finding, ...]
    figures: tuple[Figure, ...]
    numbers: Numbers
    lead: str = ""
    remarks: tuple[str, ...] = ()
    settings: dict[str, str]


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


def write_page(page: PaperPage, request: Request) -> None:
    """Write `figure.svg` and `report.html`, one self-contained HTML file, into the folder of the request."""
    page.overview.savefig(request.out / "figure.svg", facecolor="white", dpi=200)
    content = render("paper.html.jinja", {"title": page.title, "page": page, "request": request})
    write_atomically(request.out / "report.html", content.encode("utf-8", "replace"))
