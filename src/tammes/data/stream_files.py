"""Streams of images from files on this machine: parquet, arrow, and data sets that `datasets` has saved."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from PIL import Image

from tammes.data.file_digest import files_digest
from tammes.data.folder import SAMPLE, judged_shape
from tammes.data.images import Images
from tammes.data.listing import files_below, listing, printable, warn_of_skipped
from tammes.data.shards import BUFFER
from tammes.data.stream import StreamPixels, column_names, encoded_images, image_column, stream
from tammes.data.stream_reader import is_damage, stored_image
from tammes.data.tables import is_saved_data_set

PREFIX = "hf:"
"""Beginning of the name of a stream on the command line; the path of its files follows."""
KINDS = {".parquet": "parquet", ".arrow": "arrow"}
"""What `datasets` calls the files of these suffixes."""
ROWS_AT_A_TIME = 256
"""Rows of a parquet file that are read together."""
PIECES = 16
"""Pieces of each file by which a resumed run recognizes it."""


@dataclass(frozen=True, kw_only=True)
class StreamFiles:
    """Files of a stream, each of which is a shard.

    Args:
        dataset: `datasets.IterableDataset`.
        names: name of each shard.
        files: the files, in the order of the shards.
        cut: names of the files that cannot be opened.
    """

    dataset: Any
    names: tuple[str, ...]
    files: tuple[Path, ...]
    cut: tuple[str, ...] = ()


def is_stream(data: str) -> bool:
    """Return whether the name of data is that of a stream.

    Example:
        >>> is_stream("hf:pets/train"), is_stream("pets/train")
        (True, False)
    """
    return data.startswith(PREFIX)


def stream_of_files(
    data: str,
    *,
    size: int,
    channels: int = 3,
    image: str | None = None,
    label: str | None = None,
    split: str | None = None,
    buffer: int = BUFFER,
    strict: bool = False,
    unchecked: bool = False,
) -> Images:
    """Load the images of a stream of files; see `stream`.

    Args:
        data: `hf:` and the path of a parquet or arrow file, of a folder of such files, or of a data set that
            `datasets` has saved.
        size: height and width of the images in pixels.
        channels: number of channels, 1 (gray) or 3 (red, green, blue).
        image: name of the column of images; None for image or img.
        label: name of the column with the number or name of the class; None for label, if it is there.
        split: part of a saved data set that has several.
        buffer: number of images that are mixed with each other in an epoch, after the order of the files.
        strict: whether a damaged file or image is an error.
        unchecked: whether images are not decoded here.

    Raises:
        ValueError: If there is no such file, or what `stream` refuses.
        ImportError: If `datasets` is not installed.

    Warns:
        SkippedFilesWarning: If files or images were left out.
    """
    found = open_stream(data, split)
    total = len(found.names) + len(found.cut)
    message = f"{len(found.cut)} of {total} files of {data} are cut short or damaged"
    warn_of_skipped(message, found.cut, strict=strict)
    images = stream(
        found.dataset,
        size=size,
        channels=channels,
        image=image,
        label=label,
        shard_names=found.names,
        buffer=buffer,
        strict=strict,
        unchecked=unchecked,
    )
    assert isinstance(images.pixels, StreamPixels)
    pixels = replace(images.pixels, digest=files_digest(found.files, pieces=PIECES))
    return replace(images, pixels=pixels, skipped=(*printable(found.cut), *images.skipped))


def open_stream(data: str, split: str | None = None) -> StreamFiles:
    """Open the files of a stream.

    Raises:
        ValueError: If there is no such file, or no such split.
        ImportError: If `datasets` is not installed.
    """
    try:
        import datasets
    except ImportError as error:
        raise ImportError(
            f'{data} is read by the package datasets: pip install "tammes[images]", or name a folder or '
            "shards"
        ) from error
    place = Path(data.removeprefix(PREFIX))
    if is_saved_data_set(place):
        whole = _part(datasets.load_from_disk(str(place)), data, split)
        count = max(1, len(whole.cache_files))
        names = tuple(str(number) for number in range(count))
        return StreamFiles(
            dataset=whole.to_iterable_dataset(num_shards=count),
            names=names,
            files=tuple(Path(file["filename"]) for file in whole.cache_files),
        )
    if split is not None:
        raise ValueError(f"expected no split, because {data} has no splits, got split={split!r}")
    files = _files(place)
    whole_files = [file for file in files if _opens(file)]
    cut = tuple(_name(file, place) for file in files if file not in whole_files)
    if not whole_files:
        raise ValueError(f"expected whole parquet or arrow files at {place}, found only {listing(cut)}")
    kinds = {KINDS[file.suffix.lower()] for file in files}
    if len(kinds) > 1:
        raise ValueError(f"expected files of one kind in {place}, found parquet and arrow")
    paths = [str(file.resolve()) for file in whole_files]
    (kind,) = kinds
    if kind == "parquet":
        dataset = _parquet(paths)
    else:
        paths = [glob.escape(path) for path in paths]
        dataset = datasets.load_dataset(kind, data_files=paths, split="train", streaming=True)
    names = tuple(_name(file, place) for file in whole_files)
    return StreamFiles(dataset=dataset, names=names, files=tuple(whole_files), cut=cut)


def _parquet(files: list[str]) -> Any:
    """Return the stream of the rows of parquet files, which pyarrow opens itself.

    `datasets` hands it files of Python, which a thread of pyarrow may let go of when the program has ended
    already; the program is aborted then (github.com/huggingface/datasets/issues/7566).
    """
    import datasets
    import pyarrow.parquet as pq
    from datasets.iterable_dataset import ArrowExamplesIterable

    features = datasets.Features.from_arrow_schema(pq.read_schema(files[0]))
    return datasets.IterableDataset(
        ArrowExamplesIterable(_tables, {"files": files, "schema": features.arrow_schema}),
        info=datasets.DatasetInfo(features=features),
    )


def _tables(files: Sequence[str], schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield some rows of the files at a time, each with a key, as tables of one schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from datasets.table import table_cast

    for path in files:
        with pq.ParquetFile(path) as file:
            for number, batch in enumerate(file.iter_batches(ROWS_AT_A_TIME, use_threads=False)):
                yield f"{path}:{number}", table_cast(pa.Table.from_batches([batch]), schema)


def _part(found: Any, data: str, split: str | None) -> Any:
    if not isinstance(found, dict):
        if split is not None:
            raise ValueError(f"expected no split, because {data} has no splits, got split={split!r}")
        return found
    if split is None and len(found) == 1:
        (split,) = found
    if split not in found:
        raise ValueError(f"expected a split of {data}, one of {listing(list(found))}, got split={split!r}")
    return found[split]


def _files(place: Path) -> Sequence[Path]:
    names = files_below(place)[0] if place.is_dir() else []
    files = [place / name for name in names] or [place]
    files = [file for file in files if file.suffix.lower() in KINDS and file.is_file()]
    if not files:
        raise ValueError(f"expected parquet or arrow files at {place}, found none")
    return files


def _name(file: Path, place: Path) -> str:
    return file.relative_to(place).as_posix() if file != place else file.name


def _opens(file: Path) -> bool:
    """Return whether the columns of a file can be read, which of a parquet file are at its end."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if KINDS[file.suffix.lower()] == "parquet":
            pq.read_schema(file)
        else:
            with pa.OSFile(str(file)) as source:
                pa.ipc.open_stream(source).close()
    except Exception as error:
        if not is_damage(error):
            raise
        return False
    return True


def shape_of_stream(
    data: str, *, image: str | None = None, split: str | None = None, largest: int | None = None
) -> tuple[int, Literal[1, 3]]:
    """Return the size and the channels that suit the images of a stream of files, judged by the first 128.

    Args:
        data: `hf:` and a path.
        image: name of the column of images; None for image or img.
        split: part of a saved data set that has several.
        largest: largest size in pixels; None for 64.
    """
    dataset = open_stream(data, split).dataset
    column = image_column(image, column_names(dataset))

    def sources() -> Iterator[bytes | Path]:
        for row in islice(encoded_images(dataset, column), SAMPLE):
            stored = stored_image(row[column])
            assert not isinstance(stored, Image.Image)  # files hold bytes or paths
            yield stored

    return judged_shape(sources(), largest=largest)
