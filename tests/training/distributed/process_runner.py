"""Processes that run a script together: each started with what torchrun would tell it, or by torchrun.

Those that are started one by one are forked from a server that has imported the training already, which
takes several seconds of a processor's time.
"""

import multiprocessing
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

LIMIT = 150.0
FAULT_LIMIT = 60.0  # for runs that end badly
PLACES = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(["tammes.training", "tammes.cli.failures"])


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code, and what it printed."""

    code: int
    output: str


@dataclass(frozen=True)
class Started:
    """A process at work. It prints to a file: the end of a pipe comes only when its last descendant ends."""

    process: "subprocess.Popen[bytes] | Forked"
    output: IO[str]

    def printed(self) -> str:
        with self.output:
            self.output.seek(0)
            return self.output.read()


def environment(**more: str) -> dict[str, str]:
    paths = os.pathsep.join([*PLACES, os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths, "COLUMNS": "200", **more}


def start(words: list[str], **more: str) -> Started:
    output = tempfile.TemporaryFile("w+")  # noqa: SIM115, `printed` closes it
    process = subprocess.Popen(
        [sys.executable, *words],
        env=environment(**more),
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    return Started(process, output)


class Forked:
    """A script in a process forked from the server, with the interface of a `Popen`."""

    def __init__(self, words: list[str], variables: dict[str, str], output: str) -> None:
        self._process = FORKED.Process(target=_run, args=(words, variables, output))
        self._process.start()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> None:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("a forked process", timeout or 0.0)

    def send_signal(self, number: int) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        self._process.kill()


def _run(words: list[str], variables: dict[str, str], output: str) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(variables)
    descriptor = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(descriptor, sys.stdout.fileno())
    os.dup2(descriptor, sys.stderr.fileno())
    sys.argv, sys.path[:0] = words, PLACES
    runpy.run_path(words[0], run_name="__main__")


def fork(words: list[str], **more: str) -> Started:
    output = tempfile.NamedTemporaryFile("w+")  # noqa: SIM115, `printed` closes it
    return Started(Forked(words, environment(**more), output.name), output)  # type: ignore[arg-type]


def ended(started: list[Started], limit: float = LIMIT) -> list[Ended]:
    """What became of them; those that are not done in time are killed, and an assertion fails."""
    end = time.monotonic() + limit
    late = False
    for each in started:
        try:
            each.process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            late = True
            each.process.send_signal(signal.SIGTERM)  # a launcher ends those it has started, in 30 seconds
            with suppress(subprocess.TimeoutExpired):
                each.process.wait(timeout=40)
            each.process.kill()
            each.process.wait()
    outputs = [each.printed() for each in started]
    assert not late, "\n".join(outputs)
    return [Ended(each.process.returncode, output) for each, output in zip(started, outputs, strict=True)]


def run_together(count: int, words: list[str], limit: float = LIMIT) -> list[Ended]:
    """Start the processes one by one, with nobody to look after them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {"WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    processes = [
        fork(
            words,
            **{name: str(value) for name, value in {**common, "RANK": rank, "LOCAL_RANK": rank}.items()},
        )
        for rank in range(count)
    ]
    return ended(processes, limit)


def start_by_torchrun(count: int, words: list[str]) -> Started:
    """Start torchrun, which starts the processes."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)]
    return start([*launcher, *words])
