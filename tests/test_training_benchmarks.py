"""The benchmarks of training steps run through; a smoke test measures nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"


def run(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(FOLDER / script), *words],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("script", "row"),
    [
        ("attention.py", "| 2 x 2 x 4 x 8 |"),
        ("comparisons.py --only glyphs", "| hcl above simclr |"),
        ("encoders.py", "| ResNet9, width 16 |"),
        ("equivariance.py", "| CARE, 4 groups |"),
        ("features.py", "| IFM-SimCLR |"),
        ("gpu_training.py", "| MAE, ViT "),
        ("heads.py", "| batch normalization | 1 |"),
        ("images.py", "| colors by kornia |"),
        ("masked.py", "| CAN, half hidden |"),
        ("masked.py --bfloat16", "| CAN, half hidden, torch's attention |"),
        ("shared_machine.py", "| one thread |"),
        ("training.py --alone", "| 1 | bf16-mixed | tammes |"),
    ],
)
def test_it_runs_through(script: str, row: str) -> None:
    done = run(*script.split(), "--smoke")
    assert done.returncode == 0, done.stderr
    assert row in done.stdout
    assert "allowed" not in done.stdout


def test_the_demo_has_the_recorded_comparisons_with_less_training() -> None:
    script = "from comparisons import DIGITS, GLYPHS; print(DIGITS); print(GLYPHS)"
    said = subprocess.run(
        [sys.executable, "-c", script], cwd=FOLDER, capture_output=True, text=True, check=True
    ).stdout
    made = (FOLDER.parent / "Makefile").read_text().replace("\\\n\t\t", "")
    compares = [line for line in made.splitlines() if "tammes compare" in line]
    demo = [re.sub(r" --(report|jobs) \S+", "", line) for line in compares]
    digits, glyphs = said.splitlines()
    shorter = [
        f"{digits.replace('--epochs 30', '--epochs 20')} encoder:convnet --encoder.width 16",
        glyphs.replace("--seeds 5", "--seeds 3"),
    ]
    assert demo == [f"\t$(BIN)/tammes compare {words}" for words in shorter]


@pytest.mark.skipif(find_spec("lightly") is not None, reason="lightly is installed")
def test_training_without_lightly_says_how_to_install_it() -> None:
    done = run("training.py", "--smoke")
    assert done.returncode == 2
    assert "lightly is not installed in this environment" in done.stderr
    assert "`make test-hosts` makes .venv-hosts" in done.stderr


def test_training_refuses_a_folder_without_images(tmp_path: Path) -> None:
    done = run("training.py", "--alone", "--data", str(tmp_path))
    assert done.returncode == 2
    assert "expected --data with a published set of images, or --smoke" in done.stderr


def test_a_time_lies_between_two_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    from training import seconds_to

    curve = [0.1, 0.2, 0.15, 0.4]
    assert seconds_to(0.05, curve, 30) == 0
    assert seconds_to(0.15, curve, 30) == pytest.approx(5)
    assert seconds_to(0.3, curve, 30) == pytest.approx(26)
    assert seconds_to(0.5, curve, 30) is None


def test_a_lap_ends_where_the_next_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    from stopwatch import Stopwatch

    watch = Stopwatch(iter([0.0, 3.0, 5.0, 9.0, 11.0, 12.0]).__next__)
    watch.start()
    for _ in range(2):
        watch.lap("data", without=1.0)
        watch.add("views", 1.0)
        watch.lap("forward")
    watch.stop()
    assert watch.seconds == 12
    assert watch.medians == {"data": 2.5, "views": 1.0, "forward": 2.0}
