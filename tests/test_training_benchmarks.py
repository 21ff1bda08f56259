"""The benchmarks of training steps run through; a smoke test measures nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"


@pytest.mark.parametrize(
    ("script", "row"),
    [
        ("encoders.py", "| ResNet9, width 16 |"),
        ("equivariance.py", "| CARE, 4 groups |"),
        ("images.py", "| colors by kornia |"),
        ("masked.py", "| CAN, half hidden |"),
    ],
)
def test_it_runs_through(script: str, row: str) -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), "--smoke"],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert row in done.stdout
    assert "allowed" not in done.stdout
