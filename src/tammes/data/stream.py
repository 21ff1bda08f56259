"""Images of Hugging Face data sets in streaming mode: read forward, each shard from its beginning."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import UInt8
from PIL import Image
from torch import Tensor

from tammes.checks import check_integer
from tammes.data.image_files import MAX_PIXELS, as_pixels, decode, decoded
from tammes.data.images import Images
from tammes.data.labels import NO_CLASS, labels_of_numbers
from tammes.data.listing import listing, printable, warn_of_skipped
from tammes.data.shards import BUFFER
from tammes.data.stream_reader import (
    Stored,
    StreamReader,
    batches_of_shard,
    is_damage,
    rows_of_shard,
    stored_image,
    stored_image_of,
)

IMAGE_COLUMNS = ("image", "img")
"""Usual names of the column of images."""
LABEL_COLUMN = "label"
LABELS_AT_A_TIME = 10_000


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StreamPixels:
    """Pixels of a stream, which are read quickly in the order of `ShardOrder` only.

    Args:
        reader: reader of the stream, with its place in it.
        places: int64 (n, 2), shard and position of each image.
        names: name of each image, for messages.
        channels: 1 (gray) or 3 (red, green, blue).
        size: height and width to scale to, in pixels.
        buffer: images that an epoch mixes with each other; see `ShardedPixels`.
        digest: checksum of the files of the stream; empty if they are not known.
    """

    reader: StreamReader[Stored]
    places: np.ndarray
    names: tuple[str, ...]
    channels: int
    size: int
    buffer: int
    digest: str = ""

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, row: int) -> UInt8[Tensor, "channels size size"]:
        return self.batch([row])[0]

    @property
    def shards(self) -> tuple[int, ...]:
        """Number of images of each shard, or of each run of images of one shard."""
        ends = np.flatnonzero(np.diff(self.places[:, 0])) + 1
        return tuple(np.diff([0, *ends, len(self)]).tolist())

    def batch(self, rows: Sequence[int]) -> UInt8[Tensor, "batch channels size size"]:
        """Return the pixels of these rows."""
        found = self.reader.read([(shard, at) for shard, at in self.places[list(rows)].tolist()])
        return torch.stack([self._pixels(row, stored) for row, stored in zip(rows, found, strict=True)])

    def take(self, rows: Sequence[int]) -> StreamPixels:
        """Return the pixels of these rows, in this order, read by the same reader."""
        places = self.places[np.asarray(rows, np.int64)].reshape(-1, 2)
        return replace(self, places=places, names=tuple(self.names[row] for row in rows))

    def _pixels(self, row: int, stored: Stored) -> UInt8[Tensor, "channels size size"]:
        if isinstance(stored, Image.Image):
            return as_pixels(stored, size=self.size, channels=self.channels)
        return decode(stored, size=self.size, channels=self.channels, name=self.names[row])


def stream(
    dataset: Any,
    *,
    size: int,
    channels: int = 3,
    image: str | None = None,
    label: str | None = None,
    shard_names: Sequence[str] | None = None,
    buffer: int = BUFFER,
    strict: bool = False,
    unchecked: bool = False,
) -> Images:
    """Load the images of a Hugging Face data set in streaming mode.

    The stream is read once here, for the number of its images, their labels, and the damaged ones among them;
    afterwards forward in each epoch. Nothing but names and labels is held in memory, and up to 2 `buffer`
    images that are not decoded yet.

    Args:
        dataset: `datasets.IterableDataset`, whose shards come in the same order each time: not shuffled.
        size: height and width of the images in pixels: the shorter side is scaled to it, the longer
            cropped to its center.
        channels: number of channels, 1 (gray) or 3 (red, green, blue).
        image: name of the column of images; None for image or img. An image is one of Pillow's, its bytes, or
            a mapping of bytes and path.
        label: name of the column with the number or name of the class; None for label, if it is there. An
            image whose label is null or empty, or -1 where the column has names of classes, has none.
        shard_names: name of each shard; by default its number.
        buffer: number of images that are mixed with each other in an epoch, after the order of the shards.
        strict: whether a damaged shard or image is an error.
        unchecked: whether images are not decoded here: one that is damaged is then an error when it is read.

    Raises:
        ValueError: If a column is missing, there is no image, a number names no class, or labels are there
            for some images only; if `strict`, and something would be left out.

    Warns:
        SkippedFilesWarning: If shards or images were left out; `skipped` of the result has their names.

    Example:
        >>> import datasets
        >>> pictures = [Image.new("RGB", (40, 30)), Image.new("RGB", (20, 30))]
        >>> whole = datasets.Dataset.from_dict({"image": pictures, "label": ["cat", "dog"]})
        >>> images = stream(whole.to_iterable_dataset(num_shards=2), size=16)
        >>> images, images.names, images.classes
        (Images(2 images, 3x16x16, 2 classes), ('0:0', '1:0'), ('cat', 'dog'))
    """
    check_integer("size", size, reason="it is the height and width in pixels")
    check_integer("buffer", buffer, reason="it counts the images that are mixed with each other")
    if channels not in (1, 3):
        raise ValueError(f"channels must be 1 (gray) or 3 (red, green, blue), got {channels}")
    columns = column_names(dataset)
    image = image_column(image, columns)
    if label is None and LABEL_COLUMN in columns:
        label = LABEL_COLUMN
    if label is not None and label not in columns:
        raise ValueError(f"expected a column {label!r} in the stream, found {listing(columns)}")
    dataset = encoded_images(dataset, image)
    shard_names = shard_names or [str(number) for number in range(dataset.num_shards)]

    index = _Index()
    cut = index.read(dataset, image, label, shard_names, unchecked=unchecked)
    message = f"{len(cut)} of {len(shard_names)} shards of the stream are cut short or damaged"
    warn_of_skipped(message, cut, strict=strict)
    damaged = [f"{shard_names[shard]}:{position}" for shard, position in index.damaged]
    message = (
        f"{len(damaged)} of {sum(index.counts)} images of the stream cannot be read as images of at most "
        f"{MAX_PIXELS:,} pixels"
    )
    warn_of_skipped(message, damaged, strict=strict)
    places, numbers = index.whole()
    if not len(places):
        raise ValueError(f"expected images in the stream, found {listing(damaged) or 'none'}")
    names = tuple(
        f"{shard}:{position}"
        for number, shard in enumerate(printable(shard_names))
        for position in places[slice(*np.searchsorted(places[:, 0], (number, number + 1))), 1].tolist()
    )
    reader = StreamReader(
        dataset=dataset.select_columns([image]),
        of_row=partial(stored_image_of, image),
        noun="images",
        counts=tuple(index.counts),
        capacity=2 * buffer,
    )
    classes, labels = labels_of_numbers(numbers, list(index.classes), names)
    return Images(
        pixels=StreamPixels(
            reader=reader,
            places=places,
            names=names,
            channels=channels,
            size=size,
            buffer=buffer,
        ),
        names=names,
        labels=labels,
        classes=classes,
        skipped=printable([*cut, *damaged]),
    )


@dataclass(kw_only=True)
class _Index:
    """What the first reading finds, in some bytes for each image.

    Args:
        counts: number of images of each shard; 0 for one that is not whole.
        damaged: shard and position of the images that cannot be decoded.
        numbers: number of the class of each image, in the order of the shards.
        classes: number of each class by its name, in the order in which they are found.
    """

    counts: list[int] = field(default_factory=list)
    damaged: list[tuple[int, int]] = field(default_factory=list)
    numbers: array[int] = field(default_factory=lambda: array("q"))
    classes: dict[str, int] = field(default_factory=dict)

    def read(
        self, dataset: Any, image: str, label: str | None, names: Sequence[str], *, unchecked: bool
    ) -> list[str]:
        """Read the whole stream, and return the names of the shards that are not whole."""
        cut: list[str] = []
        needed = [*([] if unchecked and label is not None else [image]), *([] if label is None else [label])]
        selected = dataset.select_columns(needed)
        classes = getattr((dataset.features or {}).get(label), "names", None)
        for shard, name in enumerate(names):
            numbers, damaged = array("q"), []
            try:
                rows = _rows(selected, shard, alone=label if unchecked else None)
                for position, row in enumerate(rows):
                    if not unchecked and not _is_whole(row[image]):
                        damaged.append((shard, position))
                    where = f"{name}:{position}"
                    named = None if label is None else _class_name(row[label], classes, where)
                    numbers.append(NO_CLASS if named is None else self._number_of(named))
            except Exception as error:
                if not is_damage(error):
                    raise
                images = "1 image" if len(numbers) == 1 else f"{len(numbers):,} images"
                cut.append(f"{name} (with {images} before the damage)")
                self.counts.append(0)
                continue
            self.counts.append(len(numbers))
            self.numbers.extend(numbers)
            self.damaged += damaged
        return cut

    def _number_of(self, name: str) -> int:
        return self.classes.setdefault(name, len(self.classes))

    def whole(self) -> tuple[np.ndarray, Tensor]:
        """Return shard and position, int64 (n, 2), and the class number of the images that are whole."""
        shards = np.repeat(np.arange(len(self.counts)), self.counts)
        starts = np.cumsum(self.counts) - self.counts
        places = np.stack([shards, np.arange(len(shards)) - starts[shards]], axis=1)
        is_whole = np.ones(len(shards), bool)
        is_whole[[starts[shard] + position for shard, position in self.damaged]] = False
        numbers = np.frombuffer(self.numbers, np.int64) if self.numbers else np.zeros(0, np.int64)
        return places[is_whole], torch.from_numpy(numbers[is_whole])


def _rows(dataset: Any, shard: int, *, alone: str | None) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a shard; those of one column `alone` are read many at a time."""
    if alone is None:
        yield from rows_of_shard(dataset, shard)
    else:
        for batch in batches_of_shard(dataset, shard, LABELS_AT_A_TIME):
            for value in batch[alone]:
                yield {alone: value}


def column_names(dataset: Any) -> list[str]:
    """Return the names of the columns; of a stream that does not know them, those of its first row."""
    return list(dataset.column_names or next(iter(dataset), {}))


def image_column(image: str | None, columns: Sequence[str]) -> str:
    """Return the name of the column of images: the one that is wanted, or the usual one that is there."""
    wanted = IMAGE_COLUMNS if image is None else (image,)
    for name in wanted:
        if name in columns:
            return name
    hint = "" if image is not None or not columns else "; name another with image='NAME'"
    raise ValueError(
        f"expected a column {' or '.join(map(repr, wanted))} in the stream, "
        f"found {listing(columns) or 'none'}{hint}"
    )


def encoded_images(dataset: Any, image: str) -> Any:
    """Return the stream with the bytes of its images, which are not decoded, if it knows that they are."""
    import datasets

    if isinstance((dataset.features or {}).get(image), datasets.Image):
        return dataset.cast_column(image, datasets.Image(decode=False))
    return dataset


def _class_name(value: Any, classes: Sequence[str] | None, where: str) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"expected the name or number of a class at {where} of the stream, got {value!r}")
    if classes is None or isinstance(value, str):
        return str(value)
    if value == NO_CLASS:  # as `datasets` writes a row without a label
        return None
    if not 0 <= value < len(classes):
        raise ValueError(
            f"expected the number of a class from 0 to {len(classes) - 1}, or -1 for none, at {where} of the "
            f"stream, got {value}"
        )
    return classes[value]


def _is_whole(value: Any) -> bool:
    stored = stored_image(value)
    return isinstance(stored, Image.Image) or decoded(stored, size=1, channels=1) is not None
