"""Runs that are killed at random and resumed until they finish have the files of a run left in peace.

`tammes train` on the digits, a small encoder, six steps, a checkpoint after each. A kill is drawn each time:

- of a process forked from a server that has imported torch, lightning and the command, but has started no
  thread (most kills: they cost a second or two instead of six, and train exactly as a fresh process does):
  SIGKILL, SIGTERM or SIGINT after a random time, from the first moment to the last;
- of such a process by itself, by SIGKILL just before a random change of the run's folder: before a file is
  opened to be written, renamed or removed, or a folder made. Random times seldom meet these moments;
- of a fresh `python -m tammes` (one in ten, and the first), imports included, after a random time.

TAMMES_ATTACK_KILLS is the number of kills, TAMMES_ATTACK_SEED the seed of their times, which a long run draws
itself and prints.
"""

from __future__ import annotations

import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from effort import effort, record, seed_of
from killed_runs import RESULTS, Death, Ended, Started, run

KILLS = effort("kills", 3)
MOST_OF_A_RUN = 12
"""Number of kills after which a run may finish."""
CHANGES_OF_A_RUN = 16
"""About half of the changes that an uninterrupted run makes: a resumed run makes fewer."""
STOPPED = {
    signal.SIGKILL: {-signal.SIGKILL},
    # After a checkpoint and in words; or at once, before training has begun or after it has ended.
    signal.SIGTERM: {143, -signal.SIGTERM},
    signal.SIGINT: {130},
}
LAST_WORDS = "report.html"
"""A run has printed this when its work is done. Python then takes its modules apart, for which it gives the
signals back to the system, whose SIGINT has no words either."""

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix"),
    pytest.mark.timeout(6 * 3600),
]


@pytest.fixture(scope="module")
def in_peace(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """An uninterrupted run by a warm process, and the seconds of a second one, which has the same bits."""
    folder, again = (tmp_path_factory.mktemp("in_peace") / name for name in ("run", "again"))
    for each in (folder, again):
        ended = run(each)
        assert ended.code == 0, ended.output
    assert_same_results(again, folder)
    return folder, ended.seconds


def test_a_run_killed_at_random_ends_with_the_same_bits(tmp_path: Path, in_peace: tuple[Path, float]) -> None:
    folder, seconds = in_peace
    seed, begin = seed_of("kills"), time.monotonic()
    print(f"{KILLS} kills from TAMMES_ATTACK_SEED={seed}")
    random_numbers = random.Random(seed)
    kills = runs = 0
    failed = 1
    try:
        while kills < KILLS:
            killed = tmp_path / f"run {runs}"
            kills += kill_until_finished(
                killed, seconds, random_numbers, at_most=KILLS - kills, first=runs == 0
            )
            assert_same_results(killed, folder)
            runs += 1
        failed = 0
    finally:
        record(
            "kills", tried=kills, runs=runs, failed=failed, seed=seed, seconds=round(time.monotonic() - begin)
        )


def kill_until_finished(
    folder: Path, seconds: float, random_numbers: random.Random, *, at_most: int, first: bool
) -> int:
    """Start, kill and resume the run of a folder; return the number of kills that met a living process."""
    kills = 0
    for number in range(min(at_most, MOST_OF_A_RUN)):
        fresh = (first and number == 0) or random_numbers.random() < 0.1
        death = drawn_death(random_numbers, seconds, fresh=fresh)
        ended = run(folder, death, fresh=fresh)
        if ended.code == 0:
            return kills
        assert_stopped(ended, death)
        kills += 1
    ended = run(folder)
    assert ended.code == 0, ended.output
    return kills


def drawn_death(random_numbers: random.Random, seconds: float, *, fresh: bool) -> Death:
    if not fresh and random_numbers.random() < 0.5:
        return Death(at_change=random_numbers.randint(1, CHANGES_OF_A_RUN))
    numbers = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
    # A fresh process imports for as long as the rest takes.
    after = random_numbers.uniform(0, 0.7 * seconds * (2 if fresh else 1))
    return Death(number=random_numbers.choice(numbers), after=after)


def assert_stopped(ended: Ended, death: Death) -> None:
    codes = STOPPED[death.number]
    if "".join(ended.output.split()).endswith(LAST_WORDS):
        codes = codes | {-death.number}
    assert ended.code in codes, f"{death} ended with {ended.code}:\n{ended.output}"
    assert "Traceback" not in ended.output, f"{death}:\n{ended.output}"


def assert_same_results(found: Path, expected: Path) -> None:
    for name in RESULTS:
        assert (found / name).read_bytes() == (expected / name).read_bytes(), name


@pytest.fixture
def started() -> Iterator[list[Started]]:
    """Processes to end when the test does."""
    processes: list[Started] = []
    yield processes
    for each in processes:
        each.send(signal.SIGKILL)


def test_a_second_process_is_refused_the_folder(
    tmp_path: Path, in_peace: tuple[Path, float], started: list[Started]
) -> None:
    """Whenever it comes, while the first is at work; and the first ends as if nothing had been."""
    folder, seconds = in_peace
    seed = seed_of("kills")
    random_numbers, tried = random.Random(seed), max(1, KILLS // 20)
    for number in range(tried):
        shared = tmp_path / f"run {number}"
        first = Started(shared, fresh=False)
        started.append(first)
        while not (shared / "checkpoints").exists():
            assert not first.wait(0.01)
        first.wait(random_numbers.uniform(0, seconds / 4))
        second = run(shared)
        if first.code is None:  # else the folder was free in the end
            assert second.code == 2, second.output
            assert "Traceback" not in second.output
        assert first.ended().code == 0
        assert_same_results(shared, folder)
    record("second processes", tried=tried, failed=0, seed=seed)
