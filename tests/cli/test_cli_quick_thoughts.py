"""`tammes train quick-thoughts` as a user types it: one name for encoder, pairs and batch, and bad texts."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import tammes
from tammes.cli.main import main
from tammes.cli.options.train import parse
from tammes.encoders import GRUConfig, TwoTowersConfig
from tammes.positives import Adjacent, Neighbors
from tammes.training import load_run
from tiny import random_texts, write_texts

FEW = "--epochs 1 --accelerator cpu"
SMALL = "encoder:two-towers --encoder.tower.width 4 --encoder.tower.embedding 4"


def run(words: str, *more: str | Path) -> int:
    return main([*words.split(), *map(str, more)])


def fails(capsys: pytest.CaptureFixture[str], words: str, *more: str | Path) -> str:
    """What a command says that must fail as something the user can mend."""
    capsys.readouterr()
    assert run(words, *more) == 2
    message = capsys.readouterr().err
    assert "Traceback" not in message
    return message.splitlines()[-1]


@pytest.fixture
def books(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "books", random_texts(3, 12))


def test_its_name_fills_in_encoder_pairs_and_batch(books: Path, tmp_path: Path) -> None:
    assert (
        run(
            f"train quick-thoughts --beta 1 --class-prior 0.01 {FEW} --data", books, "--out", tmp_path / "run"
        )
        == 0
    )
    training = load_run(tmp_path / "run").config.training
    assert isinstance(training.encoder, TwoTowersConfig)
    assert training.positives == Adjacent()
    assert training.head is None
    assert (training.batch_size, training.epochs) == (8, 1)
    assert load_run(tmp_path / "run").config.data.count == 36  # none is held out
    assert tammes.load(tmp_path / "run").features == 512
    out = tmp_path / "rows.npz"
    assert run("embed", tmp_path / "run", "--data", books, "--out", out) == 0
    assert out.exists()


def test_its_settings_can_be_chosen_and_its_name_may_come_later(books: Path, tmp_path: Path) -> None:
    chosen = (
        "--data {} quick-thoughts {} encoder:gru --encoder.width 4 positives:adjacent --positives.window 2"
    )
    assert run(f"train {chosen.format(books, FEW)} --batch-size 12", "--out", tmp_path / "run") == 0
    training = load_run(tmp_path / "run").config.training
    assert training.encoder == GRUConfig(width=4)
    assert (training.positives, training.batch_size) == (Adjacent(window=2), 12)


def test_a_folder_may_have_its_name(books: Path) -> None:
    named = parse(f"quick-thoughts --data {books} --out quick-thoughts".split())
    assert (named.out, named.training.adjacent) == (Path("quick-thoughts"), True)
    other = parse(f"--out quick-thoughts simclr --temperature 0.1 --data {books}".split())
    assert (other.out, other.training.adjacent) == (Path("quick-thoughts"), False)


def test_batches_of_whole_documents_are_chosen_by_one_option(
    books: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"train quick-thoughts {FEW} {SMALL} --batch-size 20 --data {books} positives:adjacent"
    assert run(f"{words} --positives.whole-documents", "--out", tmp_path / "run") == 0
    training = load_run(tmp_path / "run").config.training
    assert training.positives == Adjacent(whole_documents=True)
    assert load_run(tmp_path / "run").metrics[-1].step == 3  # three documents of 12, of which no two fit
    capsys.readouterr()
    both = f"{words} --positives.whole-documents --positives.run 5"
    assert run(both, "--out", tmp_path / "other") == 2
    said = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert "a batch is made of whole documents or of runs, got" in said
    assert not (tmp_path / "other").exists()


def test_every_objective_takes_adjacent_sentences(books: Path, tmp_path: Path) -> None:
    for name, settings in (
        ("hcl", "--temperature 0.5 --beta 1"),
        ("hcl-ot", "--temperature 0.5 --epsilon 0.3"),
    ):
        words = f"train {name} {settings} {FEW} {SMALL} positives:adjacent --held-out 0 --batch-size 8 --data"
        assert run(words, books, "--out", tmp_path / name) == 0


def test_a_sentence_is_its_own_positive_by_dropout(books: Path, tmp_path: Path) -> None:
    encoder = "encoder:text-transformer --encoder.width 8 --encoder.heads 2 --encoder.depth 1"
    words = f"train simclr --temperature 0.5 {FEW} {encoder} positives:itself --held-out 0 --batch-size 8"
    assert run(f"{words} --data", books, "--out", tmp_path / "simcse") == 0


def test_encoders_of_sentences_are_compared(books: Path, tmp_path: Path) -> None:
    words = f"compare simclr hcl {FEW} encoder:gru --encoder.width 4 --batch-size 4 --data"
    assert run(words, books, "--report", tmp_path / "report.html") == 0
    assert (tmp_path / "report.html").exists()


def test_compare_says_how_runs_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    message = fails(capsys, "compare quick-thoughts hcl --data digits")
    assert "quick-thoughts brings its own" in message
    assert message.endswith("by tammes report RUN RUN")


def write_wrapped(folder: Path, documents: int = 1) -> Path:
    """Prose of 24 sentences a document, whose lines end within sentences."""
    folder.mkdir()
    text = (
        "It was a cold day, and\nthe wind blew over the\nhill. Nobody came by. He\nwaited all the same.\n\n"
    )
    for number in range(documents):
        (folder / f"{number}.txt").write_text(text * 8)
    return folder


PROSE = "taking it for running prose, as with --prose"


@pytest.mark.parametrize(
    "words",
    ["quick-thoughts", "hcl --temperature 0.5 --beta 1 positives:adjacent --held-out 0 --batch-size 8"],
)
def test_wrapped_prose_is_recognized(words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    books = write_wrapped(tmp_path / "books")
    assert run(f"train {words} {FEW} {SMALL} --data", books, "--out", tmp_path / "run") == 0
    assert PROSE in capsys.readouterr().err
    assert load_run(tmp_path / "run").config.data.count == 24


def test_other_commands_read_prose_as_the_training_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    books, trained = write_wrapped(tmp_path / "books", 2), tmp_path / "run"
    words = f"train quick-thoughts {FEW} {SMALL} --data {books} --out"
    assert run(words, trained) == 0
    capsys.readouterr()
    assert main(["search", str(trained), "--data", str(books), "--query", "Nobody came by.", "--json"]) == 0
    said = capsys.readouterr()
    assert PROSE in said.err
    found = json.loads(said.out)
    assert found["sentences"] == 48
    assert found["queries"][0]["found"][0]["sentence"] == "Nobody came by."
    assert run("embed", trained, "--data", books, "--out", tmp_path / "rows.parquet") == 0
    assert PROSE in capsys.readouterr().err
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 48
    assert run("evaluate", trained, "--data", books, "--accelerator", "cpu") == 0
    assert PROSE in capsys.readouterr().err


def test_sentences_are_held_out_only_if_asked_for(
    books: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"train quick-thoughts {FEW} {SMALL} --held-out 0.1 --data"
    assert run(words, books, "--out", tmp_path / "run") == 0
    assert load_run(tmp_path / "run").config.data.count == 33  # one sentence of each of three documents
    assert run(words.replace("--held-out 0.1", ""), books, "--out", tmp_path / "whole") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Not measured: tasks of sentences would say whether it has learned" in said
    assert "there is nothing to measure on" in fails(capsys, "evaluate", tmp_path / "whole")
    assert "--held-out without --data" in fails(capsys, "evaluate", tmp_path / "run", "--held-out", "0.1")


def test_help_has_the_defaults_of_quick_thoughts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train quick-thoughts --help-all") == 0
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "by default 0: all are trained on" in said
    assert "about 1,000,000 are visited" in said
    assert "by default two-towers" in said
    for other in ("200,000", "0.1 for a bag of words", "bag-of-words for texts", "default: 0.1)"):
        assert other not in said


def test_bad_texts_get_one_line(books: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"train quick-thoughts {FEW} {SMALL} --out {tmp_path / 'run'} --data"
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "a.txt").write_text("\n \n")
    assert "expected sentences in" in fails(capsys, words, empty)
    long = tmp_path / "long"
    long.mkdir()
    (long / "a.txt").write_text("It is.\n" + "word " * 200_000 + "\n")
    message = fails(capsys, words, long)
    assert "got 999,999 in a.txt:2: put each sentence on a line" in message
    assert message.endswith("cut running text into sentences with --prose")
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    (mixed / "a.txt").write_bytes("café\n".encode() + "café\n".encode("latin-1"))
    assert "cannot be decoded in line 2 of" in fails(capsys, words, mixed)
    single = tmp_path / "single"
    single.mkdir()
    for row in range(12):
        (single / f"{row:02}.txt").write_text("one two one two one two\n")
    every_word = words.replace("--data", "--encoder.tower.tokens.minimum-count 1 --data")
    capsys.readouterr()
    message = fails(capsys, every_word, single)
    assert "expected documents of several sentences" in message
    assert message.endswith("or choose positives:itself")
    assert capsys.readouterr().out == ""
    window = words.replace("--data", "--batch-size 32 positives:adjacent --positives.window 14 --data")
    assert "a window of 14 sentences reaches over every document" in fails(capsys, window, books)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", [None, "a.md", "a.TXT"])
def test_a_folder_without_plain_text_holds_no_images(
    name: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "e7"
    folder.mkdir()
    if name is not None:
        (folder / name).write_text("One.\nTwo.\n")
    message = fails(capsys, "train quick-thoughts --data", folder)
    assert "expected plain-text files (*.txt) in" in message
    assert f"found {'no files' if name is None else f'only {name}'}" in message
    assert "holds images" not in message


def test_images_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "quick-thoughts is for texts, but digits holds images" in fails(
        capsys, "train quick-thoughts --data digits"
    )
    assert "encoder:gru is for texts" in fails(
        capsys, "train simclr --temperature 0.5 --data digits encoder:gru"
    )


def test_neighbors_remain_as_they_were(books: Path, tmp_path: Path) -> None:
    words = (
        f"train simclr --temperature 0.5 {FEW} {SMALL} positives:neighbors --held-out 0 --batch-size 8 --data"
    )
    assert run(words, books, "--out", tmp_path / "run") == 0
    assert load_run(tmp_path / "run").config.training.positives == Neighbors()
