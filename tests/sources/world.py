"""Processes that run the same cases together over gloo, each started once; what each found is handed back."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

LIMIT = 150.0
"""Seconds after which all are killed."""

Found = dict[str, Any]


def run(script: Path, size: int, folder: Path) -> list[Found]:
    """What each of `size` processes that run `script` has found."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    started = [
        subprocess.Popen(
            [sys.executable, str(script), str(rank), str(size), str(folder)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(size)
    ]
    deadline, output = time.monotonic() + LIMIT, []
    try:
        output = [each.communicate(timeout=max(1.0, deadline - time.monotonic()))[0] for each in started]
    finally:
        for each in started:
            each.kill()
    assert all(each.returncode == 0 for each in started), "\n".join(output)
    return [torch.load(folder / f"{rank}.pt") for rank in range(size)]


def main(cases: dict[str, Callable[[int, int], Any]]) -> None:
    """Runs the cases as one of the processes: `script RANK SIZE FOLDER`."""
    rank, size, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=60),
    )
    torch.save({name: case(rank, size) for name, case in cases.items()}, folder / f"{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()
