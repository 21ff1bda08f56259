"""How a command ends: expected failures in one line, unexpected ones with their traceback."""

import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TextIO

from tammes.cli.launched import is_first_to_say

PACKAGE = Path(__file__).parents[1]
FAILED = 2


def exit_code_of(command: Callable[[], None]) -> int:
    """Run a command and turn the way it ends into an exit code.

    A `ValueError` that Tammes raises, and whatever the system refuses (a missing file, a full disk), is
    the user's to mend: one line on stderr, and 2. Anything else is a bug and keeps its traceback.

    Args:
        command: what to run.

    Returns:
        0, 2, 130 after Ctrl-C, 143 after SIGTERM, or what tyro exits with.

    Example:
        >>> exit_code_of(lambda: None)
        0
    """
    try:
        with _warnings_in_a_line():
            command()
    except KeyboardInterrupt as interrupt:
        _say(str(interrupt) or "stopped")
        return 128 + _signal_of(interrupt)
    except OSError as error:
        _say(_sentence(error))
        return FAILED
    except ValueError as error:
        if not _is_ours(error.__traceback__):
            raise
        _say(str(error))
        return FAILED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _signal_of(interrupt: KeyboardInterrupt) -> int:
    """Which signal ended it; the class that knows is only imported where training was."""
    training = sys.modules.get("tammes.training.stop")
    if training is not None and isinstance(interrupt, training.Stopped):
        return int(interrupt.signal_number)
    return signal.SIGINT


def _is_ours(trace: TracebackType | None) -> bool:
    """Whether the innermost frame is Tammes' own: a ValueError out of torch or numpy is a bug of ours."""
    frames = traceback.extract_tb(trace)
    return bool(frames) and PACKAGE in Path(frames[-1].filename).parents


def _sentence(error: OSError) -> str:
    if error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror


def _say(message: str) -> None:
    line = " ".join(message.split())
    if is_first_to_say(line):
        sys.stderr.write(f"tammes: {line}\n")  # at once: others may write there as well
        sys.stderr.flush()


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Show a warning as a line without file and line number, and each kind only once."""
    seen: set[type[Warning]] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if category not in seen:
            seen.add(category)
            _say(f"warning: {message} (further warnings of this kind are not shown)")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
