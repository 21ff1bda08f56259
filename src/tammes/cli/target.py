"""Whether a file can be written, asked before the work whose result it shall hold."""

import os
from pathlib import Path


def prepare(path: Path) -> None:
    """Make the folder of a file that a command will write when its work is done.

    Args:
        path: the file; what stands there already is left alone.

    Raises:
        ValueError: for a path that is a folder, or lies below a file.
        OSError: for a folder that cannot be made or written to.

    Example:
        >>> prepare(Path("."))
        Traceback (most recent call last):
            ...
        ValueError: . is a folder: name a file to write
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name a file to write")
    for above in path.parents:
        if above.exists() and not above.is_dir():
            raise ValueError(f"{path} cannot be written, since {above} is a file: name another place")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path.parent} cannot be written to: name another place for {path.name}")
