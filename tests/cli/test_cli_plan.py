"""`tammes plan`, as a user asks for it."""

import json

import pytest

from tammes.cli.main import main


def said(capsys: pytest.CaptureFixture[str], words: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(["plan", *words.split()]) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return " ".join((captured.out if code == 0 else captured.err).replace("│", " ").split())


def test_it_says_what_many_cards_take(capsys: pytest.CaptureFixture[str]) -> None:
    words = said(
        capsys,
        "--rows 100000000 --batch 4194304 --devices 8 --rate 426 --bandwidth 450 --precision bfloat16 "
        "--throughput 100000",
    )
    assert "loss 26.4 s a step, forward and backward, at 426 TFLOP/s as given" in words
    assert "exchanges 1.88 GB received and 3.76 GB sent by every device: 12.5 ms" in words
    assert "encoder 5.24 s a step" in words
    assert "1 epoch of 100,000,000 rows: 23 steps, 12.1 minutes" in words
    assert "without" not in words


def test_it_times_this_machine_and_says_what_is_not_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = said(capsys, "--rows 10000 --batch 64 --dim 8 --devices 2 --epochs 3 --accelerator cpu")
    assert "measured here, on a CPU with" in words
    assert "3 epochs of 10,000 rows: 468 steps" in words
    assert words.endswith("without the encoder and the exchanges (--bandwidth)")


def test_it_prints_numbers_for_other_programs(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = json.loads(said(capsys, "--rows 8192 --batch 4096 --rate 2 --json"))
    assert numbers["operations"] == 16 * 4096**2 * 128
    assert numbers["loss"] == numbers["operations"] / 2e12
    assert numbers["training"] == 2 * numbers["loss"]
    assert numbers["exchange"] is None


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--rows 10 --batch 20", "at least as many rows as a batch has pairs, got 10 rows and batches of 20"),
        ("--rows 10 --batch 0", "--batch must be"),
        ("--rows 10 --batch 1", "--batch must be an integer of at least 2, got 1"),
        ("--rows 10 --batch 2 --devices 3", "at least one pair for every device"),
        ("--rows 10 --batch 2 --rate 0", "--rate must be a finite number above 0"),
        ("--rows 10 --batch 2 --rate 1e-320", "--rate must be a finite number at least 1e-12 and at most"),
        ("--rows 10 --batch 2 --bandwidth nan", "--bandwidth must be a finite number above 0"),
    ],
)
def test_it_refuses_what_makes_no_sense(capsys: pytest.CaptureFixture[str], words: str, reason: str) -> None:
    assert reason in said(capsys, words, code=2)


@pytest.mark.parametrize("name", ["rows", "batch", "dim", "devices", "epochs"])
def test_a_number_beyond_all_is_refused_by_its_flag(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = {"rows": 1000, "batch": 100, name: 10_000_000_000_000}
    line = said(capsys, " ".join(f"--{key} {value}" for key, value in words.items()), code=2)
    assert line == f"tammes: --{name} must be a finite number at most 1e+12, got 10000000000000"


def test_rows_may_be_a_power_of_ten(capsys: pytest.CaptureFixture[str]) -> None:
    words = said(capsys, "--rows 1e6 --batch 2.5e2 --rate 2")
    assert "1 epoch of 1,000,000 rows: 4,000 steps" in words
    refused = said(capsys, "--rows many --batch 250 --rate 2", code=2)
    assert "Error parsing --rows: expected a whole number such as 1000000 or 1e6, got 'many'" in refused
