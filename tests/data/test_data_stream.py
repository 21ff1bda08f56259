"""Streams of Hugging Face data sets: found once, read forward, and whole wherever a reader starts."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tammes.data import Images, SkippedFilesWarning, TensorPixels, stream
from tammes.data.image_files import decode
from tammes.data.images import ShardedPixels
from tammes.data.stream import StreamPixels, _class_name
from tammes.data.stream_files import open_stream, shape_of_stream, stream_of_files
from tammes.training.shard_order import ShardOrder
from tiny import picture_bytes, write_parquet

datasets = pytest.importorskip("datasets")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def picture(number: int) -> Image.Image:
    return Image.open(io.BytesIO(picture_bytes(number)))


def of_generator(*counts: int, names: bool = True) -> Any:
    """A stream that knows nothing of its columns, with a shard for each count."""

    def rows(shards: list[tuple[int, int]]) -> Iterator[dict[str, Any]]:
        for first, count in shards:
            for number in range(first, first + count):
                yield {"image": picture(number), **({"label": f"c{number % 2}"} if names else {})}

    firsts = [sum(counts[:shard]) for shard in range(len(counts))]
    return datasets.IterableDataset.from_generator(
        rows, gen_kwargs={"shards": list(zip(firsts, counts, strict=True))}
    )


def colors(images: Images) -> list[list[int]]:
    return images.batch(range(len(images)))[:, :, 0, 0].tolist()


def expected_colors(*numbers: int) -> list[list[int]]:
    return [decode(picture_bytes(number), size=8, channels=3)[:, 0, 0].tolist() for number in numbers]


def test_a_generator_of_pictures() -> None:
    images = stream(of_generator(4, 3, 5), size=8)
    assert images.names[:5] == ("0:0", "0:1", "0:2", "0:3", "1:0")
    assert images.classes == ("c0", "c1")
    assert images.required_labels().tolist() == [0, 1] * 6
    assert isinstance(images.pixels, ShardedPixels)
    assert images.pixels.shards == (4, 3, 5)
    assert colors(images) == expected_colors(*range(12))
    assert images[7][0].shape == (3, 8, 8)


def test_a_data_set_with_features() -> None:
    features = datasets.Features({"img": datasets.Image(), "kind": datasets.ClassLabel(names=["cat", "dog"])})
    whole = datasets.Dataset.from_dict(
        {"img": [picture(number) for number in range(6)], "kind": [1, 0, 1, 0, 1, 1]}, features=features
    )
    images = stream(whole.to_iterable_dataset(num_shards=2), size=8, label="kind")
    assert (images.classes, images.required_labels().tolist()) == (("cat", "dog"), [1, 0, 1, 0, 1, 1])
    assert colors(images) == expected_colors(*range(6))
    assert stream(whole.to_iterable_dataset(num_shards=2), size=8, channels=1).labels is None
    pixels = images.pixels
    assert isinstance(pixels, StreamPixels)
    pixels.reader.read([(0, 1)])
    assert isinstance(pixels.reader.kept[0, 1], bytes)  # not decoded before it is asked for


def named(*labels: int, names: list[str]) -> Any:
    """A stream with a column of numbers of these classes."""
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=names)})
    encoded = [{"bytes": picture_bytes(number), "path": None} for number in range(len(labels))]
    table = pa.table({"image": encoded, "label": list(labels)})
    return datasets.Dataset(table).cast(features).to_iterable_dataset()


@pytest.mark.parametrize("unchecked", [False, True])
def test_minus_one_is_no_label_where_classes_have_names(unchecked: bool) -> None:
    assert stream(named(-1, -1, names=["cat", "dog"]), size=8, unchecked=unchecked).labels is None
    with pytest.raises(ValueError, match="got 1 of 3 without one, first 0:1"):
        stream(named(0, -1, 1, names=["cat", "dog"]), size=8, unchecked=unchecked)


def test_numbers_of_no_class_are_refused() -> None:
    said = "number of a class from 0 to 1, or -1 for none, at 0:1 of the stream, got -2"
    with pytest.raises(ValueError, match=said):
        stream(named(0, -2, names=["cat", "dog"]), size=8)
    with pytest.raises(ValueError, match="at pets:0 of the stream, got 2"):
        _class_name(2, ["cat", "dog"], "pets:0")


def test_without_labels() -> None:
    assert stream(of_generator(3, names=False), size=8).labels is None
    assert len(stream(of_generator(3, names=False), size=8, unchecked=True)) == 3


def reads(images: Images, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of images that are taken from the stream, as the only entry of a list."""
    pixels = images.pixels
    assert isinstance(pixels, StreamPixels)
    count = [0]
    whole = type(pixels.reader)._next

    def next_(reader: Any, rows: Iterator[Any], shard: int, position: int) -> Any:
        count[0] += 1
        return whole(reader, rows, shard, position)

    monkeypatch.setattr(type(pixels.reader), "_next", next_)
    return count


def test_in_the_order_of_an_epoch_each_image_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    images = stream(of_generator(6, 9, 4, 7, 2), size=8, buffer=5)
    count = reads(images, monkeypatch)
    whole = torch.tensor(expected_colors(*range(28)))
    for epoch in range(3):
        order = ShardOrder(shards=(6, 9, 4, 7, 2), buffer=5, seed=0).epoch(epoch)
        for rows in order.split(4):
            assert torch.equal(images.batch(rows)[:, :, 0, 0], whole[rows].to(torch.uint8))
        # Some images of the end of an epoch are still there at the beginning of the next.
        assert 28 * (epoch + 1) - 10 * epoch <= count[0] <= 28 * (epoch + 1)


@given(st.lists(st.lists(st.integers(0, 11), min_size=1, max_size=9), min_size=1, max_size=5))
@settings(max_examples=30, deadline=None)
def test_any_order_gives_the_same_images(batches: list[list[int]]) -> None:
    images = stream(of_generator(4, 3, 5), size=8, buffer=1, unchecked=True)
    for rows in batches:
        assert images.batch(rows)[:, :, 0, 0].tolist() == expected_colors(*rows)
    assert isinstance(images.pixels, StreamPixels)
    assert len(images.pixels.reader.kept) <= 2


def test_only_a_few_shards_stay_open() -> None:
    images = stream(of_generator(*[3] * 12), size=8, buffer=2)
    assert images.batch([3 * shard for shard in range(12)]).shape[0] == 12
    assert isinstance(images.pixels, StreamPixels)
    assert len(images.pixels.reader.opened) == 8


def test_a_part_is_read_by_the_same_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    images = stream(of_generator(4, 3, 5), size=8)
    some = images.subset([1, 3, 8, 9])
    assert isinstance(some.pixels, StreamPixels)
    assert isinstance(images.pixels, StreamPixels)
    assert some.pixels.shards == (2, 2)
    assert some.pixels.reader is images.pixels.reader
    assert colors(some) == expected_colors(1, 3, 8, 9)
    kept = some.in_memory()
    count = reads(images, monkeypatch)
    assert isinstance(kept.pixels, TensorPixels)
    assert (kept.names, colors(kept), count) == (some.names, expected_colors(1, 3, 8, 9), [0])


def test_another_process_opens_the_files_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    images = stream(of_generator(4, 3), size=8)
    images.batch([0])
    assert isinstance(images.pixels, StreamPixels)
    reader = images.pixels.reader
    (rows, _) = reader.opened[0]
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert images.batch([1])[:, :, 0, 0].tolist() == expected_colors(1)
    assert reader.opened[0][0] is not rows
    assert list(reader.kept) == [(0, 0), (0, 1)]


def test_pickles_hold_no_open_files(tmp_path: Path) -> None:
    images = stream_of_files(f"hf:{write_parquet(tmp_path, 4, 3)}", size=8)
    images.batch([0, 5])
    assert colors(pickle.loads(pickle.dumps(images))) == expected_colors(*range(7))


LEFT_OPEN = """
import sys
from tammes.data.stream_files import stream_of_files
images = stream_of_files(sys.argv[1], size=8)
images.batch([0, 4])
"""


def test_a_program_that_ends_within_a_shard_ends_in_silence(tmp_path: Path) -> None:
    write_parquet(tmp_path, 4, 3)
    words = [sys.executable, "-c", LEFT_OPEN, f"hf:{tmp_path}"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.stderr, ended.returncode) == ("", 0)


# Bad streams.


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"image": 3}, "expected an image of Pillow, its bytes, or a mapping .* got int"),
        ({"picture": 3}, "expected a column 'image' or 'img' in the stream, found picture"),
        (
            {"image": picture_bytes(0), "label": 1.5},
            "number of a class at 0:0 of the stream, got 1.5",
        ),
    ],
)
def test_rows_of_another_kind(row: dict[str, Any], said: str) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield row

    with pytest.raises(ValueError, match=said):
        stream(datasets.IterableDataset.from_generator(rows), size=8)


def test_columns_that_are_missing() -> None:
    with pytest.raises(ValueError, match="expected a column 'kind' in the stream, found image, label"):
        stream(of_generator(3), size=8, label="kind")
    with pytest.raises(ValueError, match="expected a column 'picture' in the stream, found image, label"):
        stream(of_generator(3), size=8, image="picture")
    with pytest.raises(ValueError, match="expected a column 'image' or 'img' in the stream, found none"):
        stream(of_generator(0), size=8)


@pytest.mark.parametrize(
    ("settings_", "said"),
    [
        ({"size": 0}, "size must be"),
        ({"size": 8, "channels": 2}, "channels must be 1"),
        ({"size": 8, "buffer": 0}, "buffer must be"),
    ],
)
def test_numbers_out_of_range(settings_: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        stream(of_generator(3), **settings_)


@pytest.mark.parametrize("missing", [None, ""])
def test_labels_for_some_images_only(missing: str | None) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"image": picture_bytes(0), "label": "cat"}
        yield {"image": picture_bytes(1), "label": missing}

    with pytest.raises(ValueError, match="got 1 of 2 without one, first 0:1"):
        stream(datasets.IterableDataset.from_generator(rows), size=8)


def test_damaged_images_are_left_out() -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"image": picture_bytes(0)}
        yield {"image": b"no image"}
        yield {"image": {"bytes": picture_bytes(2), "path": "2.png"}}
        yield {"image": {"bytes": None, "path": "nowhere.png"}}

    dataset = datasets.IterableDataset.from_generator(rows)
    with pytest.warns(SkippedFilesWarning, match="2 of 4 images of the stream .*: 0:1, 0:3; left out"):
        images = stream(dataset, size=8)
    assert (images.names, images.skipped) == (("0:0", "0:2"), ("0:1", "0:3"))
    assert colors(images) == expected_colors(0, 2)
    with pytest.raises(ValueError, match="0:1, 0:3; remove them"):
        stream(dataset, size=8, strict=True)
    with pytest.raises(ValueError, match="an image that can be decoded, got 0:1"):
        stream(dataset, size=8, unchecked=True).batch([0, 1])


@pytest.mark.parametrize("missing", [None, {"bytes": None, "path": None}, {"bytes": None, "path": ""}])
def test_a_row_without_an_image_is_left_out_by_its_name(missing: object, tmp_path: Path) -> None:
    content = [{"bytes": picture_bytes(0), "path": None}, missing, {"bytes": picture_bytes(2), "path": None}]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    pq.write_table(pa.table({"image": pa.array(content, kind)}), tmp_path / "a.parquet")
    with pytest.warns(SkippedFilesWarning, match="1 of 3 images of the stream .*: a.parquet:1; left out"):
        images = stream_of_files(f"hf:{tmp_path}", size=8)
    assert images.names == ("a.parquet:0", "a.parquet:2")
    assert shape_of_stream(f"hf:{tmp_path}") == (10, 3)


def test_nothing_but_damaged_images() -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"image": b"no image"}

    with (
        pytest.warns(SkippedFilesWarning),
        pytest.raises(ValueError, match="expected images in the stream, found 0:0"),
    ):
        stream(datasets.IterableDataset.from_generator(rows), size=8)


class Failing:
    """A source that ends early, or fails, from some time on."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.count = 5

    def __call__(self, shards: list[int]) -> Iterator[dict[str, Any]]:
        for shard in shards:
            for number in range(self.count):
                yield {"image": picture_bytes(5 * shard + number)}
            if self.error is not None and shard == 1:
                raise self.error


def of_source(source: Failing) -> Any:
    def rows(shards: list[int]) -> Iterator[dict[str, Any]]:
        yield from source(shards)

    # Without from_generator's copy of the function, so that it fails when it is told to.
    dataset = datasets.IterableDataset.from_generator(rows, gen_kwargs={"shards": [0, 1, 2]})
    dataset._ex_iterable.generate_examples_fn = lambda shards: enumerate(rows(shards))
    return dataset


def test_a_shard_that_fails_is_left_out() -> None:
    source = Failing()
    source.error = OSError("connection lost")
    said = r"1 of 3 shards of the stream are cut short or damaged: 1 \(with 5 images before the damage\)"
    with pytest.warns(SkippedFilesWarning, match=f"{said}; left out"):
        images = stream(of_source(source), size=8)
    assert len(images) == 10
    assert colors(images) == expected_colors(*range(5), *range(10, 15))
    with pytest.raises(ValueError, match=f"{said}; remove them"):
        stream(of_source(source), size=8, strict=True)
    source.error = RuntimeError("a bug")
    with pytest.raises(RuntimeError, match="a bug"):
        stream(of_source(source), size=8)


def test_a_stream_that_ends_early_says_so_when_it_is_read() -> None:
    source = Failing()
    images = stream(of_source(source), size=8)
    source.count = 3
    assert images.batch([10, 11, 12]).shape[0] == 3
    with pytest.raises(ValueError, match="shard 1 of the stream ends after 3 of the 5 images"):
        images.batch([5, 9])
    source.error = OSError("connection lost")
    with pytest.raises(ValueError, match=r"3 of the 5 images .* \(connection lost\): make it whole"):
        images.batch([5, 9])
    source.error = RuntimeError("a bug")
    with pytest.raises(RuntimeError, match="a bug"):
        images.batch([5, 9])


# Files.


def test_parquet_files_are_shards(tmp_path: Path) -> None:
    write_parquet(tmp_path, 4, 3, 5)
    images = stream_of_files(f"hf:{tmp_path}", size=8)
    assert images.names[:5] == (
        "pets-0.parquet:0",
        "pets-0.parquet:1",
        "pets-0.parquet:2",
        "pets-0.parquet:3",
        "pets-1.parquet:0",
    )
    assert images.classes == ("0", "1")
    assert isinstance(images.pixels, ShardedPixels)
    assert images.pixels.shards == (4, 3, 5)
    assert colors(images) == expected_colors(*range(12))
    assert shape_of_stream(f"hf:{tmp_path}") == (10, 3)
    (alone,) = (stream_of_files(f"hf:{tmp_path}/pets-1.parquet", size=8, label="label"),)
    assert alone.names == ("pets-1.parquet:0", "pets-1.parquet:1", "pets-1.parquet:2")


def saved(root: Path) -> Any:
    whole = datasets.Dataset.from_dict(
        {"image": [picture(number) for number in range(6)], "label": [0, 1] * 3},
        features=datasets.Features(
            {"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])}
        ),
    )
    whole.save_to_disk(str(root), num_shards=2)
    return whole


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    datasets.disable_progress_bars()


@pytest.mark.usefixtures("silent")
def test_saved_data_sets_and_arrow_files(tmp_path: Path) -> None:
    whole = saved(tmp_path / "saved")
    images = stream_of_files(f"hf:{tmp_path}/saved", size=8)
    assert (images.classes, colors(images)) == (("cat", "dog"), expected_colors(*range(6)))
    assert isinstance(images.pixels, ShardedPixels)
    assert images.pixels.shards == (3, 3)
    with pytest.raises(ValueError, match=r"expected no split, because .* has no splits, got split='train'"):
        stream_of_files(f"hf:{tmp_path}/saved", size=8, split="train")
    (tmp_path / "arrow").mkdir()
    for file in (tmp_path / "saved").glob("*.arrow"):
        (tmp_path / "arrow" / file.name).write_bytes(file.read_bytes())
    assert colors(stream_of_files(f"hf:{tmp_path}/arrow", size=8)) == expected_colors(*range(6))
    datasets.DatasetDict({"train": whole, "test": whole}).save_to_disk(str(tmp_path / "parts"))
    with pytest.raises(ValueError, match=r"expected a split of .*, one of train, test, got split=None"):
        open_stream(f"hf:{tmp_path}/parts")
    assert shape_of_stream(f"hf:{tmp_path}/parts", split="test") == (10, 3)
    datasets.DatasetDict({"train": whole}).save_to_disk(str(tmp_path / "part"))
    assert len(stream_of_files(f"hf:{tmp_path}/part", size=8)) == 6


def test_a_file_that_is_cut_short_is_named_and_left_out(tmp_path: Path) -> None:
    write_parquet(tmp_path, 4, 3, 5)
    file = tmp_path / "pets-0.parquet"
    file.write_bytes(file.read_bytes()[:300])
    with pytest.warns(SkippedFilesWarning, match=r"1 of 3 files of hf:.*: pets-0\.parquet; left out"):
        images = stream_of_files(f"hf:{tmp_path}", size=8)
    assert images.skipped == ("pets-0.parquet",)
    assert colors(images) == expected_colors(*range(4, 12))
    with pytest.raises(ValueError, match=r"pets-0\.parquet; remove them"):
        stream_of_files(f"hf:{tmp_path}", size=8, strict=True)
    with pytest.raises(ValueError, match=r"expected whole parquet or arrow files at .*, found only pets-0"):
        open_stream(f"hf:{file}")


@pytest.mark.usefixtures("silent")
def test_an_arrow_file_that_is_cut_inside_is_left_out(tmp_path: Path) -> None:
    saved(tmp_path / "saved")
    (tmp_path / "arrow").mkdir()
    for number, file in enumerate(sorted((tmp_path / "saved").glob("*.arrow"))):
        content = file.read_bytes()
        (tmp_path / f"arrow/{number}.arrow").write_bytes(
            content if number else content[: len(content) * 3 // 4]
        )
    with pytest.warns(SkippedFilesWarning, match=r"cut short or damaged: 0\.arrow"):
        images = stream_of_files(f"hf:{tmp_path}/arrow", size=8)
    assert colors(images) == expected_colors(3, 4, 5)


def test_what_is_no_stream(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected parquet or arrow files at .*nowhere, found none"):
        open_stream(f"hf:{tmp_path}/nowhere")
    write_parquet(tmp_path, 2)
    with pytest.raises(ValueError, match=r"expected no split, because .* has no splits"):
        open_stream(f"hf:{tmp_path}", "train")
    table = pa.table({"x": [1]})
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(ValueError, match=r"expected files of one kind in .*, found parquet and arrow"):
        open_stream(f"hf:{tmp_path}")


def test_names_with_brackets_are_no_patterns(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a[b]*", 2, 2)
    assert len(stream_of_files(f"hf:{tmp_path}/a[b]*", size=8)) == 4


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match=r'pip install "tammes\[images\]", or name a folder or shards'):
        open_stream("hf:pets")
