"""`tammes evaluate --tasks`: tasks found, floors beside the encoder, the record, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tammes.cli.main import main
from tammes.report.evaluation import FILE, read_results
from task_files import sentences, write_all, write_classes, write_scored, write_trec

TRAIN = "train simclr --temperature 1 --epochs 1 --batch-size 8 --accelerator cpu encoder:bag-of-words"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("texts")
    for kind in ("pos", "neg"):
        (root / f"{kind}.txt").write_text("\n".join(sentences(kind, 30, 5)))
    out = root / "run"
    words = [*TRAIN.split(), "--encoder.dim", "24", "--encoder.minimum-count", "1"]
    assert main([*words[:2], "--data", str(root), "--out", str(out), *words[2:]]) == 0
    return out


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained, tmp_path / "run")


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main(["evaluate", *words]) == 2
    message = capsys.readouterr().err
    assert "Traceback" not in message
    return " ".join(message.split())


def test_every_task_is_measured_beside_floors_recorded_and_shown(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    folder = write_all(tmp_path / "tasks")
    assert main(["evaluate", str(run), "--tasks", str(folder)]) == 0
    said = capsys.readouterr().out
    for text in ("MR accuracy", "MSRP F1", "sts spearman", "animals nDCG@10", "untrained encoder"):
        assert text in said
    assert "of 6 tasks with classes" in said
    results = read_results(run)
    assert {each.protocol for each in results} == {
        "tasks",
        "tasks, untrained encoder",
        "tasks, tf-idf and SVD",
        "tasks, random words",
    }
    assert len(results) == 4 * (6 + 1 + 2 + 4)
    assert "MSRP, F1" in (run / "report.html").read_text()
    assert FILE in said


def test_a_task_that_cannot_be_measured_leaves_the_others(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tasks"
    folder.mkdir()
    write_classes(folder)
    write_trec(folder, count=5)
    message = refused(capsys, str(run), "--tasks", str(folder))
    assert "1 of 5 tasks could not be measured; TREC: expected at least 10 sentences of each class" in message
    assert "got 5 of 'HUM'" in message
    names = {each.name for each in read_results(run)}
    assert names == {f"{name}, accuracy" for name in ("MR", "CR", "SUBJ", "MPQA")}
    capsys.readouterr()
    assert main(["evaluate", str(run), "--tasks", str(folder), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert list(found["scores"]) == ["MR", "CR", "SUBJ", "MPQA"]
    assert list(found["failed"]) == ["TREC"]


def test_json_has_every_number_with_its_interval(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_all(tmp_path / "tasks")
    capsys.readouterr()
    assert main(["evaluate", str(run), f"--tasks={folder}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["scores"]) == ["MR", "CR", "SUBJ", "MPQA", "TREC", "MSRP", "animals", "sts"]
    accuracy = found["scores"]["MR"]["encoder"]["accuracy"]
    assert accuracy["low"] < accuracy["mean"] < accuracy["high"]


def test_the_random_words_depend_on_the_seed_alone(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tasks"
    folder.mkdir()
    write_scored(folder / "sts.tsv")

    def scores(seed: int) -> dict[str, object]:
        capsys.readouterr()
        assert main(["evaluate", str(run), "--tasks", str(folder), "--json", "--seed", str(seed)]) == 0
        return json.loads(capsys.readouterr().out)["scores"]["sts"]

    first, again, other = scores(0), scores(0), scores(1)
    assert first == again
    assert first["random words"] != other["random words"]
    assert first["encoder"] == other["encoder"]


def test_files_of_another_layout_and_other_runs_are_refused_in_a_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tasks"
    folder.mkdir()
    assert "found none; known layouts: MR" in refused(capsys, str(run), "--tasks", str(folder))
    (folder / "mine.txt").write_text("one line")
    message = refused(capsys, str(run), "--tasks", str(folder))
    assert "mine.txt has the layout of no known task" in message
    assert "corpus.jsonl" in message
    assert "found no folder" in refused(capsys, str(run), "--tasks", str(folder / "no"))


def test_a_run_on_images_has_no_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "digits"
    words = f"train simclr --temperature 0.5 --data digits --epochs 1 --accelerator cpu --out {out}"
    assert main([*words.split(), "encoder:convnet", "--encoder.width", "8"]) == 0
    message = refused(capsys, str(out), "--tasks", str(write_all(tmp_path / "tasks")))
    assert "--tasks is for encoders of sentences" in message


def test_help_of_tasks_needs_no_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--tasks", "--help"]) == 0
    assert "BEIR" in capsys.readouterr().out
