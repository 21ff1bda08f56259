"""The benchmark of objectives on a CPU: what its record keeps, and that its peers do the same work."""

from __future__ import annotations

import dataclasses
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def cpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("cpu")


def test_a_record_keeps_the_size_and_the_memory(
    cpu: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of methods that form no matrix; beside the page of the same day, not in its place."""
    task = dataclasses.replace(cpu.TASKS["hcl"], peers=(), agree=None)
    monkeypatch.setattr(cpu, "TASKS", {"hcl": task})
    monkeypatch.setattr(cpu, "RESULTS", tmp_path)
    monkeypatch.setattr(cpu, "peak_of", lambda task, method, size, threads: 116.4)
    monkeypatch.setattr(cpu, "matmul_rate", lambda dim: SimpleNamespace(tile=1e11, large=1e11, best=1e11))
    words = ["--only", "hcl", "--pairs", "16", "--dim", "8", "--threads", "1", "--seconds", "0.01"]
    for more in ([], ["--name", "cpu-large", "--memory"]):
        monkeypatch.setattr(sys, "argv", ["cpu.py", *words, *more, "--record"])
        cpu.main()
    large, plain = sorted(tmp_path.iterdir(), key=lambda path: "large" not in path.name)
    assert "-cpu-large-" in large.name
    assert "-cpu-" in plain.name
    (row,) = (line for line in large.read_text().splitlines() if line.startswith("| 16 | tammes, hcl |"))
    assert row.endswith("| 116 |")
    assert "--pairs 16" in large.read_text()


@pytest.mark.skipif(
    find_spec("jax") is None, reason="JAX is no dependency, and measured where it is installed"
)
@pytest.mark.parametrize("name", ["nt_xent", "one_way", "hcl"])
def test_checkpointed_blocks_give_the_same_loss_and_gradient(cpu: Any, name: str) -> None:
    """In 75 blocks of 16 rows, or of 8."""
    compilers, method = import_module("compilers"), import_module("method")
    formula = compilers.hcl_log_sum_exp if name == "hcl" else vars(compilers)[name]
    steps = {
        "PyTorch": method.by_autograd(formula),
        "whole": compilers.by_jax(vars(compilers)[f"jax_{name}"]),
        "in blocks": compilers.by_jax(vars(compilers)[f"jax_{name}_in_blocks"]),
    }
    method.assert_same_loss(steps, method.Size(pairs=600, dim=16))
