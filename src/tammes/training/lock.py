"""A lock on a folder, so that no second process works in it; the kernel releases it when a process dies."""

import errno
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks: folders are not locked there
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"
"""File in a locked folder, which holds the number of the process that works there."""

WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)
"""Errors of file systems that have no locks, such as Lustre mounted without them."""

_held: Counter[str] = Counter()
"""How often this process holds the lock of each folder."""
_release: dict[str, ExitStack] = {}
"""What releases the locks that are held."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder; it is created, and deleted again if nothing was put into it.

    The lock belongs to the process: it may lock a folder several times, and children that it forks do not
    hold the lock, so that none of them keeps it after their parent was killed. A folder is not locked where
    the system (Windows) or its file system has no such locks.

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
    if not _held[name]:
        _release[name] = _acquired(folder)
    _held[name] += 1
    try:
        yield
    finally:
        _held[name] -= 1
        if not _held[name]:  # the last of several holders, in whatever order they end
            _release.pop(name).close()


def _acquired(folder: Path) -> ExitStack:
    """Make and lock a folder, and return what undoes both."""
    undo = ExitStack()
    if not folder.exists():
        undo.callback(_delete_if_empty, folder)
    folder.mkdir(parents=True, exist_ok=True)
    if fcntl is not None:
        undo.callback(os.close, _locked_file(folder))
        undo.callback((folder / LOCK).unlink, missing_ok=True)  # before it is closed, which releases the lock
    return undo


def _delete_if_empty(folder: Path) -> None:
    with suppress(OSError):  # it has files, as it should
        folder.rmdir()


def _locked_file(folder: Path) -> int:
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
        except OSError as error:
            if error.errno not in WITHOUT_LOCKS:
                os.close(descriptor)
                raise
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
