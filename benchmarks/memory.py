"""Peak memory of one unit of work, in a separate process."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from method import Method, NotReachedError, Size, Work

_SMALL = 64
"""Pairs of the first, unmeasured call: what libraries allocate once is not the method's."""


def peak_of(task: str, method: str, size: Size, threads: int) -> float:
    """Return the peak memory beyond the inputs in a fresh process, in MB; NaN on systems but Linux."""
    script = Path(__file__).with_name("cpu.py")
    where = ["--pairs", str(size.pairs), "--dim", str(size.dim), "--threads", str(threads)]
    command = [sys.executable, str(script), "--measure", task, method, *where]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return float(done.stdout.split()[-1]) if done.returncode == 0 else float("nan")


def measure(method: Method, size: Size) -> float:
    """Return the rise of this process's resident memory at its peak in one unit of work, in MB."""
    with suppress(NotReachedError):
        method.prepare(Size(pairs=_SMALL, dim=size.dim))()
    return rise_of(method.prepare(size))


def rise_of(work: Work) -> float:
    """Return the rise of this process's resident memory at its peak in a given work, in MB."""
    ctypes.CDLL(None).malloc_trim(0)  # hand back what is free, or the work would find room in it
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak starts from here
    before = _status("VmRSS")
    work()
    return (_status("VmHWM") - before) / 1024


def whole_peak() -> float:
    """Return the peak memory of this process since the last `rise_of` in MB, with libraries and inputs."""
    return _status("VmHWM") / 1024


def _status(field: str) -> int:
    """Return a field of this process's memory, in KB."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field))
