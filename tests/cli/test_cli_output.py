import os
from pathlib import Path

import pytest

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
