"""Tables with a column of text: CSV, JSON lines, parquet, and Hugging Face data sets."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tammes.data.listing import listing
from tammes.data.texts_files import Passage, read_text

SUFFIXES = frozenset({".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"})
# What `datasets` writes beside the data that it saves on disk.
SAVED = ("state.json", "dataset_dict.json")
HUB = "hub:"

# A row's text, and the value that tells its document.
Row = tuple[Any, Any]


def table_passages(path: Path, *, text: str, document: str | None, encoding: str) -> Iterator[Passage]:
    """The rows of a CSV, TSV, JSON-lines or parquet file.

    Args:
        path: the file; its suffix says which it is.
        text: the column that holds the text.
        document: the column that tells the document of a row; None where each is one of its own.
        encoding: of a CSV, TSV or JSON-lines file.

    Raises:
        ValueError: If a column is not there, or is to be both; if a value is no text; if the file cannot be
            read as a table.
    """
    columns = _columns(text, document)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        rows = _parquet(path, columns)
    elif suffix in (".jsonl", ".ndjson"):
        rows = _json_lines(path, columns, encoding)
    else:
        rows = _csv(path, columns, encoding, "\t" if suffix == ".tsv" else ",")
    return _passages(rows, str(path), text, document)


def is_saved_data_set(path: Path) -> bool:
    """Whether `datasets` has saved a data set in this folder."""
    return any((path / name).is_file() for name in SAVED)


def data_set_passages(path: str, *, text: str, document: str | None, split: str | None) -> Iterator[Passage]:
    """The rows of a Hugging Face data set, saved in a folder or named `hub:owner/name[/configuration]`.

    Raises:
        ValueError: If the split or a column is not there, or must be named; if one column is to be both; if
            a value is no text.
        ImportError: If `datasets` is not installed.
    """
    columns = _columns(text, document)
    found = _load(path)
    if isinstance(found, dict):
        names = list(found)
        if split is None and len(names) == 1:
            split = names[0]
        if split not in names:
            raise ValueError(
                f"expected a split of the data set {path}, one of {listing(names)}, got split={split!r}"
            )
        found = found[split]
    elif split is not None:
        raise ValueError(f"expected no split, because {path} is a single one, got split={split!r}")
    _check_columns(columns, found.column_names, path)
    return _passages(_rows_of_data_set(found, columns), path, text, document)


def _columns(text: str, document: str | None) -> list[str]:
    if text == document:
        raise ValueError(
            f"expected one column for the text and another for its document, got {text!r} for both"
        )
    return [text] if document is None else [text, document]


def _load(path: str) -> Any:
    try:
        import datasets
    except ImportError as error:
        raise ImportError(
            'Hugging Face data sets need the package datasets: pip install "tammes[text]"'
        ) from error
    if not path.startswith(HUB):
        return datasets.load_from_disk(path)
    parts = path.removeprefix(HUB).split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise ValueError(f"expected hub:owner/name or hub:owner/name/configuration, got {path!r}")
    return datasets.load_dataset("/".join(parts[:2]), *parts[2:])


def _rows_of_data_set(found: Any, columns: list[str]) -> Iterator[Row]:
    names = getattr(found.features[columns[-1]], "names", None) if len(columns) == 2 else None
    for batch in found.select_columns(columns).iter(batch_size=1000):
        documents = batch[columns[1]] if len(columns) == 2 else [None] * len(batch[columns[0]])
        for value, document in zip(batch[columns[0]], documents, strict=True):
            yield value, document if names is None or document is None else names[document]


def _parquet(path: Path, columns: list[str]) -> Iterator[Row]:
    import pyarrow
    import pyarrow.parquet as parquet

    try:
        file = parquet.ParquetFile(path)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"expected a parquet file at {path}: {error}") from error
    with file:
        _check_columns(columns, file.schema_arrow.names, path)
        try:
            for batch in file.iter_batches(columns=columns):
                values = [batch.column(column).to_pylist() for column in columns]
                documents = values[1] if len(columns) == 2 else [None] * len(batch)
                yield from zip(values[0], documents, strict=True)
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise ValueError(f"expected a whole parquet file at {path}: {error}") from error


def _json_lines(path: Path, columns: list[str], encoding: str) -> Iterator[Row]:
    for number, line in enumerate(read_text(path, encoding).split("\n"), 1):
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
        yield row[columns[0]], row[columns[1]] if len(columns) == 2 else None


def _csv(path: Path, columns: list[str], encoding: str, delimiter: str) -> Iterator[Row]:
    import pyarrow
    import pyarrow.csv as arrow_csv

    content = read_text(path, encoding)
    header = next(csv.reader(io.StringIO(content), delimiter=delimiter), [])
    _check_columns(columns, header, path)
    data = content.encode()
    try:
        table = arrow_csv.read_csv(
            pyarrow.BufferReader(data),
            # One block, because a row must not be longer than a block.
            read_options=arrow_csv.ReadOptions(block_size=len(data) + 1),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=columns, column_types={column: pyarrow.string() for column in columns}
            ),
        )
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"expected a table with a header line in {path}: {error}") from error
    values = [table.column(column).to_pylist() for column in columns]
    return zip(values[0], values[1] if len(columns) == 2 else [None] * len(table), strict=True)


def _check_surrogates(values: list[Any], where: str) -> None:
    """Refuse half a character, which JSON can write and no text can hold."""
    try:
        "".join(map(str, values)).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"expected whole characters in {where}: {error}") from error


def _check_columns(wanted: Sequence[str], found: Sequence[str], where: str | Path) -> None:
    times = Counter(found)
    for column in wanted:
        if times[column] == 0:
            raise ValueError(f"expected a column {column!r} in {where}, found {listing(found) or 'none'}")
        if times[column] > 1:
            raise ValueError(f"expected one column {column!r} in {where}, found {times[column]}")


def _passages(rows: Iterable[Row], where: str, text: str, document: str | None) -> Iterator[Passage]:
    for number, (value, label) in enumerate(rows, 1):
        if value is not None and not isinstance(value, str):
            raise ValueError(
                f"expected text in column {text!r} of {where}, got {type(value).__name__} in row {number}"
            )
        if document is not None and (label is None or isinstance(label, float | list | dict) or label == ""):
            raise ValueError(
                f"expected the name or number of a document in column {document!r} of {where}, "
                f"got {label!r} in row {number}"
            )
        name = f"row {number}"
        yield Passage(name, value or "", name if document is None else str(label))
