"""Watchdog of a process that waits on a GPU for another process that has died."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# A launcher sends SIGTERM to the remaining processes, and SIGKILL half a minute later.
SECONDS = 15.0
EXIT_CODE = 2


@contextmanager
def watchdog(is_handled: Callable[[], bool], message: str, *, seconds: float = SECONDS) -> Iterator[None]:
    """End the process with a message if Python cannot handle a SIGTERM in time.

    A collective on a GPU never returns when one of its processes has died, and Python runs no signal handler
    before it returns. The operating system still writes the signal's number to a wakeup file descriptor,
    which a thread reads here.

    Args:
        is_handled: whether the signal's own handler has run.
        message: line for stderr.
        seconds: longest time that a single call into torch may take after the signal.

    Raises:
        ValueError: outside of the main thread, where Python receives no signals.
    """
    ours, signals = socket.socketpair()
    with ours, signals:
        signals.setblocking(False)
        before = signal.set_wakeup_fd(signals.fileno(), warn_on_full_buffer=False)
        is_over = False

        def detach_child() -> None:
            # A forked DataLoader worker inherits the descriptor, and would report its own signals to us.
            if not is_over:
                signal.set_wakeup_fd(before)

        os.register_at_fork(after_in_child=detach_child)
        thread = threading.Thread(target=_watch, args=(ours, is_handled, message, seconds), daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over = True
            signal.set_wakeup_fd(before)
            signals.close()
            thread.join()


def _watch(signals: socket.socket, is_handled: Callable[[], bool], message: str, seconds: float) -> None:
    for number in iter(lambda: signals.recv(1), b""):
        if number[0] != signal.SIGTERM:
            continue
        end = time.monotonic() + seconds
        while not is_handled():
            if time.monotonic() > end:
                sys.stderr.write(f"{message}\n")
                sys.stderr.flush()
                os._exit(EXIT_CODE)
            time.sleep(0.1)
