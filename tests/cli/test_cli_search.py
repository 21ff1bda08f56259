"""`tammes search`: the nearest sentences, as tables and as JSON, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tammes.cli.main import main
from task_files import sentences

TRAIN = "train simclr --temperature 1 --epochs 1 --batch-size 8 --accelerator cpu"
ENCODER = "encoder:bag-of-words --encoder.dim 16 --encoder.minimum-count 1"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("texts")
    for kind in ("pos", "neg"):
        (root / f"{kind}.txt").write_text("\n".join(sentences(kind, 30, 5)))
    return root


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "run"
    assert main([*TRAIN.split(), "--data", str(data), "--out", str(out), *ENCODER.split()]) == 0
    return out


def search(run: Path, data: Path, *words: str) -> int:
    return main(["search", str(run), "--data", str(data), *words])


def test_the_nearest_sentences_of_several_queries_are_printed(
    run: Path, data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    first, second = sentences("pos", 30, 5)[3], sentences("neg", 30, 5)[4]
    capsys.readouterr()
    assert search(run, data, "--top", "3", "--query", first, second) == 0
    said = capsys.readouterr()
    assert "pos.txt:4" in said.out
    assert "neg.txt:5" in said.out
    assert "Searched 60 sentences exactly" in said.out


def test_sentences_are_printed_as_they_are(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Square brackets and names between colons are no markup."""
    monkeypatch.setenv("COLUMNS", "200")
    said = ["A ratio of 3:100:5 :smile: in [bold]words[/bold].", "Another film."]
    (tmp_path / "a.txt").write_text("\n".join(said))
    capsys.readouterr()
    assert search(run, tmp_path, "--query", "good :fire: film") == 0
    printed = capsys.readouterr().out
    assert all(each in printed for each in (*said, "good :fire: film"))


def test_a_folder_without_plain_text_holds_no_images(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.md").write_text("One.")
    capsys.readouterr()
    assert search(run, tmp_path, "--query", "good film") == 2
    message = capsys.readouterr().err
    assert "expected plain-text files (*.txt) in" in message
    assert "found only a.md" in message


def test_a_query_of_unknown_words_is_said(run: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert search(run, data, "--query", "zzzqqq", "good film") == 0
    said = capsys.readouterr().err
    assert "no word of 'zzzqqq' is known to the encoder" in said
    assert "'good film'" not in said


def test_json_has_the_sentences_of_each_query(
    run: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = sentences("pos", 30, 5)[3]
    capsys.readouterr()
    assert search(run, data, "--json", "--top", "2", "--query", query) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["sentences"], found["recall"], len(found["queries"])) == (60, 1.0, 1)
    first, second = found["queries"][0]["found"]
    assert (first["sentence"], first["name"]) == (query, "pos.txt:4")
    assert first["similarity"] == pytest.approx(1, abs=1e-5)
    assert second["similarity"] < first["similarity"]


@pytest.mark.parametrize("query", [[""], ["  "], ["good", ""]])
def test_an_empty_query_is_refused_in_a_line(
    run: Path, data: Path, query: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert search(run, data, "--query", *query) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "--query must be words to look for" in message
    assert "Traceback" not in message


def test_changed_sentences_are_a_new_index_and_a_line_says_so(
    run: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert search(run, data, "--query", "good film") == 0
    (tmp_path / "one.txt").write_text("\n".join(sentences("neg", 12, 8)))
    capsys.readouterr()
    assert search(run, tmp_path, "--query", "good film") == 0
    said = capsys.readouterr()
    assert "the sentences have changed" in " ".join(said.err.split())
    assert "Searched 12 sentences" in said.out


def test_runs_and_data_of_another_kind_are_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "digits"
    words = f"train simclr --temperature 0.5 --data digits --epochs 1 --accelerator cpu --out {out}"
    assert main([*words.split(), "encoder:convnet", "--encoder.width", "8"]) == 0
    capsys.readouterr()
    assert main(["search", str(out), "--data", "digits", "--query", "seven"]) == 2
    assert "is no run on texts" in " ".join(capsys.readouterr().err.split())
    assert main(["search", str(run), "--data", "digits", "--query", "seven"]) == 2
    assert "trained on texts" in " ".join(capsys.readouterr().err.split())
