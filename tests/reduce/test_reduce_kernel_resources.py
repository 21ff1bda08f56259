"""What the kernels compile to on compute capability 9.0: recorded resources, one kernel for all batches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

triton = pytest.importorskip("triton", reason="triton exists for Linux only")

HERE = Path(__file__).parent
RECORDED: dict[str, Any] = json.loads((HERE / "kernel_resources.json").read_text())
TOOLS = Path(triton.__file__).parent / "backends/nvidia/bin"
pytestmark = [
    pytest.mark.skipif(
        not all((TOOLS / name).exists() for name in ("ptxas", "cuobjdump")),
        reason="this Triton brings no ptxas or no cuobjdump",
    ),
    pytest.mark.timeout(600),
]


OF_A_SOFTMAX_LOSS = {
    "triangle_sums", "softmax_rows", "shared_gradient", "strip_of_slopes", "row_gradients",
}  # fmt: skip
"""The kernels of most steps. Those of other losses have recorded values alone."""


@cache
def compiled(folder: Path) -> dict[str, Any]:
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    environment |= {"TRITON_CACHE_DIR": str(folder), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / "kernel_resources.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return compiled(tmp_path_factory.getbasetemp() / "kernels")


def test_one_kernel_serves_all_sizes_of_a_batch(found: dict[str, Any]) -> None:
    assert found["compilations"] == {
        "triangle_sums": 1, "softmax_rows": 1, "shared_gradient": 1, "row_gradients": 1,
    }  # fmt: skip


def test_little_spills(found: dict[str, Any]) -> None:
    """A few numbers of a thread, where a shape is the quickest in spite of them (benchmarks/gpu.py)."""
    if found["triton"] != RECORDED["triton"]:
        pytest.skip(f"of Triton {RECORDED['triton']}, this is {found['triton']}")
    stacks = {name: each["stack"] for name, each in found["kernels"].items()}
    assert max(stack for name, stack in stacks.items() if name.split(",")[0] in OF_A_SOFTMAX_LOSS) < 96


def test_padded_features_are_loaded_as_others_are(found: dict[str, Any]) -> None:
    """100 features are padded to 112: the kernels keep their copies and their tensor cores."""
    for kernel in ("triangle_sums", "shared_gradient"):
        padded, whole = (found["kernels"][f"{kernel}, BFLOAT16, {d}"] for d in (100, 128))
        assert padded["tensor-core instructions"] == whole["tensor-core instructions"] > 0
        assert padded["asynchronous copies"] == whole["asynchronous copies"] > 0


def test_every_kernel_that_computes_s_has_recorded_values(found: dict[str, Any]) -> None:
    names = {name.split(",")[0] for name in found["kernels"]}
    assert names - OF_A_SOFTMAX_LOSS == {
        "row_log_sums", "log_sum_gradient", "strip_of_log_sum_slopes",
        "row_means", "mean_gradient", "strip_of_mean_slopes",
    }  # fmt: skip


def test_resources_are_those_recorded(found: dict[str, Any]) -> None:
    if found["triton"] != RECORDED["triton"]:
        pytest.skip(f"recorded with Triton {RECORDED['triton']}, this is {found['triton']}")
    assert found["kernels"] == RECORDED["kernels"], "record them anew, if they are better: see the script"
