"""Reader of a stream: rows by shard and position, read forward, with those kept that it has passed."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from PIL import Image

MOST_OPEN = 8
"""Shards that a reader keeps open, each at its place."""

Stored = bytes | Path | Image.Image
"""An image as a stream yields it."""

Row = TypeVar("Row")
"""What is kept of a row: an image that is not decoded, a graph."""


@dataclass(kw_only=True, eq=False, repr=False)
class StreamReader(Generic[Row]):
    """Reads the images or graphs of a stream by shard and position, forward.

    Rows that it passes are kept for a while, since a block of an epoch asks for them in another order.
    A position behind is read from the beginning of its shard again.

    Args:
        dataset: `datasets.IterableDataset` whose images are not decoded.
        of_row: function from a row of the data set to what is kept of it.
        noun: what the rows are, for messages.
        counts: number of rows that each shard had when it was first read.
        capacity: number of rows to keep.
    """

    dataset: Any
    of_row: Callable[[Any], Row]
    noun: str
    counts: tuple[int, ...]
    capacity: int
    process: int = field(default_factory=os.getpid)
    opened: dict[int, tuple[Iterator[Any], int]] = field(default_factory=dict)
    kept: dict[tuple[int, int], Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # At the end of the program, too: a shard that is closed later finds its libraries taken apart.
        weakref.finalize(self, self.opened.clear)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "opened": {}, "kept": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.__post_init__()

    def read(self, places: Sequence[tuple[int, int]]) -> list[Row]:
        """Return the rows at these shards and positions.

        Raises:
            ValueError: If a shard has become shorter.
        """
        if self.process != os.getpid():  # a worker must not share the files that its parent has open
            self.process = os.getpid()
            self.opened.clear()
            self.kept.clear()
        wanted = set(places)
        found = {place: self.kept[place] for place in wanted if place in self.kept}
        for place in sorted(wanted):
            if place not in found:
                self._advance(place, wanted, found)
        return [found[place] for place in places]

    def _advance(
        self,
        place: tuple[int, int],
        wanted: set[tuple[int, int]],
        found: dict[tuple[int, int], Row],
    ) -> None:
        """Read a shard up to a position, and keep what is passed."""
        shard, last = place
        rows, at = self.opened.pop(shard, (None, 0))
        if rows is None or at > last:
            rows, at = rows_of_shard(self.dataset, shard), 0
        for passed in range(at, last + 1):
            stored = self._next(rows, shard, passed)
            self.kept[shard, passed] = stored
            if (shard, passed) in wanted:
                found[shard, passed] = stored
            if len(self.kept) > self.capacity:
                del self.kept[next(iter(self.kept))]
        if last + 1 < self.counts[shard]:
            self.opened[shard] = rows, last + 1
        if len(self.opened) > MOST_OPEN:
            del self.opened[next(iter(self.opened))]

    def _next(self, rows: Iterator[Any], shard: int, position: int) -> Row:
        count, reason = self.counts[shard], ""
        try:
            row = next(rows)
        except StopIteration:
            pass
        except Exception as error:
            if not is_damage(error):
                raise
            reason = f" ({error})"
        else:
            return self.of_row(row)
        raise ValueError(
            f"shard {shard} of the stream ends after {position:,} of the {count:,} {self.noun} that it had "
            f"at the start{reason}: make it whole, and resume"
        )


def is_damage(error: Exception) -> bool:
    """Return whether an error is one that data sets raise where a file is damaged."""
    import pyarrow as pa  # whose errors are not all among Python's

    return isinstance(error, OSError | EOFError | pa.ArrowException)


def rows_of_shard(dataset: Any, number: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of one shard of a stream, in a worker of a DataLoader too.

    There, iterating over the stream itself would deal its shards to the workers, and give none of this one to
    all but the first. Its batches come without that.
    """
    for batch in batches_of_shard(dataset, number, 1):
        yield {name: values[0] for name, values in batch.items()}


def batches_of_shard(dataset: Any, number: int, size: int) -> Iterator[dict[str, Any]]:
    """Return the rows of one shard of a stream, `size` at a time."""
    return dataset.shard(num_shards=dataset.num_shards, index=number).iter(size)


def stored_image_of(column: str, row: Any) -> Stored:
    """Return the image of a row of a data set; see `stored_image`."""
    return stored_image(row[column])


def stored_image(value: Any) -> Stored:
    """Return an image as a data set stores it: of Pillow, as bytes, or at a path; no bytes for none.

    No bytes are a damaged image, so that one that is missing is left out by its name.

    Raises:
        ValueError: If it is something else.
    """
    if isinstance(value, dict):
        content, path = value.get("bytes"), value.get("path")
        value = content if content is not None else Path(path) if path else None
    if value is None:
        return b""
    if not isinstance(value, bytes | Path | Image.Image):
        raise ValueError(
            "expected an image of Pillow, its bytes, or a mapping of bytes and path in the stream, got "
            f"{type(value).__name__}"
        )
    return value
