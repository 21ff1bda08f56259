"""Files below a folder in a fixed order, their names in messages, and a warning for the files left out."""

import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

# What desktops create in folders; hidden files are ignored as well.
LITTER = frozenset({"thumbs.db", "desktop.ini"})
NAMED = 5


class SkippedFilesWarning(UserWarning):
    """Warning that files beside the data cannot be used and were left out."""


def files_below(root: Path) -> Iterator[str]:
    """Yield the paths of the files below a folder, folder by folder in the order of their names.

    Links are followed. Hidden files, Thumbs.db and desktop.ini are ignored.

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


def warn_of_skipped(message: str, skipped: Sequence[str], *, strict: bool) -> None:
    """Warn of the files that are left out, or refuse them.

    Args:
        message: what is wrong with the files; their names follow it.
        skipped: names of the files; without any, nothing happens.
        strict: whether such files are an error.

    Raises:
        ValueError: If `strict`, and there are such files.

    Warns:
        SkippedFilesWarning: If there are such files; the warning points at the caller of the loader.
    """
    if not skipped:
        return
    message = f"{message}: {listing(skipped)}"
    if strict:
        raise ValueError(f"{message}; remove them, or leave them out with strict=False")
    warnings.warn(f"{message}; left out", SkippedFilesWarning, stacklevel=3)


def listing(names: Sequence[str]) -> str:
    """Return the first few names, and the number of the others.

    Example:
        >>> listing(["a", "b", "c", "d", "e", "f"])
        'a, b, c, d, e and 1 more'
    """
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(printable(names[:NAMED])) + more


def printable(names: Sequence[str]) -> tuple[str, ...]:
    r"""Return file names as valid Unicode; a file system's names need not be UTF-8.

    Example:
        >>> printable([os.fsdecode(b"caf\xe9")])
        ('caf�',)
    """
    return tuple(os.fsencode(name).decode(errors="replace") for name in names)
