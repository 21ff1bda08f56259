"""The console of a command, whose tables and sentences hold names from the user's files."""

from rich.console import Console


def plain_console() -> Console:
    """Return rich's console, which wraps text but prints it as it is.

    By itself rich takes `[a]` for markup and `:100:` for an emoji, and colors numbers.
    """
    return Console(markup=False, emoji=False, highlight=False)
