import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table

from tammes.cli.console import print_table
from tammes.cli.main import main
from tammes.cli.output import prepare_output, without_reader


def test_folders_are_made_and_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "deep" / "report.html"
    prepare_output(file)
    assert file.parent.is_dir()
    assert not file.exists()
    file.write_text("old")
    prepare_output(file)
    assert file.read_text() == "old"


def test_what_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="is a folder: name a file"):
        prepare_output(tmp_path)
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"since .*note\.txt is a file"):
        prepare_output(tmp_path / "note.txt" / "below" / "report.html")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe is a device, a pipe or a socket: name a file"):
        prepare_output(tmp_path / "pipe")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="cannot be written to"):
        prepare_output(tmp_path / "report.html")


@pytest.mark.parametrize(
    "command",
    [
        "train simclr --temperature 0.5 --data digits --out {}",
        "train simclr --temperature 0.5 --data {}",
        "train simclr --temperature 0.5 --data digits --out run --test {}",
        "compare simclr --data digits --report {}/report.html",
        "embed {} --data digits --out embeddings.npz",
        "evaluate {} --data digits",
        "reproduce transport-degeneracy --out {}",
        "theory negatives --classes 10 --figure {}.svg",
        "solve max-clique --graph {}",
        "{}",
    ],
)
def test_a_name_that_is_not_utf_8_is_refused_before_any_work(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command.format(os.fsdecode(b"caf\xe9")).split()) == 2
    error = capsys.readouterr().err
    assert error.startswith(r"tammes: expected names in UTF-8, got 'caf\udce9")
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_run_is_not_named_for_a_place_that_is_not_utf_8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / os.fsdecode(b"caf\xe9")
    place.mkdir()
    monkeypatch.chdir(place)
    assert main(["train", "simclr", "--temperature", "0.5", "--data", "digits", "--out", "."]) == 2
    assert r"caf\udce9" in capsys.readouterr().err
    assert not list(place.iterdir())


def without_readers(words: str, *, errors_too: bool = False) -> tuple[int, bytes | None]:
    """The exit code of a command whose output nobody reads from the start, and what it says of errors."""
    reader, writer = os.pipe()
    errors = writer if errors_too else subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-m", "tammes", *words.split()], stdout=writer, stderr=errors)
    os.close(writer)
    os.close(reader)  # before Python has started
    said = process.communicate(timeout=300)[1]
    return process.returncode, said


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "--version",
        "reproduce --list",
        "solve --help-all",
        "theory negatives --classes 1000",
        "theory positives --dimension 64",
        "train --help",
    ],
)
def test_a_reader_that_leaves_is_no_error(words: str) -> None:
    assert without_readers(words) == (0, b"")


def test_a_training_goes_on_without_a_reader(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = f"train simclr --temperature 0.5 --data digits --epochs 3 --out {out} --accelerator cpu"
    assert without_readers(words) == (0, b"")
    assert (out / "report.html").exists()
    assert without_readers(words, errors_too=True) == (
        2,
        None,
    )  # there is a run: the code is all that is left


def test_a_reader_may_leave_in_the_middle() -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as stream:
        pipe = without_reader(stream)
        print("first", file=pipe, flush=True)
        assert os.read(reader, 100) == b"first\n"
        os.close(reader)
        for _ in range(3):
            print("second", file=pipe, flush=True)
        pipe.close()


def test_only_pipes_are_replaced(tmp_path: Path) -> None:
    memory = io.TextIOWrapper(io.BytesIO())
    with open(tmp_path / "file", "w") as file:
        for stream in (file, memory, io.StringIO()):
            assert without_reader(stream) is stream


@pytest.mark.parametrize(
    ("words", "closed", "code", "end"),
    [
        ("train --help", ">&-", 0, ""),
        ("train simclr --nothing", ">&-", 2, "--nothing"),
        ("diagnose nothing.npz", "2>&-", 2, ""),
    ],
)
def test_a_stream_that_is_closed_from_the_start_is_no_error(
    words: str, closed: str, code: int, end: str
) -> None:
    command = ["sh", "-c", f'exec "$0" -m tammes {words} {closed}', sys.executable]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert found.returncode == code
    assert "Traceback" not in found.stderr
    assert end in " ".join(found.stderr.split())


def test_a_table_in_a_pipe_is_as_wide_as_its_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    table = Table("uniformity of the embeddings")
    table.add_row("a sentence that a narrow table would cut")
    print_table(table)
    assert "a sentence that a narrow table would cut" in capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")  # as in a terminal
    print_table(table)
    assert "a sentence that  │" in capsys.readouterr().out
