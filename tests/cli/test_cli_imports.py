"""Which packages a command imports: help, lists and refusals need none of the heavy ones.

Times would depend on the machine; what is imported decides them.
"""

import os
import shlex
import subprocess
import sys

import pytest

HEAVY = (
    "datasets",
    "kornia",
    "lightning",
    "matplotlib",
    "pandas",
    "scipy",
    "sklearn",
    "torch",
    "torchmetrics",
    "transformers",
)
SCRIPT = """
import contextlib, io, sys
from tammes.cli.main import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    code = main(sys.argv[2:])
print(code, *sorted(set(sys.argv[1].split()) & set(sys.modules)))
"""


def ending(words: str) -> tuple[str, list[str]]:
    """The exit code of a command, and the heavy packages that it has imported."""
    command = [sys.executable, "-c", SCRIPT, " ".join(HEAVY), *shlex.split(words)]
    code, *imported = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return code, imported


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--help", "0"),
        ("--version", "0"),
        ("", "0"),
        ("trian --help", "2"),
        ("embed --help", "0"),
        ("embed run --data digits --out table.txt", "2"),
        ("embed run --help-all", "0"),
        ("diagnose --help", "0"),
        ("diagnose file.npy --neighbors 0", "2"),
        ("evaluate --help", "0"),
        ("evaluate run --data digits --held-out 2", "2"),
        ("evaluate --tasks --help", "0"),
        ("export --help", "0"),
        ("search --help", "0"),
        ("search run --data book.txt --query ''", "2"),
        ("export run", "2"),
        ("report --help", "0"),
        ("report", "2"),
        ("reproduce --list", "0"),
        ("reproduce --help", "0"),
        ("reproduce nonsense", "2"),
        ("reproduce negatives-text", "2"),
        ("solve --help", "0"),
        ("solve max-clique", "2"),
        ("theory --help", "0"),
        ("theory packing --help", "0"),
        ("theory negatives --help", "0"),
        ("theory negatives --classes 1000 --batch 512", "0"),
        ("theory negatives --classes 1", "2"),
    ],
)
def test_nothing_heavy_is_imported(words: str, code: str) -> None:
    assert ending(words) == (code, [])


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("train --help", "0"),
        ("train simclr --help-all", "0"),
        ("train simclr --data digits", "2"),
        ("train simclr --temperature 0.2 --data digits --epochs 0", "2"),
        ("compare --help", "0"),
    ],
)
def test_options_of_a_training_need_torch_alone(words: str, code: str) -> None:
    """They are read off the recipes and parts of the library, whose modules import it."""
    assert ending(words) == (code, ["torch"])


def test_the_library_imports_lightning_with_the_loop() -> None:
    script = (
        "import sys, tammes.training as training; "
        "assert 'lightning' not in sys.modules; "
        "assert training.train.__name__ == 'train' and 'lightning' in sys.modules; "
        "from tammes.training import RunFolder; training.nothing"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (
        ended.stderr.splitlines()[-1] == "AttributeError: module 'tammes.training' has no attribute 'nothing'"
    )


@pytest.mark.parametrize(
    ("given", "spins"),
    [({}, "4000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "passive"}, "None")],
)
def test_threads_of_openmp_sleep_soon_unless_the_environment_says_how_they_wait(
    given: dict[str, str], spins: str
) -> None:
    inherited = {name: value for name, value in os.environ.items() if "OMP_" not in name}
    script = f"{SCRIPT}\nimport os\nprint(os.environ.get('GOMP_SPINCOUNT'))"
    done = subprocess.run(
        [sys.executable, "-c", script, "torch", "--version"],
        check=True,
        capture_output=True,
        text=True,
        env={**inherited, **given},
    )
    assert done.stdout.split() == ["0", spins], "the variable is there before torch is"
