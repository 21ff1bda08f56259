"""Atomic writes: a reader finds the old file or the new one, never a part."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

PARTIAL = ".partial"


def write_atomically(path: Path, content: bytes, *, before: Path | None = None) -> None:
    """Write beside the file, flush to the disk, then rename.

    A full disk or a kill while writing leaves the old file untouched.

    Args:
        path: file to write; its folder must exist.
        content: all bytes of the file.
        before: new name for the old file, in the same folder; None does not keep the old file.

    Raises:
        OSError: if the content cannot be written, for example on a full disk; it names the file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_atomically(Path(folder, "note.txt"), b"all of it")
        ...     Path(folder, "note.txt").read_bytes()
        b'all of it'
    """
    # With the number of the process, so that two never write into one file.
    beside = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if before is not None and path.exists():
            os.replace(path, before)
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        # A failed write, unlike a failed open, does not name its file.
        raise OSError(error.errno, error.strerror, str(path)) from error
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


def partial_files(path: Path) -> Iterator[Path]:
    """Yield what processes that were killed while writing a file have left beside it."""
    start = f"{path.name}."
    if path.parent.is_dir():
        for file in path.parent.iterdir():
            number = file.name.removeprefix(start).removesuffix(PARTIAL)
            if file.name == f"{start}{number}{PARTIAL}" and number.isdecimal():
                yield file


def _flush_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut, where the system lets folders be flushed."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows opens no folders
        return
    try:
        os.fsync(descriptor)
    except OSError as error:  # network shares flush files alone
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
