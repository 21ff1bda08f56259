"""The console of a command, whose tables and sentences hold names from the user's files."""

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

WIDEST = 1_000
"""Columns of the widest table in a file or a pipe."""


def plain_console() -> Console:
    """Return rich's console, which wraps text but prints it as it is.

    By itself rich takes `[a]` for markup and `:100:` for an emoji, and colors numbers.
    """
    return Console(markup=False, emoji=False, highlight=False)


def print_table(table: Table) -> None:
    """Print a table, in a file or a pipe as wide as it is: only a terminal cuts words."""
    console = plain_console()
    if not console.is_terminal:
        own = Measurement.get(console, console.options.update(max_width=WIDEST), table)
        console.width = max(console.width, own.maximum)
    console.print(table)
