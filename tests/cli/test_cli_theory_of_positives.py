"""What theory says of positives near a boundary, as a user asks for it."""

import json

import pytest

from tammes.cli.main import main
from tammes.theory import SampleComplexity


def said(capsys: pytest.CaptureFixture[str], words: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(["theory", "positives", *words.split()]) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return " ".join((captured.out if code == 0 else captured.err).replace("│", " ").split())


def test_it_says_what_is_saved_and_what_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    words = said(capsys, "--dimension 64 --error 0.001")
    assert "1,775,764 samples do; near the boundary 1,250,796, which is fewer" in words
    assert "which is more than at random" in words
    assert "which is not fewer" in said(capsys, "--dimension 64 --error 0.1")


def test_it_prints_numbers_for_other_programs(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = json.loads(said(capsys, "--dimension 16 --error 0.01 --json"))
    complexity = SampleComplexity(dimension=16, error=0.01)
    assert (numbers["passive"], numbers["active"]) == (complexity.passive, complexity.active)
    assert [each["samples"] for each in numbers["rounds"]] == [each.samples for each in complexity.rounds]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--dimension 1", "--dimension must be from 2"),
        ("--dimension 8 --error 0", "--error must be a finite number at least 1e-12 and below 1"),
        ("--dimension 8 --delta 1", "--delta must be a finite number at least 1e-12 and below 1"),
    ],
)
def test_it_refuses_what_makes_no_sense(capsys: pytest.CaptureFixture[str], words: str, reason: str) -> None:
    assert reason in said(capsys, words, code=2)
