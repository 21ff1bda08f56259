"""Ctrl-C and a polite kill: finish the step, save, then stop."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from tammes.training.peers import Peers


class Stopped(KeyboardInterrupt):
    """Training was asked to stop, and did after a step, with a checkpoint where there is a run folder.

    Args:
        message: where it stopped and how to go on.
        signal_number: SIGINT for Ctrl-C, SIGTERM for a polite kill.
    """

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number


class StopRequest(Callback):
    """While entered, the first SIGINT or SIGTERM is noted instead of raised; a second one acts at once.

    A step is never cut in half: half an optimizer step would be neither the old weights nor the new ones.
    Outside of the main thread, where Python sets no handlers, it does nothing.

    Args:
        peers: the processes that stop after the same step, whichever of them was asked.

    Example:
        >>> with StopRequest() as request:
        ...     request.signal_number is None
        True
    """

    def __init__(self, peers: Peers | None = None) -> None:
        self.peers = peers or Peers()
        self.signal_number: int | None = None
        self.before: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                # What is ignored from the start (a job in the background) stays ignored.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self.before[number] = signal.signal(number, self._note)
        return self

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Take the signals back from lightning, whose handler talks to the other processes at once."""
        if self.signal_number is None:
            for number in self.before:
                signal.signal(number, self._note)

    @property
    def listens(self) -> bool:
        """Whether it has taken any signal: it is entered, in the main thread."""
        return bool(self.before)

    def is_noted(self) -> bool:
        """Whether a stop has been asked for here."""
        return self.signal_number is not None

    def heard(self) -> bool:
        """Whether a stop is asked for, here or on another process; all must ask at the same time."""
        self.signal_number = self.peers.largest(self.signal_number or 0) or None
        return self.is_noted()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signal_number = number
        self._restore()

    def _restore(self) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
