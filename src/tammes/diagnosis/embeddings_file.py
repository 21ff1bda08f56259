"""Embeddings of a file with the columns beside them, read in blocks."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tammes.checks import nearest
from tammes.diagnosis.formats import Opened, opened, some_of

IN_MEMORY = 2**33
"""Bytes of embeddings that are kept in memory; more are kept in a temporary file, mapped into memory."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Embeddings:
    """Embeddings with columns beside them.

    Args:
        vectors: (n, dim) array in float32, which nothing else uses.
        rows: number of each row in the file.
        columns: columns beside the embeddings, by name.
        name: column or array that the embeddings come from.
        dropped: rows left out because they are not finite or have length zero.
    """

    vectors: NDArray[np.float32]
    rows: NDArray[np.int64]
    columns: Mapping[str, NDArray[Any]]
    name: str
    dropped: int = 0


def read_embeddings(
    path: Path, *, vectors: str | None = None, columns: Sequence[str] = (), drop: bool = False
) -> Embeddings:
    """Read the embeddings of a file, and some of its columns.

    The embeddings are a list column or numeric columns of a table (.parquet, .csv, .tsv), or a matrix of
    arrays (.npy, .npz, .safetensors). A folder of a run has them in `embeddings.parquet` or the like.

    Args:
        path: path of the file, or folder of a run.
        vectors: name of the list column or array; None chooses the only one, or a usual name among several.
        columns: names of columns to read beside them; those of the table that are not there are refused.
        drop: whether rows with NaN or infinity, and rows of length zero, are left out instead of refused.

    Raises:
        ValueError: no numeric matrix, several and none named, a missing column, rows of different length,
            rows that are not finite or have length zero, or a file that is none of these formats.
        OSError: the file cannot be read.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "e.npz")
        ...     np.savez(file, features=np.eye(3), label=np.array([0, 1, 1]))
        ...     read_embeddings(file, columns=["label"]).columns["label"].tolist()
        [0, 1, 1]
    """
    columns = tuple(dict.fromkeys(columns))  # one column may hold both the labels and the names of the rows
    file = opened(path, vectors, columns)
    missing = [name for name in columns if name not in file.columns]
    if missing:
        others = some_of(file.columns) or "no columns"
        meant = nearest(missing[0], file.columns)
        unfit = f", and of another length {some_of(file.others)}" if file.others else ""
        raise ValueError(
            f"expected a column {missing[0]} in {path}, which has {others} beside the embeddings {file.name}"
            f"{unfit}{'' if meant is None else f': did you mean {meant}?'}"
        )
    rows, found = _all(file, columns)
    return Embeddings(name=file.name, **_usable(path, rows, found, drop))


def _all(file: Opened, columns: Sequence[str]) -> tuple[NDArray[np.float32], dict[str, NDArray[Any]]]:
    """Return all rows, and the columns."""
    kept: dict[str, list[NDArray[Any]]] = {name: [] for name in columns}
    if file.count is None:
        vectors = _spooled(file, columns, kept)
    else:
        vectors = _room(file.count, file.dim)
        start = 0
        for block, beside in file.blocks(columns):
            vectors[start : start + len(block)] = block
            start += len(block)
            _keep(kept, beside)
    if len(vectors) == 0:
        raise ValueError(f"expected rows in {file.path}, which has none")
    return vectors, {name: np.concatenate(parts) for name, parts in kept.items()}


def _keep(kept: dict[str, list[NDArray[Any]]], beside: Mapping[str, NDArray[Any]]) -> None:
    for name, part in beside.items():
        kept[name].append(part)


def _spooled(
    file: Opened, columns: Sequence[str], kept: dict[str, list[NDArray[Any]]]
) -> NDArray[np.float32]:
    """Return rows whose number is known only at the end: they go into a temporary file, in blocks."""
    # The map of a file outlives it: the space is free again when the array goes.
    with tempfile.TemporaryFile() as spool:
        for block, beside in file.blocks(columns):
            spool.write(np.ascontiguousarray(block, dtype=np.float32).tobytes())
            _keep(kept, beside)
        spool.flush()
        if spool.tell() == 0:
            return np.empty((0, file.dim), np.float32)
        return np.memmap(spool, dtype=np.float32, mode="r+").reshape(-1, file.dim)


def _room(count: int, dim: int) -> NDArray[np.float32]:
    if count * dim * 4 <= IN_MEMORY:
        return np.empty((count, dim), np.float32)
    with tempfile.TemporaryFile() as spool:
        return np.memmap(spool, dtype=np.float32, mode="w+", shape=(count, dim))


def _usable(
    path: Path, vectors: NDArray[np.float32], columns: Mapping[str, NDArray[Any]], drop: bool
) -> dict[str, Any]:
    """Refuse rows that have no direction, or leave them out."""
    largest = np.concatenate(
        [np.abs(vectors[start : start + 65_536]).max(axis=1) for start in range(0, len(vectors), 65_536)]
    )
    finite, zero = np.isfinite(largest), largest == 0
    bad = ~finite | zero
    rows = np.arange(len(vectors))
    if bad.any():
        check_usable(str(path), finite, zero, drop)
        kept = ~bad
        vectors, rows = vectors[kept], rows[kept]
        columns = {name: values[kept] for name, values in columns.items()}
    return {"vectors": vectors, "rows": rows, "columns": dict(columns), "dropped": int(bad.sum())}


def check_usable(place: str, finite: NDArray[np.bool_], zero: NDArray[np.bool_], drop: bool) -> None:
    """Raise ValueError for rows that are not finite or of length zero, unless they may be dropped.

    Args:
        place: what has the rows, for the message.
        finite: whether each row is finite.
        zero: whether each row has length zero.
        drop: whether these rows may be left out; all of them may not.

    Example:
        >>> check_usable("e.npy", np.array([True, False]), np.array([False, False]), drop=False)
        Traceback (most recent call last):
            ...
        ValueError: 1 of 2 rows of e.npy has NaN or infinity (row 1); leave such rows out with drop=True
    """
    bad = ~finite | zero
    if not bad.any() or (drop and not bad.all()):
        return
    parts: list[str] = []
    for flags, words in ((~finite, "NaN or infinity"), (zero, "length zero")):
        count = int(flags.sum())
        if count:
            shown = ", ".join(str(row) for row in np.nonzero(flags)[0][:5])
            more = ", ..." if count > 5 else ""
            of = f"{count:,} of {len(flags):,} rows of {place} " if not parts else f"{count:,} "
            rows = "row" if count == 1 else "rows"
            parts.append(f"{of}{'has' if count == 1 else 'have'} {words} ({rows} {shown}{more})")
    end = "no row is left" if bad.all() else "leave such rows out with drop=True"
    raise ValueError(f"{' and '.join(parts)}; {end}")
