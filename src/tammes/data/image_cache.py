"""Images decoded once into one file, which batches are read from through a memory map."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from tammes.data.cache_files import check_cache, check_room, locked, remove_old, write_whole

FORMAT = "tammes images 1"
"""Name and version of the format: a cache of another one is made anew."""
PIXELS, DESCRIPTION = "pixels.bin", "cache.json"
MOST_THREADS = 8
# Images of each thread that are held in memory until they are written.
TOGETHER = 32

SourceFile = tuple[str, int, int]
"""Name of a file that images come from, its size in bytes, and its last change in nanoseconds."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MappedPixels:
    """Pixels in a file that is mapped into memory: the system keeps in memory what is used.

    Args:
        file: path of the file, which holds the pixels of all images one after the other.
        count: number of images in the file.
        channels: 1 (gray) or 3 (red, green, blue).
        size: height and width in pixels.
        rows: numbers of the images that these are; None for all of the file.
    """

    file: Path
    count: int
    channels: int
    size: int
    rows: np.ndarray | None = None

    @cached_property
    def array(self) -> np.ndarray:
        """The whole file as uint8 (count, channels, size, size)."""
        # Shared and for reading only, so that the system does not count the file as memory of the process.
        shape = self.count, self.channels, self.size, self.size
        return np.memmap(self.file, np.uint8, "r", shape=shape).view(np.ndarray)

    def __getstate__(self) -> dict[str, Any]:
        # Processes that are sent the pixels map the file themselves.
        return {name: value for name, value in vars(self).items() if name != "array"}

    def __len__(self) -> int:
        return self.count if self.rows is None else len(self.rows)

    def __getitem__(self, row: int) -> UInt8[Tensor, "channels size size"]:
        return self.batch([row])[0]

    def batch(self, rows: Sequence[int]) -> UInt8[Tensor, "batch channels size size"]:
        """Return the pixels of these rows, copied from the file."""
        return torch.from_numpy(self.array[self._places(rows)])

    def take(self, rows: Sequence[int]) -> MappedPixels:
        """Return the pixels of these rows, in this order, from the same file."""
        taken = replace(self, rows=self._places(rows))
        vars(taken)["array"] = self.array
        return taken

    def _places(self, rows: Sequence[int]) -> np.ndarray:
        wanted = np.asarray(rows, np.int64)
        return wanted if self.rows is None else self.rows[wanted]


@dataclass(frozen=True, kw_only=True, eq=False)
class CachedImages:
    """Content of a cache.

    Args:
        pixels: pixels of all images that could be decoded, in their order.
        damaged: numbers of the images that could not be decoded.
    """

    pixels: MappedPixels
    damaged: frozenset[int]


def cache_place(cache: str | Path, source: str | Path, *, channels: int, size: int) -> Path:
    """Return the folder within a cache for the images of a source, at one size.

    The same source has the same folder after it has changed, so that its old images are replaced.
    """
    name = Path(source).resolve()
    digest = hashlib.sha256(f"{name}\0{channels}\0{size}".encode(errors="surrogateescape")).hexdigest()
    return check_cache(cache) / f"{name.name}-{digest[:12]}"


def cached(
    place: Path,
    files: Sequence[SourceFile],
    decode: Callable[[int], Tensor | None],
    *,
    count: int,
    channels: int,
    size: int,
) -> CachedImages:
    """Open the images that were decoded into a folder before, or decode them into it.

    They are decoded if the folder does not hold them, or holds those of other files, sizes of files, times of
    change, size in pixels, channels, or version of the format. The description is written last, and what is
    not described is not used: a kill leaves nothing that would be taken for whole. Of several processes one
    decodes, and the others wait for it.

    Args:
        place: the folder, which is created.
        files: files that the images come from; they decide whether the cache is still valid.
        decode: function that returns the pixels of an image by its number, or None if it is damaged; called
            from several threads.
        count: number of images.
        channels: 1 (gray) or 3 (red, green, blue).
        size: height and width in pixels.

    Raises:
        ValueError: If the disk has less room than the images need, before any of them is decoded.
        OSError: If the folder cannot be written to.

    Example:
        >>> import tempfile
        >>> pixels = torch.arange(12, dtype=torch.uint8).view(3, 1, 2, 2)
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for _ in range(2):
        ...         found = cached(Path(root), [("a.tar", 512, 1)], lambda i: pixels[i] if i else None,
        ...             count=3, channels=1, size=2)
        ...     len(found.pixels), found.damaged, found.pixels[1].flatten().tolist()
        (2, frozenset({0}), [8, 9, 10, 11])
    """
    bytes_each = channels * size * size
    description = {"format": FORMAT, "channels": channels, "size": size, "count": count, "files": list(files)}
    # Without the lock first: a cache in a folder that cannot be written to serves as well.
    damaged = _described(place, description, bytes_each)
    if damaged is None:
        place.mkdir(parents=True, exist_ok=True)
        with locked(place):
            damaged = _described(place, description, bytes_each)
            if damaged is None:
                damaged = _make(place, description, decode, bytes_each)
    whole = count - len(damaged)
    pixels = MappedPixels(file=place / PIXELS, count=whole, channels=channels, size=size)
    if whole:
        _ = pixels.array  # mapped now, the file stays readable even if another process replaces it
    return CachedImages(pixels=pixels, damaged=frozenset(damaged))


def _described(place: Path, wanted: dict[str, Any], bytes_each: int) -> list[int] | None:
    """Return the numbers of the damaged images of a whole and current cache, or None if there is none."""
    try:
        found = json.loads((place / DESCRIPTION).read_text(encoding="ascii"))
        damaged = found.pop("damaged")
        expected = json.loads(json.dumps(wanted))
        if found != expected or not all(type(row) is int for row in damaged):
            return None
        whole = wanted["count"] - len(damaged)
        return damaged if (place / PIXELS).stat().st_size == whole * bytes_each else None
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return None


def _make(
    place: Path,
    description: dict[str, Any],
    decode: Callable[[int], Tensor | None],
    bytes_each: int,
) -> list[int]:
    """Decode all images into the folder, and return the numbers of those that are damaged."""
    remove_old(place, (DESCRIPTION, PIXELS))  # in this order: what is not described is not used
    count = description["count"]
    needed = count * bytes_each
    check_room(place, needed, what=f"{count:,} decoded images", instead="choose a smaller size")
    damaged: list[int] = []
    write_whole(place / PIXELS, _decoded_rows(count, decode, damaged))
    text = json.dumps({**description, "damaged": damaged})
    write_whole(place / DESCRIPTION, [text.encode("ascii")])
    return damaged


def _decoded_rows(
    count: int, decode: Callable[[int], Tensor | None], damaged: list[int]
) -> Iterator[bytes | memoryview]:
    """Yield the pixels of each image as bytes, and note the numbers of those that are damaged."""
    threads = min(MOST_THREADS, torch.get_num_threads())
    with ThreadPoolExecutor(threads) as pool:  # Pillow decodes without the interpreter's lock
        for start in range(0, count, threads * TOGETHER):
            rows = range(start, min(start + threads * TOGETHER, count))
            for row, pixels in zip(rows, pool.map(decode, rows), strict=True):
                if pixels is None:
                    damaged.append(row)
                else:
                    yield pixels.contiguous().numpy().data
