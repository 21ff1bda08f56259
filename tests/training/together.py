"""Processes that run a script together: each started with what torchrun would tell it, or by torchrun."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LIMIT = 120.0
PLACES = [str(Path(__file__).parent), str(Path(__file__).parents[1])]


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code, and what it printed."""

    code: int
    output: str


def environment(**more: str) -> dict[str, str]:
    paths = os.pathsep.join([*PLACES, os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths, "COLUMNS": "200", **more}


def start(words: list[str], **more: str) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    command = [sys.executable, *words]
    return subprocess.Popen(command, env=environment(**more), text=True, start_new_session=True, **pipes)


def ended(processes: list[subprocess.Popen[str]], limit: float = LIMIT) -> list[Ended]:
    """What became of them; those that are not done in time are killed, and an assertion fails."""
    end = time.monotonic() + limit
    outputs, late = [], False
    for process in processes:
        try:
            outputs.append(process.communicate(timeout=max(0.1, end - time.monotonic()))[0])
        except subprocess.TimeoutExpired:
            late = True
            process.send_signal(signal.SIGTERM)  # a launcher ends those it has started
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=2)
            process.kill()
            outputs.append(process.communicate()[0])
    assert not late, "\n".join(outputs)
    return [Ended(each.returncode, output) for each, output in zip(processes, outputs, strict=True)]


def run_together(count: int, words: list[str], limit: float = LIMIT) -> list[Ended]:
    """Start the processes one by one, with nobody to look after them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {"WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    processes = [
        start(
            words,
            **{name: str(value) for name, value in {**common, "RANK": rank, "LOCAL_RANK": rank}.items()},
        )
        for rank in range(count)
    ]
    return ended(processes, limit)


def start_by_torchrun(count: int, words: list[str]) -> subprocess.Popen[str]:
    """Start torchrun, which starts the processes."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)]
    return start([*launcher, *words])
