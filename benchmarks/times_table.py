"""Tables in Markdown, for the terminal and for a record, and one of works that are timed side by side."""

from __future__ import annotations

from collections.abc import Mapping

from rich.box import MARKDOWN
from rich.table import Table
from rich.text import Text

from method import Work
from timing import side_by_side


def markdown_table(title: str = "", *headings: str) -> Table:
    """Return an empty table under a title, which stays on one line however narrow the table is."""
    line = Text(title, no_wrap=True, overflow="ignore") if title else None
    return Table(*headings, title=line, title_justify="left", box=MARKDOWN)


def times_table(title: str, works: Mapping[str, Work], seconds: float) -> Table:
    """Return a table of median times, and of times relative to the first work.

    Args:
        title: title of the table.
        works: functions to time, by name, ours first.
        seconds: budget of `side_by_side`.
    """
    times = side_by_side(works, seconds)
    first = next(iter(times.values()))
    table = markdown_table(title)
    for heading in ("", "milliseconds", "times ours"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, found in times.items():
        table.add_row(name, f"{1e3 * found.median:.4g}", f"{found.over(first):.3g}")
    return table
