"""Ctrl-C and SIGTERM: finish the step, save, then stop."""

import signal
import threading
from types import FrameType
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from typing_extensions import override

from tammes.training.distributed.group import ProcessGroup


class Stopped(KeyboardInterrupt):
    """Training stopped after a step because of a signal, with a checkpoint in the run folder, if any.

    Args:
        message: step at which it stopped, and how to resume.
        signal_number: SIGINT or SIGTERM.
    """

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number


class StopRequest(Callback):
    """Context that records the first SIGINT or SIGTERM instead of raising; a second signal acts at once.

    So a step is never interrupted: half an optimizer step would be neither the old weights nor the new ones.
    Outside of the main thread, where Python sets no handlers, the context does nothing.

    Args:
        group: processes of the run, all of which stop after the same step when one receives a signal.

    Example:
        >>> with StopRequest() as request:
        ...     request.signal_number is None
        True
    """

    def __init__(self, group: ProcessGroup | None = None) -> None:
        self.group = group or ProcessGroup()
        self.signal_number: int | None = None
        self.before: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                # A background job ignores the signal from the start, and continues to.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self.before[number] = signal.signal(number, self._record)
        return self

    @override
    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        # Take the signals back from lightning, whose handler would contact the other processes at once.
        if self.signal_number is None:
            for number in self.before:
                signal.signal(number, self._record)

    @property
    def is_active(self) -> bool:
        """Whether signals are recorded: in the main thread, within the context."""
        return bool(self.before)

    def is_recorded(self) -> bool:
        """Return whether this process has recorded a signal."""
        return self.signal_number is not None

    def is_recorded_anywhere(self) -> bool:
        """Return whether any process has recorded a signal; all processes must call this at the same time."""
        self.signal_number = self.group.maximum(self.signal_number or 0) or None
        return self.is_recorded()

    def __exit__(self, *error: object) -> None:
        self._restore()

    def _record(self, number: int, frame: FrameType | None) -> None:
        self.signal_number = number
        self._restore()

    def _restore(self) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
