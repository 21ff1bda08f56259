"""Experiments of the papers that `tammes reproduce` can redo, in a folder for each document.

The folder's `__init__.py` says what the experiments try, each of which is a module with a function `run`.
"""

from tammes.papers.entry import Entry, entries

__all__ = ["Entry", "entries"]
