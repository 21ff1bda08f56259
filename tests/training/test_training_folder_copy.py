"""A run's copy at an address: what it holds, how it follows the run, and how a run goes on from it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest

from tammes.training import Adam, Constant, FolderCopy, RunFolder, train
from tammes.training.folder_copy import CopyWarning
from tammes.training.stop import Stopped
from tiny import make_config, random_images


@pytest.fixture
def store() -> Iterator[fsspec.AbstractFileSystem]:
    """A store in memory, which is empty."""
    files = fsspec.filesystem("memory")
    files.store.clear()
    files.pseudo_dirs[:] = [""]
    yield files
    files.store.clear()


class Broken(fsspec.get_filesystem_class("memory")):
    """A store that takes nothing while `full`."""

    protocol = "broken"
    full = False

    def _open(self, path: str, mode: str = "rb", **settings: object) -> object:
        if "w" in mode and Broken.full:
            raise RuntimeError("the bucket is full")
        return super()._open(path, mode, **settings)


@pytest.fixture
def broken() -> Iterator[type[Broken]]:
    """The store that can break."""
    fsspec.register_implementation("broken", Broken, clobber=True)
    Broken.store.clear()
    yield Broken
    Broken.full = False
    Broken.store.clear()


def test_a_copy_has_the_bytes_of_every_file_of_the_run(tmp_path: Path, store: object) -> None:
    folder = RunFolder(path=tmp_path / "run", copy=FolderCopy("memory://runs/pets"))
    train(make_config(), random_images(22), folder=folder)
    FolderCopy("memory://runs/pets").fetch(tmp_path / "fetched")
    names = {file.relative_to(folder.path) for file in folder.path.rglob("*") if file.is_file()}
    fetched = {file.relative_to(tmp_path / "fetched") for file in (tmp_path / "fetched").rglob("*.*")}
    assert fetched == {name for name in names if name.name not in ("previous.ckpt", ".lock")}
    for name in fetched:
        assert (tmp_path / "fetched" / name).read_bytes() == (folder.path / name).read_bytes()


def test_a_run_goes_on_from_its_copy_to_the_same_weights(tmp_path: Path, store: object) -> None:
    config = replace(make_config(), optimizer=Adam(schedule=Constant()))
    images = random_images(22)
    whole = RunFolder(path=tmp_path / "whole")
    train(replace(config, epochs=2), images, folder=whole)
    begun = RunFolder(path=tmp_path / "begun", copy=FolderCopy("memory://runs/begun"))
    train(replace(config, epochs=1), images, folder=begun)
    moved = RunFolder(path=tmp_path / "moved", resume=True, copy=FolderCopy("memory://runs/begun"))
    FolderCopy("memory://runs/begun").fetch(moved.path)
    train(replace(config, epochs=2), images, folder=moved)
    assert moved.weights.read_bytes() == whole.weights.read_bytes()
    FolderCopy("memory://runs/begun").fetch(tmp_path / "again")
    assert (tmp_path / "again/model.safetensors").read_bytes() == whole.weights.read_bytes()


def test_only_files_that_changed_are_sent_again(
    tmp_path: Path, store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.yaml").write_text("a: 1")
    (tmp_path / "metrics.csv").write_text("epoch\n")
    files = [tmp_path / "config.yaml", tmp_path / "metrics.csv", tmp_path / "not there"]
    copy = FolderCopy("memory://runs/pets")
    copy.finish(tmp_path, files)
    opened: list[str] = []
    plain = type(store).open

    def counted(self: object, path: str, mode: str = "rb", **settings: object) -> object:
        opened.append(path)
        return plain(self, path, mode, **settings)

    monkeypatch.setattr(type(store), "open", counted)
    copy.finish(tmp_path, files)
    assert opened == []
    (tmp_path / "metrics.csv").write_text("epoch\n0\n")
    copy.finish(tmp_path, files)
    assert [path.rpartition("/")[2] for path in opened] == ["metrics.csv"]


def test_a_store_that_fails_warns_in_training_and_is_an_error_at_the_end(
    tmp_path: Path, broken: type[Broken]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("a: 1")
    copy = FolderCopy("broken://runs/pets")
    broken.full = True
    copy.begin(tmp_path, [file])
    with pytest.raises(
        OSError, match=r"could not be copied to broken://runs/pets \(RuntimeError: the bucket"
    ):
        copy.finish(tmp_path, [file])
    copy.begin(tmp_path, [file])
    copy._thread.submit(int).result()  # the thread has one task at a time, so the copy has failed by now
    with pytest.warns(CopyWarning, match="training goes on"):
        copy.begin(tmp_path, [file])
    broken.full = False
    copy.finish(tmp_path, [file])
    copy.fetch(tmp_path / "fetched")
    assert (tmp_path / "fetched/config.yaml").read_text() == "a: 1"


def test_a_stopped_run_has_its_last_checkpoint_in_the_copy(
    tmp_path: Path, store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(path=tmp_path / "run", copy=FolderCopy("memory://runs/stopped"), checkpoint_every=1)
    begin = FolderCopy.begin

    def interrupted(self: FolderCopy, *arguments: object) -> None:
        begin(self, *arguments)  # type: ignore[arg-type]
        os.kill(os.getpid(), 15)

    monkeypatch.setattr(FolderCopy, "begin", interrupted)
    with pytest.raises(Stopped):
        train(replace(make_config(), epochs=3), random_images(22), folder=folder)
    assert store.cat_file("/runs/stopped/checkpoints/last.ckpt") == folder.checkpoint.read_bytes()


def test_a_run_at_the_address_is_not_overwritten_unasked(tmp_path: Path, store: object) -> None:
    config, images = make_config(), random_images(22)
    train(config, images, folder=RunFolder(path=tmp_path / "a", copy=FolderCopy("memory://runs/pets")))
    with pytest.raises(ValueError, match=r"there is a run at memory://runs/pets already.*overwrite=True"):
        train(config, images, folder=RunFolder(path=tmp_path / "b", copy=FolderCopy("memory://runs/pets")))
    assert not (tmp_path / "b").exists() or not any((tmp_path / "b").glob("*.yaml"))
    folder = RunFolder(path=tmp_path / "b", copy=FolderCopy("memory://runs/pets"), overwrite=True)
    train(replace(config, seed=7), images, folder=folder)
    FolderCopy("memory://runs/pets").fetch(tmp_path / "c")
    assert (tmp_path / "c/model.safetensors").read_bytes() == folder.weights.read_bytes()


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("runs/pets", "expected an address such as s3://bucket/runs/pets"),
        ("s3://", "expected an address such as"),
        ("nowhere://bucket/run", "is no protocol that fsspec has"),
        ("s3://bucket/run", "s3:// needs another package: `python -m pip install s3fs` installs it"),
        ("gs://bucket/run", "`python -m pip install gcsfs` installs it"),
        ("az://container/run", "`python -m pip install adlfs` installs it"),
        ("abfs://container/run", "`python -m pip install adlfs` installs it"),
        ("wandb://project/run", "wandb:// needs another package: "),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(address: str, words: str) -> None:
    if "s3://bucket" in address and _has("s3fs"):
        pytest.skip("s3fs is installed")
    with pytest.raises(ValueError, match=words):
        FolderCopy(address)


def test_nothing_is_fetched_into_a_folder_with_files_or_from_an_address_without_a_run(
    tmp_path: Path, store: object
) -> None:
    with pytest.raises(ValueError, match=r"no run at memory://runs/none \(no config.yaml\)"):
        FolderCopy("memory://runs/none").fetch(tmp_path / "new")
    (tmp_path / "thesis.tex").write_text("years of work")
    with fsspec.open("memory://runs/pets/config.yaml", "w") as file:
        file.write("seed: 0")
    with pytest.raises(ValueError, match=r"is not empty, it holds .*thesis\.tex: name another folder"):
        FolderCopy("memory://runs/pets").fetch(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_an_interrupted_fetch_has_left_is_fetched_again(
    tmp_path: Path, store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"config.yaml": b"seed: 0", "checkpoints/last.ckpt": b"weights", "metrics.csv": b"epoch"}
    for name, content in files.items():
        store.pipe_file(f"/runs/pets/{name}", content)
    read = store.cat_file

    def interrupted(path: str) -> bytes:
        if path.endswith("metrics.csv"):
            raise ConnectionError("gone")
        return read(path)

    copy = FolderCopy("memory://runs/pets")
    with monkeypatch.context() as network:
        network.setattr(type(store), "cat_file", lambda self, path: interrupted(path))
        with pytest.raises(OSError, match="cannot read memory://runs/pets"):
            copy.fetch(tmp_path)
    (tmp_path / "metrics.csv.4711.partial").write_text("ep")  # of a process that was killed
    assert not (tmp_path / "config.yaml").exists()
    copy.fetch(tmp_path)
    for name, content in files.items():
        assert (tmp_path / name).read_bytes() == content
    with pytest.raises(ValueError, match="is not empty: resume the run that is there"):
        copy.fetch(tmp_path)


def _has(package: str) -> bool:
    from importlib.util import find_spec

    return find_spec(package) is not None
