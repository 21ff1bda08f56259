"""Seconds of the parts of a step, one after the other."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Mapping

Clock = Callable[[], float]


def clock_of(threads: int) -> Clock:
    """Return the processor's clock for one thread, which other work changes less; else that of the wall."""
    return time.process_time if threads == 1 else time.perf_counter


class Stopwatch:
    """Clock that adds the time since it was last read to a part of the step.

    Args:
        clock: function that returns seconds.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.seconds = 0.0
        self._parts: dict[str, list[float]] = defaultdict(list)
        self._started = self._last = 0.0

    def start(self) -> None:
        """Begin an epoch."""
        self._started = self._last = self.clock()

    def stop(self) -> None:
        """End an epoch."""
        self.seconds += self.clock() - self._started

    def lap(self, part: str, *, without: float = 0.0) -> None:
        """Add the seconds since the last lap to a part, but for some that belong to another."""
        now = self.clock()
        self.add(part, now - self._last - without)
        self._last = now

    def add(self, part: str, seconds: float) -> None:
        """Add the seconds of one step to a part."""
        self._parts[part].append(seconds)

    @property
    def medians(self) -> Mapping[str, float]:
        """Median over the steps, of each part."""
        return {part: statistics.median(each) for part, each in self._parts.items()}
