"""Runs of `tammes train` that a test kills: forked from a server with warm imports, or fresh processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OBJECTIVE = "hcl --temperature 0.5 --beta 1 selection:subset --selection.k 32"
SETTINGS = "--data digits --held-out 0.05 --epochs 2 --batch-size 500 --checkpoint-every 1 --accelerator cpu"
ENCODER = "encoder:convnet --encoder.width 8"
RESULTS = ("model.safetensors", "metrics.csv", "config.yaml")
LIMIT = 300.0
CHANGES = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir")

WARM = multiprocessing.get_context("forkserver")
WARM.set_forkserver_preload(["tammes.cli.train", "tammes.cli.failures", "sklearn.datasets"])


@dataclass(frozen=True, kw_only=True)
class Death:
    """How a process is to end.

    Args:
        number: the signal.
        after: seconds until it comes, for a signal from outside.
        at_change: number of the change to the run's folder before which the process sends it to itself.
    """

    number: signal.Signals = signal.SIGKILL
    after: float | None = None
    at_change: int | None = None


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a process ended: its exit code (minus the signal that killed it), output, and seconds."""

    code: int
    output: str
    seconds: float


def words_for(folder: Path) -> list[str]:
    """The command that goes on with the run of a folder, or starts one."""
    resume = ["--resume"] if (folder / "config.yaml").exists() else []
    settings = [*SETTINGS.split(), "--out", str(folder), *resume]
    return ["train", *settings, *f"{OBJECTIVE} {ENCODER}".split()]


class Started:
    """A process at work; its output goes to a file, which a kill leaves readable."""

    def __init__(self, folder: Path, *, fresh: bool, at_change: int | None = None) -> None:
        self._output = tempfile.NamedTemporaryFile("w+")  # noqa: SIM115, closed in `ended`
        self._begin = time.monotonic()
        self._process: Any
        words = words_for(folder)
        if fresh:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tammes", *words],
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                stdout=self._output,
                stderr=subprocess.STDOUT,
            )
        else:
            begun = WARM.Event()
            given = (words, str(folder), self._output.name, at_change, begun)
            self._process = WARM.Process(target=_train, args=given)
            self._process.start()
            begun.wait(LIMIT)  # a signal to a process that is still being forked says nothing of the command

    @property
    def code(self) -> int | None:
        if isinstance(self._process, subprocess.Popen):
            return self._process.poll()
        return self._process.exitcode

    def wait(self, seconds: float) -> bool:
        """Whether the process has ended within this time."""
        if isinstance(self._process, subprocess.Popen):
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
        else:
            self._process.join(seconds)
        return self.code is not None

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, number)

    def ended(self) -> Ended:
        """How it ended; one that does not end is killed, and an assertion fails."""
        late = not self.wait(LIMIT)
        if late:
            self.send(signal.SIGKILL)
            self.wait(LIMIT)
        seconds, code = time.monotonic() - self._begin, self.code
        with self._output:
            self._output.seek(0)
            output = self._output.read()
        assert not late, f"the process did not end:\n{output}"
        assert code is not None
        return Ended(code=code, output=output, seconds=seconds)


def run(folder: Path, death: Death | None = None, *, fresh: bool = False) -> Ended:
    """Train in a folder until the run is finished, or the process dies."""
    started = Started(folder, fresh=fresh, at_change=None if death is None else death.at_change)
    if death is not None and death.after is not None and not started.wait(death.after):
        started.send(death.number)
    return started.ended()


def _train(words: list[str], folder: str, output: str, at_change: int | None, begun: Any) -> None:
    import torch

    from tammes.cli.main import main

    descriptor = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    for number in (signal.SIGINT, signal.SIGTERM):  # until the command handles them
        signal.signal(number, lambda received, frame: os._exit(128 + received))
    torch.set_num_threads(1)
    if at_change is not None:
        sys.addaudithook(_death_before(at_change, folder))
    begun.set()
    os._exit(main(words))


def _death_before(change: int, folder: str) -> Any:
    """A hook that kills this process before a certain change of the run's folder."""
    left = change

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event not in CHANGES or not str(arguments[0]).startswith(folder):
            return
        if event == "open" and not (isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")):
            return
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return hook
