import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tammes.training import lock
from tammes.training.lock import LOCK, locked

HOLD = """
import os, sys, time
from pathlib import Path
from tammes.training.lock import locked
with locked(Path(sys.argv[1])):
    if os.fork() == 0:
        time.sleep(60)  # a child that outlives its parent
    print(os.getpid(), flush=True)
    time.sleep(60)
"""


@contextmanager
def holding(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Yield a process that holds the lock."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == f"{process.pid}\n"
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_a_second_process_is_refused_until_the_first_has_died(tmp_path: Path) -> None:
    with holding(tmp_path / "run") as process:
        for _ in range(2):
            refusal = rf"run is in use by process {process.pid}: wait"
            with pytest.raises(ValueError, match=refusal), locked(tmp_path / "run"):
                pass
        process.kill()
        process.wait()
        with locked(tmp_path / "run"):
            assert (tmp_path / "run" / LOCK).read_text() == f"{os.getpid()}\n"


def test_a_process_locks_a_folder_twice_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with locked(folder):
        with locked(folder):
            assert [file.name for file in folder.iterdir()] == [LOCK]
        assert [file.name for file in folder.iterdir()] == [LOCK]
    assert not folder.exists()
    folder.mkdir()
    with locked(folder):
        pass
    assert list(folder.iterdir()) == []


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("mine")
    (tmp_path / LOCK).symlink_to(tmp_path / "note")
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path):
        pass
    assert (tmp_path / "note").read_text() == "mine"


def test_holders_may_end_in_any_order(tmp_path: Path) -> None:
    first, second = locked(tmp_path), locked(tmp_path)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert (tmp_path / LOCK).exists()
    second.__exit__(None, None, None)
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks_is_worked_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(number: int) -> None:
        def refuse(*_: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(lock.fcntl, "lockf", refuse)

    without(errno.ENOSYS)
    with locked(tmp_path):
        assert (tmp_path / LOCK).read_text() == f"{os.getpid()}\n"
    assert list(tmp_path.iterdir()) == []
    without(errno.EIO)
    with pytest.raises(OSError, match="Input/output"), locked(tmp_path):
        pass
