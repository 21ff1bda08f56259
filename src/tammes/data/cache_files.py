"""Files of a cache: locked while they are made, written whole or not at all, their size said before."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks: two processes may both make the cache, and the last wins
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"


def check_cache(cache: str | Path) -> Path:
    """Return the path of a folder for a cache, which need not be there yet.

    Raises:
        ValueError: If a file is at the path, or in the place of a folder above it.

    Example:
        >>> check_cache(os.devnull)
        Traceback (most recent call last):
            ...
        ValueError: cache must be a folder, which is made if missing, got /dev/null, a file: name another one
    """
    place = Path(cache)
    for part in (place, *place.parents):
        if part.exists():
            if not part.is_dir():
                where = "a file" if part == place else f"and {part} is a file"
                raise ValueError(
                    f"cache must be a folder, which is made if missing, got {place}, {where}: "
                    "name another one"
                )
            break
    return place


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Wait until no other process makes the cache in this folder."""
    if fcntl is None:
        yield
        return
    with (place / LOCK).open("a") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)  # until the file is closed, or the process dies
        yield


def write_whole(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write beside the file, flush to the disk, and rename.

    Written and not assigned through a map: a full disk is then an error, and not the end of the process.

    Raises:
        OSError: If the file cannot be written; nothing of it stays.
    """
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def remove_old(place: Path, names: Iterable[str]) -> None:
    """Delete files of a cache, and those that a killed process left beside them."""
    for name in names:
        for old in (place / name, *place.glob(f"{name}.*")):
            old.unlink(missing_ok=True)


def check_room(place: Path, needed: int, *, what: str, instead: str) -> None:
    """Raise ValueError if the disk has less room than a cache needs.

    Args:
        place: folder of the cache, which exists.
        needed: bytes of the cache.
        what: what needs them, in words.
        instead: what else to do.
    """
    free = shutil.disk_usage(place).free
    if needed > free:
        raise ValueError(
            f"{what} need {in_bytes(needed)} in {place}, where {in_bytes(free)} are free: make room, name "
            f"another folder for the cache, or {instead}"
        )


def in_bytes(number: int) -> str:
    """Return a number of bytes in the largest unit below it.

    Example:
        >>> in_bytes(800), in_bytes(12_500_000_000)
        ('800 B', '12.5 GB')
    """
    for power, unit in ((12, "TB"), (9, "GB"), (6, "MB"), (3, "kB")):
        if number >= 10**power:
            return f"{number / 10**power:.1f} {unit}"
    return f"{number} B"
