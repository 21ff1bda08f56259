"""Last words of a process that waits on a GPU for another that has died."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# A launcher sends SIGTERM to the processes that are left, and SIGKILL half a minute later.
SECONDS = 15.0
LOST = 2


@contextmanager
def leaving_if_stuck(heeded: Callable[[], bool], words: str, *, seconds: float = SECONDS) -> Iterator[None]:
    """While entered, end the process with these words where SIGTERM comes and Python cannot heed it.

    A collective on a GPU never returns when a process of it has died, and Python runs no signal handler
    before it returns. The system tells this thread's pipe of the signal all the same.

    Args:
        heeded: whether the signal's own handler has run.
        words: for stderr.
        seconds: how long a single call into torch may take after the signal.

    Raises:
        ValueError: outside of the main thread, where Python hears no signals.
    """
    ours, signals = socket.socketpair()
    with ours, signals:
        signals.setblocking(False)
        before = signal.set_wakeup_fd(signals.fileno(), warn_on_full_buffer=False)
        forked = _Forked(before)
        thread = threading.Thread(target=_watch, args=(ours, heeded, words, seconds), daemon=True)
        thread.start()
        try:
            yield
        finally:
            forked.over = True
            signal.set_wakeup_fd(before)
            signals.close()
            thread.join()


class _Forked:
    """Keeps the processes that decode images from reporting their own signals to this one."""

    def __init__(self, before: int) -> None:
        self.before = before
        self.over = False
        os.register_at_fork(after_in_child=self)

    def __call__(self) -> None:
        if not self.over:
            signal.set_wakeup_fd(self.before)


def _watch(signals: socket.socket, heeded: Callable[[], bool], words: str, seconds: float) -> None:
    for number in iter(lambda: signals.recv(1), b""):
        if number[0] != signal.SIGTERM:
            continue
        end = time.monotonic() + seconds
        while not heeded():
            if time.monotonic() > end:
                sys.stderr.write(f"{words}\n")
                sys.stderr.flush()
                os._exit(LOST)
            time.sleep(0.1)
