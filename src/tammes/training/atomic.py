"""Atomic writes: a reader finds the old file or the new one, never a part."""

import os
from pathlib import Path


def write_atomically(path: Path, content: bytes, *, before: Path | None = None) -> None:
    """Write beside the file, flush to the disk, then rename.

    A full disk or a kill while writing leaves the old file untouched.

    Args:
        path: file to write; its folder must exist.
        content: all bytes of the file.
        before: new name for the old file, in the same folder; None does not keep the old file.

    Raises:
        OSError: if the content cannot be written, for example on a full disk.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_atomically(Path(folder, "note.txt"), b"all of it")
        ...     Path(folder, "note.txt").read_bytes()
        b'all of it'
    """
    beside = partial_of(path)
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if before is not None and path.exists():
            os.replace(path, before)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


def partial_of(path: Path) -> Path:
    """Return the file that holds the new content of `path` until it is complete.

    Example:
        >>> partial_of(Path("config.yaml")).name
        'config.yaml.partial'
    """
    return path.with_name(path.name + ".partial")


def _flush_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut, where the system lets folders be flushed."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows opens no folders
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
