"""The benchmark for GPUs runs through where there is none, without pretending to have measured."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "gpu.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU to measure on")
def test_without_a_gpu_it_says_so() -> None:
    done = run()
    assert done.returncode == 2
    assert "no CUDA device" in done.stderr


@pytest.mark.skipif(find_spec("triton") is None, reason="triton exists for Linux only")
def test_it_runs_through_in_the_interpreter() -> None:
    results = sorted(SCRIPT.parent.glob("results/*"))
    done = run("--interpret", "--kinds", "float32")
    if "0-dimensional arrays" in done.stderr:
        pytest.skip("this Triton's interpreter does not work with this NumPy")
    assert done.returncode == 0, done.stderr
    assert "| float32 | 8 | HCL, tammes |" in done.stdout
    assert sorted(SCRIPT.parent.glob("results/*")) == results, "a smoke test is no result"
