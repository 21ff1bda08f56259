"""The processes that decode images: they leave signals to the one that trains, and fail in its name."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

CAUGHT = "Caught ValueError in DataLoader worker process"


def leave_signals_to_parent(worker: int) -> None:
    """Ignore what a terminal or a launcher sends to all processes at once; begins a process of a DataLoader.

    The process that trains finishes its step and ends the others, which also notice when it dies.

    Args:
        worker: which of them, as a DataLoader says it.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


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
