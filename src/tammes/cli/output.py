"""Output of a command: its pipes, the file that it writes at its end, and names and numbers in messages."""

import io
import os
import stat
from pathlib import Path
from typing import TextIO

from typing_extensions import Buffer, override


class Pipe(io.FileIO):
    """Pipe whose reader may leave, as `head` does: what is written after that is dropped.

    The work of a command goes on, since what it leaves in files matters more than what it prints.
    """

    @override
    def write(self, content: Buffer, /) -> int:
        try:
            return super().write(content)
        except BrokenPipeError:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self.fileno())
            os.close(nothing)
            return super().write(content)


def without_reader(stream: TextIO | None) -> TextIO:
    """Return a stream to the same place that can be written to when nobody reads it any more.

    Args:
        stream: standard output or standard error; returned as it is unless it goes to a pipe. None if it was
            closed before the program began, as by `>&-`: what is written is then dropped.
    """
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except OSError:  # a program that calls `main` may hold the output in memory
        return stream
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(Pipe(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


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
