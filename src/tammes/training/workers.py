"""The processes that decode images: they leave signals to the one that trains, and fail in its name."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import Array, c_long
from multiprocessing import active_children
from multiprocessing.sharedctypes import RawArray
from multiprocessing.util import Finalize

CAUGHT = "Caught ValueError in DataLoader worker process"


class SignalsLeftToParent:
    """Ignores what a terminal or a launcher sends to all processes at once; begins a process of a DataLoader.

    The process that trains finishes its step and ends the others, which also notice when it dies. Where it
    exits with a DataLoader still at hand, multiprocessing would send them SIGTERM and wait for them without
    end: they are killed before.

    Args:
        workers: how many processes the DataLoader has.
    """

    def __init__(self, workers: int) -> None:
        self.pids = RawArray("l", workers)
        Finalize(None, _kill, (self.pids,), exitpriority=0)

    def __call__(self, worker: int) -> None:
        self.pids[worker] = os.getpid()  # first: what ignores SIGTERM must be known
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)


def _kill(pids: Array[c_long]) -> None:
    readers = set(pids)
    for child in active_children():
        if child.pid in readers:
            child.kill()


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise a worker's ValueError with its own message; torch's has the worker's whole traceback in it.

    Example:
        >>> with plain_errors():
        ...     raise ValueError(f"{CAUGHT} 0.\\n  its traceback\\nValueError: cat.png is cut off\\n")
        Traceback (most recent call last):
            ...
        ValueError: cat.png is cut off
    """
    try:
        yield
    except ValueError as error:
        text = str(error)
        if not text.startswith(CAUGHT):
            raise
        raise ValueError(text.rpartition("\nValueError: ")[2].strip()) from error
