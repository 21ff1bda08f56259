"""`tammes reproduce` with data, and how a study that takes long is stopped."""

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tammes.cli.main import main
from tammes.papers import entries


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Just enough for the smallest budget: 25 documents, and 125 pairs of sentences to learn from."""
    folder = tmp_path / "tiny novels"
    folder.mkdir()
    generator = np.random.default_rng(0)
    for number in range(25):
        lines = [" ".join(generator.choice(list("abcdefgh"), size=6)) for _ in range(20)]
        (folder / f"{number}.txt").write_text("\n".join(lines) + "\n")
    return folder


def failure(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["reproduce", *words]) == 2
    return capsys.readouterr().err


def test_data_is_asked_for_and_refused_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "negatives-text needs --data: documents with many sentences" in failure(["negatives-text"], capsys)
    not_wanted = failure(["transport-degeneracy", "--data", str(tmp_path)], capsys)
    assert "transport-degeneracy has all the data it needs" in not_wanted


def test_what_cannot_be_run_is_refused_before_anything_is_said_or_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere, out = tmp_path / "nowhere", tmp_path / "out"
    for name in ("spectral-zinc", "sets-k-clique"):
        assert main(["reproduce", name, "--data", str(nowhere), "--out", str(out)]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert f"there is no {nowhere}: the data of {name} are" in said.err
        assert not out.exists()


def test_the_list_has_a_line_for_each_entry(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["reproduce", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [entry.name for entry in entries()]
    assert [line.split()[1] in ("--data", "(--data)") for line in lines] == [
        entry.data is not None for entry in entries()
    ]
    # A terminal cuts the lines; a program that reads them gets all.
    assert all(line.endswith(entry.statement) for line, entry in zip(lines, entries(), strict=True))
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["reproduce", "--list"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
    assert main(["reproduce", "negatives-vision"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "needs --data: CIFAR-10 (cifar-10-binary.tar.gz or cifar-10-batches-bin" in said


def test_a_folder_without_texts_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = failure(["negatives-text", "--data", str(tmp_path), "--out", str(tmp_path / "out")], capsys)
    assert len(told.splitlines()) == 1
    assert str(tmp_path) in told
    assert not (tmp_path / "out").exists()


def _let_ctrl_c_through() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_keeps_what_is_measured_and_says_so(tmp_path: Path, documents: Path) -> None:
    table = tmp_path / "out" / "table.csv"
    words = ["reproduce", "negatives-text", "--data", str(documents), "--out", str(table.parent)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tammes", *words, "--budget", "1e-6"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        # A shell lets what runs in its background ignore Ctrl-C, and children inherit that.
        preexec_fn=_let_ctrl_c_through,
    )
    try:
        deadline = time.monotonic() + 60
        while not table.exists() or table.read_text().count("\n") < 3:
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in told
    assert "cells measured" in told
    assert "the same command resumes from there" in told.replace("\n", " ")
    assert table.read_text().endswith("\n")
    assert not (table.parent / "report.html").exists()


@pytest.mark.processes
def test_a_study_has_the_same_scores_with_several_jobs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tables = []
    for jobs in ("1", "2"):
        words = f"reproduce spectral-properties --budget 0.0005 --seeds 2 --out {jobs} --jobs {jobs}"
        assert main(words.split()) == 0
        assert "10 of 10: " in capfd.readouterr().err
        with Path(jobs, "table.csv").open() as file:
            rows = list(csv.DictReader(file))
        tables.append(sorted(tuple(row[name] for name in row if name != "seconds_per_epoch") for row in rows))
    assert len(tables[0]) == 10
    assert tables[0] == tables[1]
    # What is measured is not measured again.
    assert main([*words.split()]) == 0
    assert " of 10: " not in capfd.readouterr().err
