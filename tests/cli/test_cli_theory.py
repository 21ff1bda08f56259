"""The calculator as a user calls it: what it says, what it draws, what it refuses."""

import json
from pathlib import Path

import pytest

from tammes.cli.main import main
from tammes.cli.negatives_table import NegativesTable, percent
from tammes.theory import ClassDistribution, collision_probability, coverage, log_bound


def run(words: str, *more: str | Path) -> int:
    return main(["theory", *words.split(), *map(str, more)])


def said(capsys: pytest.CaptureFixture[str], words: str, *more: str | Path) -> str:
    """What a command prints that must succeed."""
    capsys.readouterr()
    assert run(words, *more) == 0
    return " ".join(capsys.readouterr().out.split())


def fails(capsys: pytest.CaptureFixture[str], words: str, *more: str | Path) -> str:
    """What a command says that must fail as something the user can mend."""
    capsys.readouterr()
    assert run(words, *more) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return " ".join(captured.err.replace("│", " ").split())


def test_it_says_how_likely_collisions_are_and_what_the_bounds_prefer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = said(capsys, "negatives --classes 100")
    assert "1.0 % of random negatives are false" in words
    assert "--class-prior 0.01" in words
    assert "From k = 69 on, half of all anchors" in words
    assert "The plain bound is least at k = 103 and within a tenth of that for k = 65 to 147" in words
    assert "at k = 54 (k = 27 to 86)" in words
    assert "upper bounds" in words
    assert "Your batch" not in words
    assert "Coupling: hard negatives, beta 1 to begin with." in words
    assert "Uneven classes" not in words


@pytest.mark.parametrize(
    ("classes", "batch", "negatives"),
    [
        (1000, 128, "prefer more: take them all and, if memory allows, a batch of 517 pairs"),
        (1000, 512, "in the range that the bounds prefer: take them all"),
        (100, 512, "more than either bound prefers: keep about 103 at random for each anchor"),
    ],
)
def test_a_batch_gets_advice(
    classes: int, batch: int, negatives: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = said(capsys, f"negatives --classes {classes} --batch {batch}")
    assert f"{batch} pairs offer 2 (B - 1) = {2 * (batch - 1):,} negatives" in words
    assert f"collide and cover like {batch - 1} independent ones" in words
    assert negatives in words


def test_measured_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("name,label\n" + "\n".join(f"{i},{'abbcccc'[i % 7]}" for i in range(70)) + "\n")
    words = said(capsys, "negatives --labels", file)
    assert "With 3 measured classes" in words
    assert "the most frequent class, 57.1 % of the data" in words
    numbers = json.loads(said(capsys, "negatives --json --batch 4 --labels", file))
    assert numbers["classes"] == 3
    assert numbers["class_prior"] == pytest.approx((1 + 4 + 16) / 49)
    assert (numbers["batch"], numbers["batch_negatives"], numbers["batch_draws"]) == (4, 6, 3)


def test_names_of_examples_are_no_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "names.txt"
    file.write_text("".join(f"image {i}.png\n" for i in range(2000)))
    assert "all 2,000 labels" in fails(capsys, "negatives --labels", file)


def test_numbers_for_other_programs(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = json.loads(said(capsys, "negatives --classes 100 --json"))
    assert (numbers["best_k"], numbers["refined_best_k"]) == (103, 54)
    assert numbers["best_k_within_10_percent"] == [65, 147]
    assert numbers["k_with_collision_for_half"] == 69
    assert numbers["batch"] is None


def test_the_table_shows_every_number_that_the_words_name() -> None:
    negatives = NegativesTable(classes=ClassDistribution.uniform(100), pairs=512)
    assert set(negatives.ks) == {1, 10, 54, 69, 100, 103, 511, 1030}
    assert min(negatives.ks, key=lambda k: log_bound(k, negatives.classes)) == 103
    assert min(negatives.ks, key=lambda k: log_bound(k, negatives.classes, growth=0.5)) == 54
    columns = [column.cells for column in negatives.table().columns]
    rows = {k: cells for k, *cells in zip(*columns, strict=True)}
    assert set(rows) == {f"{k:,}" for k in negatives.ks}
    assert rows["69"][0] == percent(collision_probability(69, negatives.classes))
    assert rows["69"][1] == percent(coverage(69, negatives.classes))
    assert (rows["103"][2], rows["54"][3]) == ("1.00", "1.00")


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_a_figure_is_drawn_on_request(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"new/bounds{suffix}"
    said(capsys, "negatives --classes 50 --batch 64 --figure", file)
    begins = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}[suffix]
    assert file.read_bytes().startswith(begins)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("negatives", "say how many classes there are with --classes, or give --labels"),
        ("negatives --classes 3 --labels x.csv", "one of them"),
        ("negatives --classes 3 --column c", "--column names a column of the file of --labels"),
        ("negatives --classes 0", "--classes must be from 2 to 1,000,000,000, got 0"),
        ("negatives --classes 1000000000000000000", "--classes must be from 2 to 1,000,000,000, got 1000"),
        ("negatives --classes 1", "there is only one class"),
        ("negatives --classes 3 --batch 1", "--batch must be at least 2 pairs, got 1"),
        ("negatives --classes 3 --batch 1000000000000000000000", "at most 1,000,000,000 pairs, got 1000"),
        ("negatives --classes 3 --figure x.gif", "--figure must end in .svg, .png, .pdf, got x.gif"),
        ("negatives --classes many", "--classes"),
        ("negatives --labels nowhere.csv", "nowhere.csv: No such file"),
        ("positives --classes 3", "positives"),
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


@pytest.mark.parametrize("words", ["", "--help", "negatives --help"])
def test_help_says_what_there_is(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "usage: tammes theory" in said(capsys, words)
