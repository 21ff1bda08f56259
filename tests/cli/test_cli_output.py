import os
from pathlib import Path

import pytest

from tammes.cli.main import main
from tammes.cli.output import prepare_output


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
