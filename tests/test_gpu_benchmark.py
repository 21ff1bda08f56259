"""The benchmark for GPUs runs through where there is none, without pretending to have measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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
        "correctness", "rates", "SignNet", "small batches", "profiles", "sweep", "table",
    ]  # fmt: skip
    failed = {row["row"]: row["error"] for row in rows if "error" in row}
    assert not failed
    exact = next(row for row in rows if row["row"] == "values, NT-Xent, float32, d = 16")
    assert exact["of the gradient"] < 1e-5
    assert exact["same digits"]
    assert next(row for row in rows if row["row"] == "rate, exponentials")["a second"] > 0


@pytest.fixture
def gpu_all(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return import_module("gpu_all")


def test_the_same_command_finds_the_rows_that_are_kept(gpu_all: Any) -> None:
    rows = import_module("gpu_rows")
    name = rows.file_name("NVIDIA H200", "2.11.0+cu130")
    assert name == "NVIDIA-H200-2.11.jsonl"
    assert len(rows.Record(SCRIPT.parent / "results" / name).rows) == 405
    page = SCRIPT.parent / "results" / "NVIDIA-H200-2.11.md"
    assert page.read_text() == gpu_all.page(rows.Record(page.with_suffix(".jsonl")).rows)


def test_shapes_to_try_are_shapes_of_launches(gpu_all: Any) -> None:
    for shapes in (gpu_all.FORWARD, gpu_all.BACKWARD):
        assert len(set(shapes)) == len(shapes)
        assert {(128, 128, 8, 2), (128, 128, 8, 3), (128, 64, 8, 3), (128, 64, 4, 2)} <= set(shapes)


@pytest.mark.parametrize(
    "row",
    [
        "rate, float32", "rate, exponentials", "SignNet, 8 molecules", "memory", "nccl, one process",
        "values, HCL, float32, d = 16", "small, HCL, tammes, 8 pairs", "profile, HCL, 8 pairs",
        "sweep, forward, d = 16, (128, 64, 4, 3)", "HCL, tammes, float32, d = 16, 8 pairs", "machine",
    ],
)  # fmt: skip
def test_a_failure_is_on_the_page(gpu_all: Any, row: str) -> None:
    text = gpu_all.page({row: {"row": row, "error": "RuntimeError: boom |\nand more"}})
    assert f"| {row} | RuntimeError: boom / and more |" in text


def test_what_was_measured_is_on_the_page(gpu_all: Any) -> None:
    copy = "void at::native::(anonymous namespace)::copy<std::array<char*, 2> >(int, unsigned int)"
    operations = {
        "triangle_sums": [2, 10.2, 0],
        copy: [1, 3.9, 0],
        "aten::add": [1, 5.0, 7.0],
        "cudaLaunchKernel": [3, 0, 9.0],
    }
    text = gpu_all.page(
        {
            "rate, exponentials": {"a second": 3.9e12},
            "nccl, one process": {"difference": 0.0},
            "profile, HCL, 1024 pairs": {"operations": operations},
            "HCL, dense, float32, d = 16, 8 pairs": {"error": "not tried: S takes 550 GB"},
        }
    )
    assert (
        "- exponentials: 3.90 trillion a second\n- a group of one process over nccl changes HCL by 0.0e+00"
        in text
    )
    assert "| HCL, 1024 pairs | 3 | 14 | triangle_sums 10, copy 4 |" in text
    assert "| HCL, dense | does not fit |" in text
    assert "failed" not in text, "what does not fit is no failure"


def test_failures_are_measured_again_if_asked(
    gpu_all: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, outcomes = tmp_path / "rows.jsonl", iter([RuntimeError("boom"), {"difference": 0.0}])

    def measure() -> dict[str, float]:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def stage(sizes: Any, device: torch.device) -> Iterator[Any]:
        yield import_module("gpu_rows").Row(name="nccl, one process", measure=measure)

    monkeypatch.setattr(gpu_all, "STAGES", {"correctness": stage})
    arguments = import_module("gpu_rows").TINY, torch.device("cpu"), path, 1.0
    for retry_errors, failed in ((False, True), (False, True), (True, False), (True, False)):
        assert gpu_all.measure_all(*arguments, retry_errors=retry_errors)
        assert ("RuntimeError: boom" in path.with_suffix(".md").read_text()) == failed
    assert len(path.read_text().splitlines()) == 2
