"""The benchmark of the equivariance loss runs through; a smoke test measures nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "equivariance.py"


def test_it_runs_through() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--smoke"],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "| CARE, 4 groups |" in done.stdout
    assert "allowed" not in done.stdout
