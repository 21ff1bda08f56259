"""Tables of embeddings: parquet and comma-separated values, with a list column or numeric columns."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tammes.checks import is_numeral
from tammes.diagnosis.formats import Block, Opened, chosen

ROWS = 8_192
"""Rows of a block of a parquet file."""
BYTES = 2**24
"""Bytes of a block of comma-separated values."""
NO_VECTOR = frozenset({"id", "index", "row", "label", "labels", "class", "target", "y", "split", "pair"})
"""Names of numeric columns that are no coordinates."""
IN_NAMES = frozenset({"id", "label", "labels", "class", "split"})
"""Words of longer names that are no coordinates, unless they are numbered."""
NUMBERED = re.compile(r"(.*?)\d+")
"""Names of coordinates, with what they have in common."""
SHOWN = 8
"""Coordinates that a page names one by one; of more, the first and the last."""
INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
"""Names that pandas gives to the numbers of rows in a file, the empty one among them."""


def parquet(path: Path, vectors: str | None, beside: Sequence[str] = ()) -> Opened:
    """Open a parquet file.

    Args:
        path: path of the file.
        vectors: name of the list column; None chooses.
        beside: columns of numbers that are no coordinates.

    Raises:
        ValueError: no parquet file, or no list column and no numeric columns.
    """
    try:
        file = pq.ParquetFile(path, memory_map=True, buffer_size=BYTES)
    except pa.ArrowInvalid as error:
        raise ValueError(f"expected a parquet file at {path}: {error}") from error
    schema = file.schema_arrow
    _check_columns(path, schema)
    lists = [field.name for field in schema if _is_list(field.type)]
    count = file.metadata.num_rows
    coordinates = _coordinates(schema, beside) if vectors is None and not lists else []
    name = _name(path, schema, lists, coordinates, vectors)

    def batches(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        try:
            yield from file.iter_batches(batch_size=ROWS, columns=list(columns))
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"expected a whole parquet file at {path}: {error}") from error

    dim = len(coordinates) or _length(path, name, batches([name]))
    wanted = coordinates or [name]

    def blocks(columns: Sequence[str]) -> Iterator[Block]:
        start = 0
        for batch in batches([*wanted, *columns]):
            yield (
                _matrix(batch, coordinates) if coordinates else _rows(path, batch.column(name), dim, start),
                {each: _values(batch.column(each)) for each in columns},
            )
            start += batch.num_rows

    others = tuple(each for each in schema.names if each not in wanted and each not in lists)
    return Opened(path=path, name=_of(name, coordinates), dim=dim, count=count, columns=others, blocks=blocks)


def comma_separated(path: Path, vectors: str | None, beside: Sequence[str] = ()) -> Opened:
    """Open a file of comma-separated values, or separated by tabs if it ends in .tsv.

    The first line names the columns unless it has numbers alone. A column may hold lists, as in "[1, 0.5]".

    Args:
        path: path of the file, in UTF-8.
        vectors: name of the column of lists; None chooses.
        beside: columns of numbers that are no coordinates.

    Raises:
        ValueError: a line that does not fit, or no column of lists and no numeric columns.
    """
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    parsing = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    reading = pa.csv.ReadOptions(
        block_size=BYTES, autogenerate_column_names=_has_numbers_alone(path, delimiter)
    )

    def batches(converting: pa.csv.ConvertOptions | None = None) -> Iterator[pa.RecordBatch]:
        try:
            yield from pa.csv.open_csv(path, reading, parsing, converting)
        except pa.ArrowInvalid as error:
            raise ValueError(f"expected a table with a value in each column at {path}: {error}") from error

    first = next(batches(), None)
    if first is None:
        raise ValueError(f"expected rows in {path}, which has none")
    schema = first.schema
    _check_columns(path, schema)
    lists = [
        field.name
        for field in schema
        if pa.types.is_string(field.type) and str(first.column(field.name)[0]).lstrip().startswith("[")
    ]
    coordinates = _coordinates(schema, beside) if vectors is None and not lists else []
    _check_words(path, first, coordinates, beside)
    name = _name(path, schema, lists, coordinates, vectors)
    dim = len(coordinates) or len(_parsed(path, [first.column(name)[0].as_py()], None)[0])

    def blocks(columns: Sequence[str]) -> Iterator[Block]:
        kinds = {each: pa.float64() for each in coordinates} or {name: pa.string()}
        wanted = [*(coordinates or [name]), *columns]
        for batch in batches(pa.csv.ConvertOptions(column_types=kinds, include_columns=wanted)):
            rows = (
                _matrix(batch, coordinates)
                if coordinates
                else _parsed(path, batch.column(name).to_pylist(), dim)
            )
            yield rows, {each: _values(batch.column(each)) for each in columns}

    others = tuple(each for each in schema.names if each not in coordinates and each not in lists)
    return Opened(path=path, name=_of(name, coordinates), dim=dim, count=None, columns=others, blocks=blocks)


def _has_numbers_alone(path: Path, delimiter: str) -> bool:
    """Return whether the first line has numbers and no names."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            first = next(csv.reader(file, delimiter=delimiter), [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"expected a table in UTF-8 at {path}: {error}") from error
    return len(first) > 0 and all(is_numeral(cell) for cell in first)


def _check_columns(path: Path, schema: pa.Schema) -> None:
    """Raise ValueError for a name that two columns with values have: neither can be read by it."""
    times = Counter(field.name for field in schema if not pa.types.is_null(field.type))
    for name, count in times.items():
        if count > 1:
            raise ValueError(f"expected one column {name!r} in {path}, found {count}: give each another name")


def _coordinates(schema: pa.Schema, without: Sequence[str]) -> list[str]:
    """Return the columns of numbers, but for those that are named for something else.

    Coordinates of a table may be written without a point where all are whole. So a column of whole numbers
    counts, too; among numbered columns of others, such as d0 to d9, only if it is numbered like them.
    """
    fields = [field for field in schema if not (_names_no_vector(field.name) or field.name in without)]
    floats = [field.name for field in fields if pa.types.is_floating(field.type)]
    stems = {_stem(name) for name in floats}
    return [
        field.name
        for field in fields
        if field.name in floats
        or (pa.types.is_integer(field.type) and (not stems or None in stems or _stem(field.name) in stems))
    ]


def _names_no_vector(name: str) -> bool:
    """Return whether a column is named for something else than a coordinate, as `class_id` is."""
    word = name.lower()
    if word in NO_VECTOR or INDEX.fullmatch(name):
        return True
    return _stem(name) is None and not IN_NAMES.isdisjoint(word.split("_"))


def _stem(name: str) -> str | None:
    """Return the name of a numbered column without its number; None for other names."""
    found = NUMBERED.fullmatch(name)
    return None if found is None else found[1]


def _check_words(
    path: Path, first: pa.RecordBatch, coordinates: Sequence[str], beside: Sequence[str]
) -> None:
    """Raise ValueError for words in a column whose name is that of a coordinate, or among numbers."""
    stems = {_stem(name) for name in coordinates} - {None}
    for field in first.schema:
        is_known = field.name in {*coordinates, *beside} or _names_no_vector(field.name)
        if not coordinates or is_known or not pa.types.is_string(field.type):
            continue
        cells = [str(each).strip() for each in first.column(field.name).to_pylist() if each is not None]
        words = [cell for cell in cells if cell and not is_numeral(cell)]
        if words and (_stem(field.name) in stems or 2 * len(words) < len(cells)):
            raise ValueError(
                f"expected numbers in the column {field.name} of {path}, as in {coordinates[0]}, got "
                f"{words[0]!r}: mend the cell, or give the column another name"
            )


def _name(
    path: Path, schema: pa.Schema, lists: Sequence[str], coordinates: Sequence[str], vectors: str | None
) -> str:
    if coordinates:
        return coordinates[0]
    others = [f"{field.name} ({field.type})" for field in schema if field.name not in lists]
    return chosen(path, lists, others, vectors)


def _of(name: str, coordinates: Sequence[str]) -> str:
    if len(coordinates) <= SHOWN:
        return ", ".join(coordinates) or name
    return f"{coordinates[0]} to {coordinates[-1]}"


def _is_list(kind: pa.DataType) -> bool:
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return is_list and (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))


def _length(path: Path, name: str, batches: Iterator[pa.RecordBatch]) -> int:
    """Return the length of the first embedding."""
    for batch in batches:
        for value in batch.column(name):
            if value.is_valid and len(value) > 0:
                return len(value)
    raise ValueError(f"expected embeddings in the column {name} of {path}, got empty lists or none")


def _rows(path: Path, column: Any, dim: int, start: int) -> NDArray[Any]:
    """Return a list column as a matrix; missing lists are rows of NaN."""
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    missing = column.is_null().to_numpy(zero_copy_only=False)
    wrong = np.nonzero(~missing & (lengths != dim))[0]
    if len(wrong):
        raise ValueError(
            f"expected embeddings of equal length in {path}: the first has {dim} numbers, that of row "
            f"{start + int(wrong[0])} has {int(lengths[wrong[0]])}"
        )
    values = column.drop_null().flatten().to_numpy(zero_copy_only=False)
    if not missing.any():
        return values.reshape(-1, dim)
    rows = np.full((len(column), dim), np.nan, np.float32)
    rows[~missing] = values.reshape(-1, dim)
    return rows


def _matrix(batch: pa.RecordBatch, coordinates: Sequence[str]) -> NDArray[np.float32]:
    rows = np.empty((batch.num_rows, len(coordinates)), np.float32)
    for place, each in enumerate(coordinates):
        rows[:, place] = batch.column(each).to_numpy(zero_copy_only=False)
    return rows


def _parsed(path: Path, texts: Sequence[str | None], dim: int | None) -> NDArray[np.float32]:
    """Return lists that are written as text."""
    found = []
    for text in texts:
        try:
            values = np.array(json.loads(text or ""), dtype=np.float32)
            if values.ndim != 1:
                raise ValueError("no list of numbers")
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"expected lists of numbers such as [0.5, 1.0] in {path}, got {text!r}"
            ) from error
        if dim is not None and len(values) != dim:
            raise ValueError(
                f"expected embeddings of equal length in {path}: the first has {dim} numbers, another "
                f"{len(values)}"
            )
        found.append(values)
    return np.stack(found)


def _values(column: Any) -> NDArray[Any]:
    """Return a column as numbers where it has numbers, and otherwise as objects; None where it is empty."""
    if column.null_count == 0 and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return column.to_numpy(zero_copy_only=False)
    return np.array(column.to_pylist(), dtype=object)
