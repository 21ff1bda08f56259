"""Times that can be compared: methods take turns, short ones run in loops, and medians are taken."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from method import Work

Clock = Callable[[], float]

_SHORTEST = 0.02
"""Seconds that one measurement lasts at least, so that the clock and a stray interrupt do not matter."""
_LONG = 5.0
"""Seconds from which on a first call is warm-up enough."""


@dataclass(frozen=True, kw_only=True)
class Times:
    """Seconds of one unit of work in each round; round r of two methods was measured side by side."""

    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median over the rounds."""
        return statistics.median(self.rounds)

    def over(self, other: Times) -> float:
        """Return how many times as long this takes as the other, the median of the rounds' ratios."""
        return statistics.median(
            mine / theirs for mine, theirs in zip(self.rounds, other.rounds, strict=True)
        )


def side_by_side(
    works: Mapping[str, Work], budget: float, clock: Clock = time.perf_counter
) -> dict[str, Times]:
    """Return the times of several works that take turns, so that a slower machine slows all of them.

    Every second round runs them backwards, so that no work always follows the same one and its caches.

    Args:
        works: functions to time, by name.
        budget: approximate number of seconds for all works. There are at most 41 rounds, and at least three
            unless these take three times as long.
        clock: clock to read; `time.process_time` on a machine that others use, too.
    """
    calls = {name: _calls(work, clock) for name, work in works.items()}
    seconds: dict[str, list[float]] = {name: [] for name in works}
    names, started = list(works), time.perf_counter()
    gc.collect()
    gc.disable()
    try:
        while len(seconds[names[0]]) < 41:
            for name in names:
                seconds[name].append(_seconds(works[name], calls[name], clock))
            names.reverse()
            done, elapsed = len(seconds[names[0]]), time.perf_counter() - started
            if (done >= 3 and elapsed > budget) or elapsed > 3 * budget:
                break
    finally:
        gc.enable()
    return {name: Times(rounds=tuple(each)) for name, each in seconds.items()}


def _calls(work: Work, clock: Clock) -> int:
    """Return the number of calls in one measurement; the calls made to find it are the warm-up."""
    calls = 1
    if _seconds(work, 1, clock) > _LONG:
        return 1
    while (elapsed := _seconds(work, calls, clock) * calls) < _SHORTEST:
        calls = max(2 * calls, int(calls * _SHORTEST / max(elapsed, 1e-9)))
    return calls


def _seconds(work: Work, calls: int, clock: Clock) -> float:
    start = clock()
    for _ in range(calls):
        work()
    return (clock() - start) / calls
