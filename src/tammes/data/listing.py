"""The files below a folder, always in the same order, and their names for people to read."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

# What desktops leave behind unasked; hidden files are passed over as well.
LITTER = frozenset({"thumbs.db", "desktop.ini"})
NAMED = 5


class SkippedFilesWarning(UserWarning):
    """Something found beside the data was left out, because it cannot be used."""


def files_below(root: Path) -> Iterator[str]:
    """Paths of files below a folder, folder by folder in the order of their names, links followed.

    Hidden files, Thumbs.db and desktop.ini are passed over.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (Path(root) / "b").mkdir()
        ...     for name in ("c.txt", "b/a.txt", ".hidden"):
        ...         (Path(root) / name).touch()
        ...     list(files_below(Path(root)))
        ['b/a.txt', 'c.txt']
    """

    def walk(directory: str, prefix: str, above: frozenset[str]) -> Iterator[str]:
        here = os.path.realpath(directory)
        if here in above:  # a link to a folder that contains it
            return
        for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
            if entry.name.startswith(".") or entry.name.lower() in LITTER:
                continue
            if entry.is_dir():
                yield from walk(entry.path, f"{prefix}{entry.name}/", above | {here})
            else:
                yield prefix + entry.name

    return walk(str(root), "", frozenset())


def listing(names: Sequence[str]) -> str:
    """The first few names, and how many more there are.

    Example:
        >>> listing(["a", "b", "c", "d", "e", "f"])
        'a, b, c, d, e and 1 more'
    """
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(printable(names[:NAMED])) + more


def printable(names: Sequence[str]) -> tuple[str, ...]:
    """Names as text that every file can hold: a file system's need not be UTF-8.

    Example:
        >>> printable([os.fsdecode(b"caf\\xe9")])
        ('caf\ufffd',)
    """
    return tuple(os.fsencode(name).decode(errors="replace") for name in names)
