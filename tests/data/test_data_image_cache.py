"""Decoded images in a file: read through a map, made anew when anything differs, whole or not there."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from tammes.data import Images, SkippedFilesWarning, folder
from tammes.data.image_cache import DESCRIPTION, PIXELS, MappedPixels, cached
from tammes.data.image_files import decoded
from tiny import write_images


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    return write_images(tmp_path / "pets", "cat", "dog", count=5)


def place_in(cache: Path) -> Path:
    (place,) = cache.iterdir()
    return place


def loaded(pets: Path, size: int = 8) -> Images:
    return folder(pets, size=size, cache=pets.parent / "cache")


def decoded_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the names of the files that are decoded from now on."""
    names: list[str] = []

    def recorded(path: Path, *, size: int, channels: int) -> Tensor | None:
        names.append(path.name)
        return decoded(path, size=size, channels=channels)

    # Not by its path in words, which `tammes.data.folder`, the function, hides.
    monkeypatch.setattr(sys.modules["tammes.data.folder"], "decoded", recorded)
    return names


def test_the_images_are_those_of_the_folder(pets: Path) -> None:
    whole, kept = folder(pets, size=8), loaded(pets)
    assert isinstance(kept.pixels, MappedPixels)
    assert (kept.names, kept.classes) == (whole.names, whole.classes)
    assert torch.equal(kept.required_labels(), whole.required_labels())
    assert torch.equal(kept.batch(range(10)), whole.batch(range(10)))
    assert torch.equal(kept[7][0], whole[7][0])
    assert (kept.channels, kept.size) == (3, 8)


def test_a_subset_reads_the_same_file(pets: Path) -> None:
    kept = loaded(pets)
    some = kept.subset([7, 2, 4]).subset([2, 0])
    assert torch.equal(some.batch([0, 1, -1]), kept.batch([4, 7, 7]))
    assert isinstance(some.pixels, MappedPixels)
    assert isinstance(kept.pixels, MappedPixels)
    assert some.pixels.array is kept.pixels.array


def test_a_batch_belongs_to_its_reader(pets: Path) -> None:
    kept = loaded(pets)
    before = kept.batch([4])
    assert int(before.sum()) > 0
    kept.batch([4]).zero_()
    kept[4][0].zero_()
    assert torch.equal(kept.batch([4]), before)


def test_the_second_time_nothing_is_decoded(pets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = decoded_files(monkeypatch)
    first = loaded(pets)
    assert len(names) == 10
    second = loaded(pets)
    assert len(names) == 10
    assert torch.equal(first.batch(range(10)), second.batch(range(10)))


def test_each_size_has_a_place(pets: Path) -> None:
    assert loaded(pets).size == 8
    assert loaded(pets, size=6).size == 6
    assert len(list((pets.parent / "cache").iterdir())) == 2
    assert loaded(pets)[0][0].shape == (3, 8, 8)


def changed(pets: Path) -> None:
    write_images(pets.parent / "other", "x", count=6)
    shutil.copy(pets.parent / "other/x/5.png", pets / "cat/1.png")


def touched(pets: Path) -> None:
    os.utime(pets / "cat/1.png", ns=(1, 1))


def removed(pets: Path) -> None:
    (pets / "cat/1.png").unlink()


def of_another_version(pets: Path) -> None:
    file = place_in(pets.parent / "cache") / DESCRIPTION
    file.write_text(file.read_text().replace("tammes images 1", "tammes images 0"))


def cut_short(pets: Path) -> None:
    file = place_in(pets.parent / "cache") / PIXELS
    file.write_bytes(file.read_bytes()[:-1])


def without_description(pets: Path) -> None:
    (place_in(pets.parent / "cache") / DESCRIPTION).unlink()


def no_description(pets: Path) -> None:
    (place_in(pets.parent / "cache") / DESCRIPTION).write_text("[1, 2")


def another_kind_of_description(pets: Path) -> None:
    (place_in(pets.parent / "cache") / DESCRIPTION).write_text("[]")


def damaged_in_words(pets: Path) -> None:
    file = place_in(pets.parent / "cache") / DESCRIPTION
    file.write_text(json.dumps({**json.loads(file.read_text()), "damaged": ["none"]}))


@pytest.mark.parametrize(
    "change",
    [
        changed,
        touched,
        removed,
        of_another_version,
        cut_short,
        without_description,
        no_description,
        another_kind_of_description,
        damaged_in_words,
    ],
)
def test_a_cache_of_other_data_is_made_anew(
    pets: Path, monkeypatch: pytest.MonkeyPatch, change: object
) -> None:
    loaded(pets)
    assert callable(change)
    change(pets)
    names = decoded_files(monkeypatch)
    images = loaded(pets)
    assert len(names) == len(images) == (9 if change is removed else 10)
    assert torch.equal(images.batch(range(len(images))), folder(pets, size=8).batch(range(len(images))))
    assert {file.name for file in place_in(pets.parent / "cache").iterdir()} == {
        PIXELS,
        DESCRIPTION,
        ".lock",
    }
    loaded(pets)
    assert len(names) == len(images)


def test_a_file_that_is_no_image_does_not_count(pets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pets / "readme.txt").write_text("pets")
    (pets / "dog/2.png").write_bytes(b"no image")
    with pytest.warns(SkippedFilesWarning, match=r"2 of 11 files .*: dog/2.png, readme.txt; left out"):
        images = loaded(pets)
    assert images.skipped == ("dog/2.png", "readme.txt")
    assert len(images) == 9
    names = decoded_files(monkeypatch)
    (pets / "readme.txt").write_text("other pets")
    with pytest.warns(SkippedFilesWarning, match="2 of 11"):
        assert len(loaded(pets)) == 9
    assert names == []
    with pytest.raises(ValueError, match=r"dog/2\.png"):
        folder(pets, size=8, cache=pets.parent / "cache", strict=True)


def test_without_an_image_there_is_nothing_to_keep(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"expected images .* found only a\.png"):
        folder(tmp_path / "data", size=8, cache=tmp_path / "cache")


def test_a_cache_and_unchecked_exclude_each_other(pets: Path) -> None:
    with pytest.raises(ValueError, match="unchecked=True excludes a cache, which decodes every image"):
        folder(pets, size=8, cache=pets.parent / "cache", unchecked=True)


def test_a_small_disk_is_said_before(pets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(pets)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    names = decoded_files(monkeypatch)
    said = r"10 decoded images need 1\.9 kB in .*cache.*, where 1\.0 kB are free: make room, name another"
    with pytest.raises(ValueError, match=said):
        loaded(pets)
    assert names == []
    assert [file.name for file in place_in(pets.parent / "cache").iterdir()] == [".lock"]


def test_a_disk_that_fills_up_leaves_nothing(pets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=rf"No space left on device: .*{PIXELS}"):
        loaded(pets)
    assert [file.name for file in place_in(pets.parent / "cache").iterdir()] == [".lock"]


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    def decode(row: int) -> Tensor:
        if row == 3:
            raise KeyboardInterrupt
        return torch.zeros(1, 2, 2, dtype=torch.uint8)

    with pytest.raises(KeyboardInterrupt):
        cached(tmp_path, [("a", 1, 1)], decode, count=9, channels=1, size=2)
    assert [file.name for file in tmp_path.iterdir()] == [".lock"]


SLOW = """
import sys, time, torch
from pathlib import Path
from tammes.data.image_cache import cached

def decode(row):
    if row == 8:
        print("halfway", flush=True)
        time.sleep(600)
    return torch.zeros(1, 64, 64, dtype=torch.uint8)

torch.set_num_threads(1)
cached(Path(sys.argv[1]), [("a", 1, 1)], decode, count=40, channels=1, size=64)
"""


def test_a_kill_leaves_nothing_that_is_taken_for_whole(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", SLOW, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"halfway\n"
    assert [file.name for file in tmp_path.glob("pixels*")] == [f"{PIXELS}.{process.pid}"]
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    found = cached(
        tmp_path,
        [("a", 1, 1)],
        lambda row: torch.full((1, 64, 64), row, dtype=torch.uint8),
        count=40,
        channels=1,
        size=64,
    )
    assert found.pixels.batch(range(40))[:, 0, 0, 0].tolist() == list(range(40))
    assert len(list(tmp_path.glob("pixels*"))) == 1


def make(place: Path, log: Path) -> None:
    def decode(row: int) -> Tensor:
        with log.open("a") as file:
            file.write(f"{row}\n")
        time.sleep(0.01)
        return torch.full((1, 2, 2), row, dtype=torch.uint8)

    found = cached(place, [("a", 1, 1)], decode, count=20, channels=1, size=2)
    assert found.pixels.batch([19]).flatten().tolist() == [19] * 4


def test_of_several_processes_one_decodes(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    log = tmp_path / "log"
    processes = [context.Process(target=make, args=(tmp_path / "cache", log)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert sorted(map(int, log.read_text().split())) == list(range(20))


def test_without_locks_it_is_made_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tammes.data.cache_files.fcntl", None)
    make(tmp_path / "cache", tmp_path / "log")
    assert not (tmp_path / "cache/.lock").exists()


def test_what_is_mapped_stays_readable_when_another_process_replaces_it(pets: Path) -> None:
    kept = loaded(pets)
    before = kept.batch(range(10))
    changed(pets)
    assert not torch.equal(loaded(pets).batch(range(10)), before)
    assert torch.equal(kept.batch(range(10)), before)


def test_pickles_name_the_file(pets: Path) -> None:
    kept = loaded(pets).subset(range(9))
    content = pickle.dumps(kept)
    assert isinstance(kept.pixels, MappedPixels)
    assert len(pickle.dumps(kept.pixels)) < 1000
    assert torch.equal(pickle.loads(content).batch([3]), kept.batch([3]))


def test_workers_of_a_loader_read_it(pets: Path) -> None:
    kept = loaded(pets)
    loader = DataLoader(kept, batch_size=5, num_workers=1, generator=torch.Generator())
    assert torch.equal(torch.cat([pixels for pixels, _ in loader]), kept.batch(range(10)))


def test_the_file_is_not_read_into_memory(tmp_path: Path) -> None:
    """A sparse file of 4 TB, more than any memory: only the rows that are read are looked at."""
    file = tmp_path / PIXELS
    with file.open("wb") as sparse:
        try:
            sparse.truncate(2**42)
        except OSError:
            pytest.skip("the file system has no files of this size")
    pixels = MappedPixels(file=file, count=2**30, channels=1, size=64)
    assert pixels.batch([0, 2**30 - 1]).shape == (2, 1, 64, 64)
    assert len(pixels.take(np.arange(2**29, 2**29 + 5).tolist())) == 5
