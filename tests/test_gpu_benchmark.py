"""The benchmark for GPUs runs through where there is none, without pretending to have measured."""

from __future__ import annotations

import json
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
        timeout=600,
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


@pytest.mark.skipif(find_spec("triton") is None, reason="triton exists for Linux only")
@pytest.mark.timeout(900)
def test_all_rows_are_written_as_they_come_and_not_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    arguments = ("--interpret", "--all", "--out", str(path))
    stopped = run(*arguments, "--minutes", "0.05")
    if "0-dimensional arrays" in stopped.stderr + stopped.stdout:
        pytest.skip("this Triton's interpreter does not work with this NumPy")
    assert stopped.returncode == 3, stopped.stderr
    first = path.read_text().splitlines()
    assert first, "no row was measured before the time was up"
    path.write_text("\n".join(first) + '\n{"row": "cut off')  # as by a kill
    done = run(*arguments, "--minutes", "30")
    assert done.returncode == 0, done.stderr
    assert not any(json.loads(line)["row"] + ":" in done.stdout for line in first)
    rows = [json.loads(line) for line in path.read_text().splitlines() if line != '{"row": "cut off']
    assert [row["row"] for row in rows[: len(first)]] == [json.loads(line)["row"] for line in first]
    assert len({row["row"] for row in rows}) == len(rows)
    assert list(dict.fromkeys(row["stage"] for row in rows)) == [
        "correctness", "rates", "SignNet", "small batches", "profiles", "table", "sweep",
    ]  # fmt: skip
    failed = {row["row"]: row["error"] for row in rows if "error" in row}
    assert not failed
    exact = next(row for row in rows if row["row"] == "values, NT-Xent, float32, d = 16")
    assert exact["of the gradient"] < 1e-5
    assert exact["same digits"]
