"""Files below a folder in a fixed order, their names in messages, and a warning for the files left out."""

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# What desktops create in folders; hidden files are ignored as well.
LITTER = frozenset({"thumbs.db", "desktop.ini"})
NAMED = 5


class SkippedFilesWarning(UserWarning):
    """Warning that files beside the data cannot be used and were left out."""


def files_below(root: Path) -> tuple[list[str], list[str]]:
    """Return the files below a folder, folder by folder in the order of their names, and what is unusable.

    Links are followed. Each folder is listed once, under the first of its paths in this order: a link to a
    folder that contains the link is ignored, and any other path to a folder that is listed already is
    unusable. So are broken links, pipes, sockets, devices, and folders that cannot be read. Hidden files,
    Thumbs.db and desktop.ini are ignored.

    Args:
        root: path of the folder.

    Returns:
        The paths of the regular files, relative to the folder; and those of the unusable entries.

    Raises:
        OSError: If the folder itself cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (Path(root) / "b").mkdir()
        ...     for name in ("c.txt", "b/a.txt", ".hidden"):
        ...         (Path(root) / name).touch()
        ...     (Path(root) / "d.txt").symlink_to("nowhere")
        ...     files_below(Path(root))
        (['b/a.txt', 'c.txt'], ['d.txt'])
    """
    files: list[str] = []
    unusable: list[str] = []
    is_open: dict[_Identity, bool] = {}  # of each folder found: whether the walk is inside it
    levels: list[_Level] = []

    def enter(path: str, prefix: str) -> None:
        identity = _identity(path)
        if identity not in is_open:
            levels.append(_Level(identity=identity, prefix=prefix, entries=iter(_entries(path))))
            is_open[identity] = True
        elif not is_open[identity]:
            raise OSError("the folder is listed already")

    enter(str(root), "")
    while levels:
        here = levels[-1]
        entry = next(here.entries, None)
        if entry is None:
            is_open[levels.pop().identity] = False
            continue
        name = here.prefix + entry.name
        try:
            if entry.is_file():
                files.append(name)
            else:
                enter(entry.path, f"{name}/")
        except OSError:
            unusable.append(name)
    return files, unusable


_Identity = tuple[int, int]
"""Device and inode of a folder."""


@dataclass(frozen=True, kw_only=True)
class _Level:
    """Folder that the walk is inside, the beginning of its files' names, and its next entries."""

    identity: _Identity
    prefix: str
    entries: Iterator[os.DirEntry[str]]


def _identity(path: str) -> _Identity:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder in the order of their names; anything but a folder raises OSError."""
    with os.scandir(folder) as found:
        return sorted((entry for entry in found if not _is_ignored(entry.name)), key=lambda entry: entry.name)


def _is_ignored(name: str) -> bool:
    return name.startswith(".") or name.lower() in LITTER


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
    return tuple(name if name.isascii() else os.fsencode(name).decode(errors="replace") for name in names)
