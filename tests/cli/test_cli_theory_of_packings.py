"""Points far apart, as a user asks for them."""

import json
from pathlib import Path

import pytest

from tammes.cli.main import main


def run(words: str, *more: str | Path) -> int:
    return main(["theory", "packing", *words.split(), *map(str, more)])


def said(capsys: pytest.CaptureFixture[str], words: str, *more: str | Path) -> str:
    capsys.readouterr()
    assert run(words, *more) == 0
    return " ".join(capsys.readouterr().out.split())


def fails(capsys: pytest.CaptureFixture[str], words: str, *more: str | Path) -> str:
    capsys.readouterr()
    assert run(words, *more) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return " ".join(captured.err.replace("│", " ").split())


def test_a_proved_optimum_names_its_proof(capsys: pytest.CaptureFixture[str]) -> None:
    words = said(capsys, "--classes 12 --dim 3")
    assert "12 points in 3 dimensions: the nearest two are 1.051462224 apart" in words
    assert "an angle of 63.4349488 degrees, as are 30 pairs in all." in words
    assert "No points do better. Proof: Fejes Toth (1943)." in words


def test_a_search_says_what_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    words = said(capsys, "--classes 19 --dim 3 --restarts 6")
    assert "Found by search; no proof says that none do better." in words
    assert "More than 50.300 degrees is impossible: Fejes Toth (1943)." in words
    assert "1 point can move freely." in words
    assert "impossible" not in said(capsys, "--classes 9 --dim 4 --restarts 3")


def test_numbers_for_other_programs(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = json.loads(said(capsys, "--classes 4 --dim 3 --json"))
    assert numbers["distance"] == pytest.approx((8 / 3) ** 0.5)
    assert numbers["angle_degrees"] == pytest.approx(109.4712206)
    assert numbers["certified"] is True
    assert numbers["proof"] == "Rankin (1955)"
    assert numbers["contacts"] == 6
    assert numbers["mean_squared_distance"] == pytest.approx(8 / 3)
    assert [len(point) for point in numbers["points"]] == [3] * 4


def test_frequencies_weigh_and_rare_classes_merge(capsys: pytest.CaptureFixture[str]) -> None:
    words = said(capsys, "--classes 3 --dim 2 --weights 0.9 0.05 0.05")
    assert "The weighted mean of squared nearest distances is 3.600000000." in words
    assert "2 classes share a place: the others gain more than these lose." in words
    assert "share a place" not in said(capsys, "--classes 3 --dim 2 --weights 0.4 0.3 0.3")


def test_the_seed_changes_the_starts(capsys: pytest.CaptureFixture[str]) -> None:
    points = [
        json.loads(said(capsys, f"--classes 9 --dim 3 --restarts 3 --json --seed {seed}"))["points"]
        for seed in (0, 0, 1)
    ]
    assert points[0] == points[1] != points[2]


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf", ".html"])
def test_a_figure_is_drawn_on_request(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"new/packing{suffix}"
    assert "The figure is in" in said(capsys, "--classes 12 --dim 3 --figure", file)
    begins = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF", ".html": b"<!DOCTYPE html>"}[suffix]
    assert file.read_bytes().startswith(begins)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--classes 1 --dim 3", "--classes must be from 2 to 1,000, got 1"),
        ("--classes 2000 --dim 3", "--classes must be from 2 to 1,000, got 2000"),
        ("--classes 3 --dim 0", "--dim must be from 1 to 1,000, got 0"),
        ("--classes 3 --dim 1001", "--dim must be from 1 to 1,000, got 1001"),
        ("--classes 3", "--dim"),
        ("--classes 3 --dim 2 --restarts 0", "--restarts must be an integer of at least 1, got 0"),
        ("--classes 3 --dim 2 --seed -1", "--seed must be an integer from 0 to"),
        ("--classes 3 --dim 2 --weights 1 2", "--weights must have a number for each of 3 classes, got 2"),
        ("--classes 2 --dim 2 --weights 1 0", "--weights must be a finite number above 0, got 0"),
        ("--classes 3 --dim 2 --figure x.gif", "--figure must end in .svg, .png, .pdf, .html, got x.gif"),
        ("--classes 3 --dim 2 --figure x.html", "--figure .html is a sphere to turn, for --dim 3: got 2"),
        ("--classes many --dim 2", "--classes"),
    ],
)
def test_wrong_words_end_with_a_line_and_2(
    words: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in fails(capsys, words)
    assert list(tmp_path.iterdir()) == []


def test_help_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert "usage: tammes theory packing" in said(capsys, "--help")
