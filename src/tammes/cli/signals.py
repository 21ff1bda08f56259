"""Ctrl-C and SIGTERM on the command line, except within a training, which finishes its step first."""

import _thread
import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from tammes.cli.failures import is_first_on_machine

# Time in which the library code that swallowed a KeyboardInterrupt ends; then it is raised again.
PAUSE = 0.05


class Signals:
    """The signals that stop a command: at once before its work begins, by a KeyboardInterrupt afterwards.

    Before its work a command imports torch and others, whose code in C turns a KeyboardInterrupt into other
    errors or loses it. Nothing can be lost then, so the process ends where it is. Later the files that are
    being written must be removed, which a KeyboardInterrupt does.

    Example:
        >>> signals = Signals()
        >>> with signals.handled():
        ...     signals.begin_work()
        >>> signals.received is None
        True
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.is_at_work = False
        self.process = os.getpid()

    @contextlib.contextmanager
    def handled(self, *, until_exit: bool = False) -> Iterator[None]:
        """Handle SIGINT and SIGTERM within the block; in another thread than the main one, do nothing.

        Args:
            until_exit: handle them also after the block, while the process ends, and ignore them in its
                last part.
        """
        before: dict[signal.Signals, Any] = {}
        hook = sys.unraisablehook
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                # A background job ignores the signal from the start, and continues to.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    before[number] = signal.signal(number, self._stop)
            sys.unraisablehook = lambda lost: self._raise_again(lost, hook)
        try:
            yield
        finally:
            self.end_work()
            if until_exit:
                # Python drops handlers before it takes its modules apart, and a signal then would turn the
                # exit code of finished work into that of the signal.
                for number in before:
                    atexit.register(signal.signal, number, signal.SIG_IGN)
                before.clear()
            for number, handler in before.items():
                signal.signal(number, handler)
            sys.unraisablehook = hook

    def begin_work(self) -> None:
        """Raise a KeyboardInterrupt from now on, since the command may have something to lose."""
        self.is_at_work = True

    def end_work(self) -> None:
        """End at once from now on: an exception could meet the one that is being reported."""
        self.is_at_work = False

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self.process and number == signal.SIGTERM:
            # A worker process, whose parent ends it like this.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        elif self.is_at_work or os.getpid() != self.process:
            self.received = number
            raise KeyboardInterrupt
        else:
            stop_at_once(number)

    def _raise_again(self, lost: Any, hook: Any) -> None:
        """Repeat a KeyboardInterrupt that Python could only have printed, as in a destructor."""
        if self.received is None or not isinstance(lost.exc_value, KeyboardInterrupt):
            hook(lost)
            return
        threading.Timer(PAUSE, self._interrupt, [signal.Signals(self.received)]).start()

    def _interrupt(self, number: signal.Signals) -> None:
        if self.is_at_work:  # else another KeyboardInterrupt of the same signal has ended the work
            _thread.interrupt_main(number)


def stop_at_once(number: int) -> None:
    """End this process with a line on stderr and the exit code that shells give to the signal."""
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    if is_first_on_machine():
        os.write(2, b"tammes: stopped\n")
    os._exit(128 + number)


def end_stopped(code: int) -> None:
    """End this process by its exit handlers alone, after a signal has stopped its work.

    The signal may have left a library half imported, and code in C can then abort a process that takes Python
    apart as usual, with another exit code.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)
