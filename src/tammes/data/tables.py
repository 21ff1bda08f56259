"""Passages from tables with a column of text: CSV, JSON lines, parquet, and Hugging Face data sets."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tammes.checks import check_file, nearest
from tammes.data.listing import listing
from tammes.data.passages import Passage, read_text

SUFFIXES = frozenset({".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"})
# Files that `datasets` writes beside the data that it saves to disk.
SAVED = ("state.json", "dataset_dict.json")
HUB = "hub:"
TEXT = "text"
"""Column of the text, unless another is named."""

Row = tuple[Any, ...]
"""Values of a row in the columns that were asked for."""


def table_passages(path: Path, columns: Sequence[str], encoding: str) -> Iterator[Passage]:
    """Yield the rows of a CSV, TSV, JSON-lines or parquet file.

    Args:
        path: path of the file; its suffix gives the format.
        columns: name of the column of text and, unless each row is a document, of the column of documents.
        encoding: encoding of a CSV, TSV or JSON-lines file.

    Raises:
        ValueError: If a column is missing, a value is not text, or the file cannot be read as a table.
    """
    return _passages(table_rows(path, columns, encoding), str(path), columns)


def table_rows(path: Path, columns: Sequence[str], encoding: str) -> Iterator[Row]:
    """Yield the values of the named columns of a CSV, TSV, JSON-lines or parquet file, row by row.

    Args:
        path: path of the file; its suffix gives the format.
        columns: names of the columns.
        encoding: encoding of a CSV, TSV or JSON-lines file.

    Raises:
        ValueError: If a column is missing, or the file cannot be read as a table.
    """
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _parquet(path, columns)
    if suffix in (".jsonl", ".ndjson"):
        return _json_lines(path, columns, encoding)
    return _csv(path, columns, encoding, "\t" if suffix == ".tsv" else ",")


def is_saved_data_set(path: Path) -> bool:
    """Return whether `datasets` has saved a data set in this folder."""
    return any((path / name).is_file() for name in SAVED)


def data_set_passages(
    path: str, columns: Sequence[str], split: str | None, *, streaming: bool = False
) -> Iterator[Passage]:
    """Yield the rows of a Hugging Face data set, saved in a folder or named `hub:owner/name[/configuration]`.

    Args:
        path: path of the folder, or name of the data set.
        columns: names of the columns, as for `table_passages`.
        split: name of the split; None if there is only one.
        streaming: whether a data set of the hub is read as it comes, without keeping it on the disk.

    Raises:
        ValueError: If a column or the split is missing, there are several splits and none is named, or a
            value is not text.
        ImportError: If `datasets` is not installed.
    """
    found = _part(path, split, streaming=streaming)
    names = found.column_names  # a stream may know them from its rows alone
    _check_columns(columns, list(next(iter(found), {})) if names is None else names, path)
    return _passages(_data_set(found, columns), path, columns)


def data_set_rows(path: str, columns: Sequence[str], split: str | None) -> Iterator[Row]:
    """Yield the values of the named columns of a Hugging Face data set, row by row.

    Args:
        path: path of the folder, or name of the data set.
        columns: names of the columns.
        split: name of the split; None if there is only one.

    Raises:
        ValueError: If a column or the split is missing, or there are several splits and none is named.
        ImportError: If `datasets` is not installed.
    """
    found = _part(path, split)
    _check_columns(columns, found.column_names, path)
    for batch in found.select_columns(list(columns)).iter(batch_size=1000):
        yield from _rows([batch[column] for column in columns])


def _part(path: str, split: str | None, *, streaming: bool = False) -> Any:
    """Return the split of a data set."""
    found = _load(path, streaming=streaming)
    if isinstance(found, dict):
        names = list(found)
        if split is None and len(names) == 1:
            split = names[0]
        if split not in names:
            raise ValueError(f"expected a split of {path}, one of {listing(names)}, got split={split!r}")
        found = found[split]
    elif split is not None:
        raise ValueError(f"expected no split, because {path} has no splits, got split={split!r}")
    return found


def _load(path: str, *, streaming: bool) -> Any:
    try:
        import datasets
    except ImportError as error:
        raise ImportError('Hugging Face data sets need `datasets`: pip install "tammes[text]"') from error
    if not path.startswith(HUB):
        return datasets.load_from_disk(path)
    parts = path.removeprefix(HUB).split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise ValueError(f"expected hub:owner/name or hub:owner/name/configuration, got {path!r}")
    name = "/".join(parts[:2])
    if streaming:
        return datasets.load_dataset(name, *parts[2:], streaming=True)
    return datasets.load_dataset(name, *parts[2:])


def _data_set(found: Any, columns: Sequence[str]) -> Iterator[Row]:
    features = found.features or {}
    names = getattr(features.get(columns[-1]), "names", None) if len(columns) == 2 else None
    for batch in found.select_columns(list(columns)).iter(batch_size=1000):
        for value, *label in _rows([batch[column] for column in columns]):
            yield value, *(each if names is None or each is None else names[each] for each in label)


def _rows(columns: Sequence[Sequence[Any]]) -> Iterator[Row]:
    return zip(*columns, strict=True)


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    import pyarrow
    import pyarrow.parquet as parquet

    try:
        file = parquet.ParquetFile(check_file(path))
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"expected a parquet file at {path}: {error}") from error
    with file:
        _check_columns(columns, file.schema_arrow.names, path)
        try:
            for batch in file.iter_batches(columns=list(columns)):
                yield from _rows([batch.column(column).to_pylist() for column in columns])
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise ValueError(f"expected a whole parquet file at {path}: {error}") from error


def _json_lines(path: Path, columns: Sequence[str], encoding: str) -> Iterator[Row]:
    for number, line in enumerate(_lines(path, encoding), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"expected a JSON object in line {number} of {path}: {error}") from error
        if not isinstance(row, dict):
            raise ValueError(f"expected a JSON object in line {number} of {path}, got {line[:40]!r}")
        _check_columns(columns, list(row), f"line {number} of {path}")
        if "\\ud" in line.lower():
            _check_surrogates([row[column] for column in columns], f"line {number} of {path}")
        yield tuple(row[column] for column in columns)


def _lines(path: Path, encoding: str) -> Iterator[str]:
    """Yield the lines of a file, one after the other, so that it need not fit into memory."""
    try:
        with check_file(path).open(encoding=encoding) as file:
            for number, line in enumerate(file):
                line = line.removesuffix("\n")
                yield line.removeprefix("\ufeff") if number == 0 else line
    except (UnicodeError, LookupError) as error:
        read_text(path, encoding)  # raises ValueError with the line
        # Without the mark that begins UTF-16, lines cannot be read, though all bytes at once can.
        raise ValueError(
            f"expected text in {encoding}, got {path} ({error}); name its order of bytes, for example "
            "encoding='utf-16-le'"
        ) from error


def _csv(path: Path, columns: Sequence[str], encoding: str, delimiter: str) -> Iterator[Row]:
    import pyarrow
    import pyarrow.csv as arrow_csv

    content = read_text(path, encoding)
    try:
        header = next(csv.reader(io.StringIO(content), delimiter=delimiter), [])
    except csv.Error as error:  # a name as long as a text, or a quote that nothing closes
        raise ValueError(f"expected a table with a header line in {path}: {error}") from error
    _check_columns(columns, header, path)
    data = content.encode()
    try:
        table = arrow_csv.read_csv(
            pyarrow.BufferReader(data),
            # One block for the whole file, because a row must fit into a block.
            read_options=arrow_csv.ReadOptions(block_size=len(data) + 1),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(columns), column_types={column: pyarrow.string() for column in columns}
            ),
        )
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"expected a table with a header line in {path}: {error}") from error
    return _rows([table.column(column).to_pylist() for column in columns])


def _check_surrogates(values: list[Any], where: str) -> None:
    """Raise ValueError for half a character, which JSON can hold and UTF-8 cannot."""
    try:
        "".join(map(str, values)).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"expected whole characters in {where}: {error}") from error


def _check_columns(wanted: Sequence[str], found: Sequence[str], where: str | Path) -> None:
    times = Counter(found)
    for column in wanted:
        if times[column] == 0:
            hint, meant = "", nearest(column, found)
            if column == TEXT and found:
                hint = (
                    "; name another with text_column, or the two of a table of pairs with anchor_column and "
                    "positive_column"
                )
            elif meant is not None:
                hint = f": did you mean {meant!r}?"
            raise ValueError(
                f"expected a column {column!r} in {where}, found {listing(found) or 'none'}{hint}"
            )
        if times[column] > 1:
            raise ValueError(f"expected one column {column!r} in {where}, found {times[column]}")


def _passages(rows: Iterable[Row], where: str, columns: Sequence[str]) -> Iterator[Passage]:
    has_labels = len(columns) == 2
    for number, (value, *labels) in enumerate(rows, 1):
        label = labels[0] if labels else None
        if value is not None and not isinstance(value, str):
            raise ValueError(
                f"expected text in column {columns[0]!r} of {where}, got {type(value).__name__} "
                f"in row {number}"
            )
        if has_labels and (label is None or isinstance(label, float | bytes | list | dict) or label == ""):
            raise ValueError(
                f"expected the name or number of a document in column {columns[1]!r} of {where}, "
                f"got {label!r} in row {number}: fill it in, or remove the row"
            )
        name = f"row {number}"
        yield Passage(name, value or "", str(label) if has_labels else name)
