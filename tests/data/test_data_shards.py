"""Tar archives of the WebDataset layout: what is found, what is left out, and in what places it is read."""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tammes.data import Images, SkippedFilesWarning, shards
from tammes.data.image_cache import MappedPixels
from tammes.data.images import ShardedPixels
from tammes.data.shards import shape_of_shards
from tammes.data.tar_files import BLOCK, holds_shards, shard_files
from tiny import picture_bytes, write_shards


def write(file: Path, *members: tuple[str, bytes]) -> Path:
    with tarfile.open(file, "w") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return file


PICTURE = picture_bytes(0)


def test_images_and_labels_of_all_shards(tmp_path: Path) -> None:
    write_shards(tmp_path, 4, 3, 5)
    images = shards(tmp_path, size=8)
    assert len(images) == 12
    assert images.names[:5] == (
        "pets-0.tar:0000",
        "pets-0.tar:0001",
        "pets-0.tar:0002",
        "pets-0.tar:0003",
        "pets-1.tar:0000",
    )
    assert images.classes == ("0", "1")
    assert images.required_labels().tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]
    assert isinstance(images.pixels, ShardedPixels)
    assert images.pixels.shards == (4, 3, 5)
    for row in range(12):
        expected = picture_bytes(row)
        with Image.open(io.BytesIO(expected)) as picture:
            color = torch.from_numpy(np.asarray(picture)[0, 0].copy())
        assert torch.equal(images[row][0][:, 0, 0], color)


def test_a_subset_keeps_its_shards(tmp_path: Path) -> None:
    images = shards(write_shards(tmp_path, 4, 3, 5), size=8)
    some = images.subset([1, 3, 8, 9, 10])
    assert isinstance(some.pixels, ShardedPixels)
    assert some.pixels.shards == (2, 3)
    assert torch.equal(some.batch([0, 2, 4]), images.batch([1, 8, 10]))
    assert some.names == tuple(images.names[row] for row in (1, 3, 8, 9, 10))


@pytest.mark.parametrize("pattern", ["pets-{0..2}.tar", "pets-{0,1,2}.tar", "pets-0.tar"])
def test_patterns_name_archives(tmp_path: Path, pattern: str) -> None:
    write_shards(tmp_path, 4, 3, 5)
    assert len(shards(f"{tmp_path}/{pattern}", size=8)) == (4 if pattern == "pets-0.tar" else 12)
    assert holds_shards(f"{tmp_path}/{pattern}")


def test_numbers_keep_their_zeros(tmp_path: Path) -> None:
    for number in (8, 9, 10, 11):
        (tmp_path / f"{number:03d}.tar").touch()
    files = shard_files(f"{tmp_path}/{{008..011}}.tar")
    assert [file.name for file in files] == ["008.tar", "009.tar", "010.tar", "011.tar"]
    with pytest.raises(ValueError, match=r"at .*012\.tar, found nothing; 2 of 6 shards are missing"):
        shard_files(f"{tmp_path}/{{008..013}}.tar")
    with pytest.raises(ValueError, match=r"at .*x\.tar, found nothing$"):
        shard_files(tmp_path / "x.tar")


@pytest.mark.parametrize(
    ("braces", "said"),
    [
        ("{003..000}", r"the smaller number first in \{003\.\.000\}: write \{000\.\.003\}"),
        ("{000,001,000}", r"each file once in .*, got .*000\.tar several times"),
    ],
)
def test_a_pattern_that_names_nothing_or_a_file_twice_is_refused(braces: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        shard_files(f"{braces}.tar")


def test_a_folder_of_other_files_holds_no_shards(tmp_path: Path) -> None:
    assert not holds_shards(str(tmp_path))
    with pytest.raises(ValueError, match=r"expected tar archives in .*, found none"):
        shard_files(tmp_path)
    write_shards(tmp_path, 2)
    (tmp_path / "index.json").write_text("{}")
    assert holds_shards(str(tmp_path))
    Image.new("RGB", (3, 3)).save(tmp_path / "picture.png")
    assert not holds_shards(str(tmp_path))


@pytest.mark.parametrize(
    ("members", "label", "classes"),
    [
        ([("a.cls", b"9\n"), ("b.cls", b"10")], None, ("9", "10")),
        ([("a.cls", b"dog"), ("b.cls", b"cat")], None, ("cat", "dog")),
        ([("a.json", b'{"label": 3}'), ("b.json", b'{"label": "x"}')], None, ("3", "x")),
        ([("a.json", b'{"species": 3}'), ("b.json", b'{"species": 4}')], "species", ("3", "4")),
        ([("a.txt", b"a cat"), ("b.txt", b"a dog")], None, None),
        ([("a.txt", b"a cat"), ("b.txt", b"a dog")], "txt", ("a cat", "a dog")),
        ([("a.cls", b"1"), ("a.json", b'{"label": 3}'), ("b.cls", b"2")], None, ("1", "2")),
        ([("a.json", b'{"caption": "x"}')], None, None),
        ([("a.Kind", b"1"), ("b.KIND", b"2")], "Kind", ("1", "2")),
        ([("a.cls", b" \n"), ("b.json", b'{"label": ""}')], None, None),
    ],
)
def test_labels(
    tmp_path: Path, members: list[tuple[str, bytes]], label: str | None, classes: tuple[str, ...] | None
) -> None:
    all_members = sorted([("a.png", PICTURE), ("b.png", PICTURE), *members])
    images = shards(write(tmp_path / "a.tar", *all_members), size=8, label=label)
    assert images.classes == classes
    assert (images.labels is None) == (classes is None)


@pytest.mark.parametrize("label", ["klass", "txt"])
def test_a_named_label_that_no_image_has_is_refused(tmp_path: Path, label: str) -> None:
    file = write(tmp_path / "a.tar", ("a.png", PICTURE), ("a.cls", b"1"), ("a.json", b'{"label": 3}'))
    said = rf"field of json '{label}' beside .* found only members png, cls, json: name another label"
    with pytest.raises(ValueError, match=said):
        shards(file, size=8, label=label)


def test_labels_away_from_their_images_are_said(tmp_path: Path) -> None:
    images = [("a.png", PICTURE), ("b.png", PICTURE)]
    file = write(tmp_path / "a.tar", *images, ("a.cls", b"1"), ("b.cls", b"2"))
    said = r"2 of the labels in .* do not stand beside an image of their name: a\.tar:a\.cls, a\.tar:b\.cls"
    with pytest.warns(SkippedFilesWarning, match=f"{said}; left out"):
        found = shards(file, size=8)
    assert (found.labels, found.skipped) == (None, ("a.tar:a.cls", "a.tar:b.cls"))
    with pytest.raises(ValueError, match=f"{said}; remove them"):
        shards(file, size=8, strict=True)
    write(file, *images, ("a.json", b'{"label": 1}'), ("set.json", b"{}"))
    with pytest.warns(SkippedFilesWarning, match=r"1 of the labels in .*: a\.tar:a\.json; left out"):
        assert shards(file, size=8).labels is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[1]", r"expected a JSON object in .*a\.tar:a\.json"),
        (b"{", r"expected a JSON object in .*a\.tar:a\.json"),
        (b'{"label": 1.5}', r"expected the name or number of a class in .*a\.json, got 1\.5"),
        (b'{"label": true}', r"expected the name or number of a class in .*a\.json, got True"),
    ],
)
def test_what_is_no_label(tmp_path: Path, content: bytes, said: str) -> None:
    file = write(tmp_path / "a.tar", ("a.png", PICTURE), ("a.json", content))
    with pytest.raises(ValueError, match=said):
        shards(file, size=8)


def test_all_images_have_labels_or_none(tmp_path: Path) -> None:
    for more in ([], [("b.cls", b"\n")]):
        file = write(tmp_path / "a.tar", ("a.png", PICTURE), ("a.cls", b"1"), ("b.png", PICTURE), *more)
        with pytest.raises(
            ValueError, match=r"for every item or for none, got 1 of 2 without one, first a\.tar:b"
        ):
            shards(file, size=8)


def test_what_belongs_to_no_image_is_ignored(tmp_path: Path) -> None:
    file = write(
        tmp_path / "a.tar",
        ("readme.txt", b"pets"),
        ("x/a.b/c.PNG", PICTURE),
        ("x/a.b/c.seg.png", PICTURE),
        ("x/a.b/c.jpg", b"second"),
        ("x/a.b/c.cls", b"1"),
        ("lonely.json", b"{}"),
    )
    images = shards(file, size=8)
    assert (images.names, images.classes) == (("a.tar:x/a.b/c",), ("1",))


def test_a_name_that_comes_again_is_another_image(tmp_path: Path) -> None:
    members = [
        (f"a.{ending}", content)
        for number, pet in enumerate((b"cat", b"dog", b"cat"))
        for ending, content in (("png", picture_bytes(number)), ("txt", b"text"), ("cls", pet))
    ]
    images = shards(write(tmp_path / "a.tar", *members), size=8)
    assert (images.names, images.classes) == (("a.tar:a",) * 3, ("cat", "dog"))
    assert images.required_labels().tolist() == [0, 1, 0]
    pixels = images.batch(range(3))[:, :, 0, 0]
    assert [picture[0] // 10 for picture in pixels.tolist()] == [0, 1, 2]


def cut(file: Path, keep: int) -> Path:
    file.write_bytes(file.read_bytes()[:keep])
    return file


def ends(file: Path) -> list[int]:
    """Where each member of an archive ends, padding included."""
    with tarfile.open(file) as archive:
        return [member.offset_data + -(-member.size // BLOCK) * BLOCK for member in archive.getmembers()]


@pytest.mark.parametrize("place", ["inside", "between", "header", "without the end", "empty", "garbage"])
def test_a_shard_that_is_cut_short_is_named_and_left_out(tmp_path: Path, place: str) -> None:
    write_shards(tmp_path, 4, 3, 5)
    file = tmp_path / "pets-1.tar"
    places = ends(file)  # an image and a label take turns
    whole = {"inside": 1, "between": 2, "header": 2, "without the end": 3, "empty": 0, "garbage": 2}[place]
    if place == "garbage":
        content = bytearray(file.read_bytes())
        content[places[3] : places[3] + BLOCK] = b"x" * BLOCK
        file.write_bytes(content)
    else:
        keep = {
            "inside": places[1] + BLOCK + 20,
            "between": places[3],
            "header": places[3] + 100,
            "without the end": places[5],
            "empty": 0,
        }[place]
        cut(file, keep)
    images_before = "1 image" if whole == 1 else f"{whole} images"
    name = f"pets-1.tar (with {images_before} before the damage)"
    said = rf"1 of 3 shards in .* are cut short or damaged: {re.escape(name)}"
    with pytest.warns(SkippedFilesWarning, match=f"{said}; left out"):
        images = shards(tmp_path, size=8)
    assert len(images) == 9
    assert images.skipped == (name,)
    assert isinstance(images.pixels, ShardedPixels)
    assert images.pixels.shards == (4, 5)
    with pytest.raises(ValueError, match=f"{said}; remove them"):
        shards(tmp_path, size=8, strict=True)


def test_without_a_whole_shard_there_is_no_image(tmp_path: Path) -> None:
    write_shards(tmp_path, 4)
    cut(tmp_path / "pets-0.tar", 700)
    with (
        pytest.warns(SkippedFilesWarning, match="1 of 1 shards"),
        pytest.raises(ValueError, match=r"expected images in the shards of .*, found none"),
    ):
        shards(tmp_path, size=8)


def test_a_compressed_archive_is_refused(tmp_path: Path) -> None:
    write_shards(tmp_path, 4)
    file = tmp_path / "pets-0.tar"
    file.write_bytes(gzip.compress(file.read_bytes()))
    with pytest.raises(ValueError, match=r"uncompressed tar archive at .*pets-0\.tar, got a compressed one"):
        shards(tmp_path, size=8)


def test_links_in_an_archive_are_ignored(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        link = tarfile.TarInfo("a.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
        member = tarfile.TarInfo("b.png")
        member.size = len(PICTURE)
        archive.addfile(member, io.BytesIO(PICTURE))
    assert shards(tmp_path, size=8).names == ("a.tar:b",)


def test_a_damaged_image_is_left_out(tmp_path: Path) -> None:
    file = write(
        tmp_path / "a.tar",
        ("a.png", PICTURE),
        ("b.png", PICTURE[:45]),
        ("c.png", PICTURE),
        ("d.png", b"text"),
    )
    with pytest.warns(SkippedFilesWarning, match=r"2 of 4 images in .*: a\.tar:b, a\.tar:d; left out"):
        images = shards(file, size=8)
    assert (images.names, images.skipped) == (("a.tar:a", "a.tar:c"), ("a.tar:b", "a.tar:d"))
    with pytest.raises(ValueError, match=r"a\.tar:b, a\.tar:d; remove them"):
        shards(file, size=8, strict=True)
    taken = shards(file, size=8, unchecked=True)
    assert len(taken) == 4
    with pytest.raises(ValueError, match=r"an image that can be decoded, got a\.tar:b: "):
        taken.batch([0, 1])


def test_nothing_but_damaged_images(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tar", ("a.png", b"text"))
    with pytest.warns(SkippedFilesWarning), pytest.raises(ValueError, match=r"found only a\.tar:a"):
        shards(file, size=8)


def test_an_archive_that_shrinks_is_named_when_it_is_read(tmp_path: Path) -> None:
    images = shards(write_shards(tmp_path, 4), size=8)
    cut(tmp_path / "pets-0.tar", 3 * BLOCK)
    with pytest.raises(ValueError, match=r"pets-0\.tar ends before pets-0\.tar:0003, which was there"):
        images.batch([3])


def test_a_cache_holds_them_in_any_order(tmp_path: Path) -> None:
    plain = shards(write_shards(tmp_path / "pets", 4, 3), size=8)
    kept = shards(tmp_path / "pets", size=8, cache=tmp_path / "cache")
    assert isinstance(kept.pixels, MappedPixels)
    assert not isinstance(kept.pixels, ShardedPixels)
    assert torch.equal(kept.batch(range(7)), plain.batch(range(7)))
    assert (kept.names, kept.classes) == (plain.names, plain.classes)
    with pytest.raises(ValueError, match="unchecked=True excludes a cache"):
        shards(tmp_path / "pets", size=8, cache=tmp_path / "cache", unchecked=True)


def test_a_cache_is_found_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_shards(tmp_path / "pets", 4, 3)
    shards(tmp_path / "pets", size=8, cache=tmp_path / "cache")
    (file,) = tmp_path.glob("cache/*/pixels.bin")
    before = file.stat().st_mtime_ns
    monkeypatch.chdir(tmp_path)
    assert len(shards("pets", size=8, cache="cache")) == 7
    assert [each.stat().st_mtime_ns for each in tmp_path.glob("cache/*/pixels.bin")] == [before]


def test_a_cache_of_a_shard_that_is_now_whole_is_made_anew(tmp_path: Path) -> None:
    write_shards(tmp_path / "pets", 4, 3)
    file = tmp_path / "pets/pets-1.tar"
    content = file.read_bytes()
    cut(file, 700)
    with pytest.warns(SkippedFilesWarning, match="1 of 2 shards"):
        assert len(shards(tmp_path / "pets", size=8, cache=tmp_path / "cache")) == 4
    file.write_bytes(content)
    kept = shards(tmp_path / "pets", size=8, cache=tmp_path / "cache")
    assert torch.equal(kept.batch(range(7)), shards(tmp_path / "pets", size=8).batch(range(7)))


def test_the_usual_shape_is_that_of_the_first_whole_shard(tmp_path: Path) -> None:
    write_shards(tmp_path, 4, 3)
    assert shape_of_shards(tmp_path) == (10, 3)
    cut(tmp_path / "pets-0.tar", 700)
    assert shape_of_shards(tmp_path, largest=9) == (9, 3)
    cut(tmp_path / "pets-1.tar", 700)
    assert shape_of_shards(tmp_path) == (64, 3)


@pytest.mark.parametrize(
    ("settings_", "said"),
    [
        ({"size": 0}, "size must be an integer of at least 1"),
        ({"size": 8, "channels": 2}, "channels must be 1"),
        ({"size": 8, "buffer": 0}, "buffer must be an integer of at least 1"),
    ],
)
def test_numbers_out_of_range(tmp_path: Path, settings_: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        shards(tmp_path, **settings_)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    write_shards(folder := tmp_path_factory.mktemp("shards"), 3)
    return (folder / "pets-0.tar").read_bytes()


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_damage_is_a_warning_or_a_plain_error(
    archive: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(archive)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    file = tmp_path_factory.mktemp("damaged") / "a.tar"
    file.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedFilesWarning)
        try:
            images = shards(file, size=8)
        except ValueError:
            return
    assert isinstance(images, Images)
    images.batch(range(len(images)))


def test_json_of_a_real_set(tmp_path: Path) -> None:
    """The layout of img2dataset: a caption, and a record of the download."""
    record = json.dumps(
        {"url": "https://example.org/1.jpg", "caption": "a cat", "status": "success"}
    ).encode()
    file = write(tmp_path / "a.tar", ("0.jpg", PICTURE), ("0.txt", b"a cat"), ("0.json", record))
    assert shards(file, size=8).labels is None
