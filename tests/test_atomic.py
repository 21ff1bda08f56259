import errno
import os
import stat
from contextlib import nullcontext
from pathlib import Path

import pytest

from tammes import atomic
from tammes.atomic import partial_files, write_atomically


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_the_new_content_replaces_the_old(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old and longer")
    write_atomically(file, b"new")
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    monkeypatch.setattr(atomic.os, call, full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_failed_write_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic.os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left") as failure:
        write_atomically(tmp_path / "file", b"new")
    assert failure.value.filename == str(tmp_path / "file")


@pytest.mark.parametrize(("number", "is_refused"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_share_that_flushes_no_folders_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, is_refused: bool
) -> None:
    flush = os.fsync

    def of_files(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        flush(descriptor)

    monkeypatch.setattr(atomic.os, "fsync", of_files)
    with pytest.raises(OSError, match="Input/output") if is_refused else nullcontext():
        write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


def test_parts_of_killed_processes_are_found(tmp_path: Path) -> None:
    file = tmp_path / "last.ckpt"
    left = tmp_path / "last.ckpt.4711.partial"
    for each in (file, left, tmp_path / "last.ckpt.mine.partial", tmp_path / "first.ckpt.1.partial"):
        each.touch()
    assert list(partial_files(file)) == [left]
