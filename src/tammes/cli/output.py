"""Output of a command: the file that it writes at its end, and names and numbers in its messages."""

import os
from pathlib import Path


def prepare_output(path: Path) -> None:
    """Create the folder of a file that a command will write, and check that the file can be written.

    Args:
        path: file to write; an existing file is left alone.

    Raises:
        ValueError: for a path that is a folder, a device or the like, or lies below a file.
        OSError: for a folder that cannot be created or written to.

    Example:
        >>> prepare_output(Path("."))
        Traceback (most recent call last):
            ...
        ValueError: . is a folder: name a file to write
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name a file to write")
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is a device, a pipe or a socket: name a file to write")
    for above in path.parents:
        if above.exists() and not above.is_dir():
            raise ValueError(f"{path} cannot be written, since {above} is a file: name another place")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path.parent} cannot be written to: name another place for {path.name}")


def check_text(name: str) -> None:
    r"""Raise ValueError for a name that reports and messages cannot hold, because its bytes are not UTF-8.

    Example:
        >>> check_text(os.fsdecode(b"caf\xe9"))
        Traceback (most recent call last):
            ...
        ValueError: expected names in UTF-8, got 'caf\udce9': rename it, or name another place
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"expected names in UTF-8, got {name!a}: rename it, or name another place") from None


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun.

    Args:
        count: the number.
        singular: noun for one.
        plural: noun for several; None appends an s.

    Example:
        >>> counted(1, "edge"), counted(2000, "edge"), counted(0, "vertex", "vertices")
        ('1 edge', '2,000 edges', '0 vertices')
    """
    return f"{count:,} {singular if count == 1 else plural or f'{singular}s'}"
