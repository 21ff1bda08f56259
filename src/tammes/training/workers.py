"""What goes wrong in a process that decodes images, said as if it had gone wrong here."""

from collections.abc import Iterator
from contextlib import contextmanager

CAUGHT = "Caught ValueError in DataLoader worker process"


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
