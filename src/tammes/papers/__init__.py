"""What `tammes reproduce` can redo: one module is one entry, and each offers it under the name ENTRY."""

from tammes.papers.entry import Entry, entries

__all__ = ["Entry", "entries"]
