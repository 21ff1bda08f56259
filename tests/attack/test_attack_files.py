"""Damaged files of every kind that Tammes reads: each gives a value, or an error in words, and soon.

TAMMES_ATTACK_FILES is the number of damaged files in all, TAMMES_ATTACK_SEED the seed of the damage, which a
long run draws itself.
"""

from __future__ import annotations

import io
import os
import pickle
import random
import resource
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from damage import damaged, unzipped, zipped
from effort import effort, record, seed_of
from file_kinds import CASES, Case

from tammes.cli.failures import _is_ours

DAMAGED = -(-effort("files", 300) // len(CASES))
SEED = seed_of("files")
SECONDS, MEMORY = 10, 2 * 2**30


class TooLong(BaseException):
    """A reader took more than `SECONDS`; no reader catches this."""


@contextmanager
def bounded() -> Iterator[None]:
    """Bound the time, and the memory beyond what the process has by now."""

    def stop(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, limits[1]))
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, limits)


def is_refused(case: Case, root: Path) -> bool:
    """Return whether the reader refuses the file in words; any other error is raised."""
    try:
        with bounded(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case.read(root)
    except OSError:
        return True
    except ValueError as error:
        if not _is_ours(error.__traceback__):
            raise
        return True
    return False


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], Path]:
    """Write the folder of a case; cases with one function share it, and put their file back."""
    made: dict[Callable[[Path], object], Path] = {}

    def made_once(case: Case) -> Path:
        if case.make not in made:
            made[case.make] = tmp_path_factory.mktemp("whole")
            case.make(made[case.make])
        return made[case.make]

    return made_once


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest, make: Callable[[Case], Path]) -> Iterator[tuple[Case, Path, bytes]]:
    """A case, the folder in which its file is whole, and the file's content."""
    case: Case = request.param
    root = make(case)
    whole = (root / case.file).read_bytes()
    yield case, root, whole
    (root / case.file).unlink(missing_ok=True)
    (root / case.file).write_bytes(whole)


def test_a_whole_file_is_read(case: tuple[Case, Path, bytes]) -> None:
    kind, root, _ = case
    assert not is_refused(kind, root)


def test_a_damaged_file_is_read_or_refused_in_words(case: tuple[Case, Path, bytes]) -> None:
    kind, root, whole = case
    tried = refused = 0
    failed = 1
    try:
        for number in range(DAMAGED):
            content = damaged(random.Random(f"{SEED} {kind.name} {number}"), whole)
            (root / kind.file).write_bytes(content)
            try:
                refused += is_refused(kind, root)
            except BaseException as error:
                error.add_note(f"{kind.name}, seed {SEED}, damage {number}: {content[:300]!r}")
                raise
            tried += 1
        failed = 0
    finally:
        record(f"files ({kind.name})", tried=tried, refused=refused, failed=failed, seed=SEED)


class Bomb:
    """Object whose unpickling writes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, (str(self.mark), "w")


def test_no_pickle_is_executed(case: tuple[Case, Path, bytes], tmp_path: Path) -> None:
    kind, root, whole = case
    mark = tmp_path / "executed"
    bomb = pickle.dumps(Bomb(mark), protocol=2)
    stream = io.BytesIO()
    np.save(stream, np.array([Bomb(mark)], dtype=object), allow_pickle=True)
    contents = [bomb, stream.getvalue()]
    if whole.startswith(b"PK"):
        members = unzipped(whole)
        contents += [
            zipped({**members, name: each}) for name in members for each in (bomb, stream.getvalue())
        ]
    for content in contents:
        (root / kind.file).write_bytes(content)
        is_refused(kind, root)
        assert not mark.exists()


def test_a_named_pipe_is_not_waited_for(case: tuple[Case, Path, bytes]) -> None:
    kind, root, _ = case
    (root / kind.file).unlink()
    os.mkfifo(root / kind.file)
    assert is_refused(kind, root)
