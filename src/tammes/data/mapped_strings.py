"""Strings in a file that is mapped into memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MappedStrings(Sequence[str]):
    """Strings in a file that is mapped into memory: the system keeps in memory what is used.

    Args:
        folder: folder of the cache.
        name: name of the two files: the strings one after the other in UTF-8, and the end of each.
        total: number of strings in the file.
        rows: numbers of the strings that these are; None for all of the file.
    """

    folder: Path
    name: str
    total: int
    rows: np.ndarray | None = None

    @cached_property
    def ends(self) -> np.ndarray:
        """Ends of the strings in bytes, int64 (total,)."""
        return _mapped(self.folder / f"{self.name}.ends", np.int64, self.total)

    @cached_property
    def content(self) -> np.ndarray:
        """The whole file as uint8."""
        return _mapped(self.folder / f"{self.name}.utf8", np.uint8, int(self.ends[-1]))

    def __getstate__(self) -> dict[str, Any]:
        # Processes that are sent the strings map the files themselves.
        return {name: value for name, value in vars(self).items() if name not in ("ends", "content")}

    def __len__(self) -> int:
        return self.total if self.rows is None else len(self.rows)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[row] for row in range(*place.indices(len(self)))]
        row = range(len(self))[place]
        row = row if self.rows is None else int(self.rows[row])
        start = int(self.ends[row - 1]) if row else 0
        return self.content[start : int(self.ends[row])].tobytes().decode("utf-8", "surrogatepass")

    def take(self, rows: Sequence[int]) -> MappedStrings:
        """Return the strings of these rows, in this order, from the same files."""
        wanted = np.asarray(rows, np.int64)
        taken = replace(self, rows=wanted if self.rows is None else self.rows[wanted])
        vars(taken).update({name: vars(self)[name] for name in ("ends", "content") if name in vars(self)})
        return taken

    def __repr__(self) -> str:
        return f"MappedStrings({len(self)} strings)"


def _mapped(path: Path, kind: type[np.generic], count: int) -> np.ndarray:
    # Shared and for reading only, so that the system does not count the file as memory of the process.
    return np.memmap(path, kind, "r", shape=(count,)).view(np.ndarray)
