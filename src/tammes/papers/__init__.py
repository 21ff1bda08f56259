"""Experiments of the papers that `tammes reproduce` can redo, in a folder for each document.

A module that defines ENTRY is one experiment.
"""

from tammes.papers.entry import Entry, entries

__all__ = ["Entry", "entries"]
