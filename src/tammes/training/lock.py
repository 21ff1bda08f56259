"""A lock on a folder, so that no second process works in it; the kernel releases it when a process dies."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks: folders are not locked there
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"
"""File in a locked folder, which holds the number of the process that works there."""

_held: dict[str, int] = {}
"""Folders that this process has locked, and how often."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder; it is created, and deleted again if nothing was put into it.

    The lock belongs to the process: it may lock a folder several times, and children that it forks do not
    hold the lock, so that none of them keeps it after their parent was killed.

    Args:
        folder: the folder to lock.

    Raises:
        ValueError: if another process works in the folder.
        OSError: if the folder cannot be created or written to.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root, locked(Path(root)):
        ...     [file.name for file in Path(root).iterdir()]
        ['.lock']
    """
    name = os.path.realpath(folder)
    if fcntl is None or name in _held:
        _held[name] = _held.get(name, 0) + 1
        try:
            yield
        finally:
            _held[name] -= 1
        return
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = _acquired(folder)
    _held[name] = 1
    try:
        yield
    finally:
        del _held[name]
        (folder / LOCK).unlink(missing_ok=True)
        os.close(descriptor)
        if is_new:
            with suppress(OSError):  # it has files, as it should
                folder.rmdir()


def _acquired(folder: Path) -> int:
    """Return the descriptor of the locked file."""
    path = folder / LOCK
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            # Children do not inherit it, unlike flock. To close any descriptor of the file releases it.
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
            os.close(descriptor)
            raise ValueError(
                f"{folder} is in use by process {holder or '(just started)'}: wait until it has ended, "
                "stop it, or name another folder"
            ) from None
        if _is_in_place(path, descriptor):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
            return descriptor
        os.close(descriptor)  # the process that held the lock has just deleted the file


def _is_in_place(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
