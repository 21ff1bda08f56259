"""Sentences from a folder of documents, a file, a table, or a Hugging Face data set."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from tammes.data.listing import warn_of_skipped
from tammes.data.passages import (
    Passage,
    document_files,
    folder_passages,
    read_text,
    split_prose,
    with_plain_line_ends,
)
from tammes.data.tables import HUB, SUFFIXES, TEXT, data_set_passages, is_saved_data_set, table_passages
from tammes.data.tar_files import expanded
from tammes.data.text_cache import cached_texts, text_place
from tammes.data.texts import Texts

LONGEST = 500_000
"""Characters of a sentence, above which a file is not what it was taken for."""


def texts(
    path: str | Path,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    split: str | None = None,
    prose: bool = False,
    files: str = "*.txt",
    encoding: str = "utf-8",
    strict: bool = False,
    cache: str | Path | None = None,
) -> Texts:
    r"""Load the sentences of a folder of documents, a file, a table, or a Hugging Face data set.

    | path | documents |
    |---|---|
    | a folder | its plain-text files, and those in folders below it, in the order of their names |
    | a plain-text file | not known; the sentences are in reading order |
    | .csv, .tsv, .jsonl, .ndjson, .parquet, or several: `a-{0..9}.jsonl` | those of `label_column`, or rows |
    | a folder that `datasets` saved; `hub:owner/name[/configuration]` | the same |

    Each line is a sentence, also within a row of a table, and empty lines are ignored; with `prose`,
    `split_prose` cuts running text into sentences. In a table without `label_column` each row is a document,
    unless no row has more than one sentence: then documents are not known. Files and rows without a sentence
    are left out.

    Sentences are held in memory, unless there is a cache: then they are read once into files in it, one after
    the other, and mapped into memory from there. Only the named columns of a table are kept.
    Nothing is downloaded except for a path that begins with `hub:`.

    Args:
        path: path of the folder or file, or name of the data set.
        text_column: name of a table's column of text; "text" by default.
        label_column: name of a table's column with the document (the class) of each row.
        split: part of a Hugging Face data set, for example "train"; needed if it has several.
        prose: whether the text is running prose rather than one sentence per line.
        files: pattern of the names of a folder's documents, with `*` for any characters.
        encoding: encoding of all files but parquet.
        strict: whether files and rows that cannot be used are an error.
        cache: folder in which the sentences are kept; None for none. They are read anew when a file has
            changed, but not when a data set of the name `hub:...` has.

    Raises:
        ValueError: If there is nothing at the path, or no sentence; if bytes cannot be decoded (the message
            names file and line), or a column is missing; if a sentence is longer than 500,000 characters; if
            `strict`, and something was left out.
        ImportError: If the path is a Hugging Face data set, and `datasets` is not installed.

    Warns:
        SkippedFilesWarning: If files or rows were left out; `skipped` of the result has their names.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for name, lines in (("cats", "They purr.\nThey sleep.\n"), ("dogs", "They bark.\n")):
        ...         _ = (Path(root) / f"{name}.txt").write_text(lines)
        ...     sentences = texts(root)
        >>> sentences, sentences.classes
        (Texts(3 sentences, 2 documents), ('cats.txt', 'dogs.txt'))
        >>> sentences.names
        ('cats.txt:1', 'cats.txt:2', 'dogs.txt:1')
    """
    place = Path(path)
    names: list[str] = []
    others: list[str] = []
    inputs = [place]
    is_hub = str(path).startswith(HUB)
    is_table = place.suffix.lower() in SUFFIXES and not place.is_dir()
    if is_table and "{" in place.name and not place.exists():
        inputs = [Path(name) for name in expanded(str(path))]
    for file in [] if is_hub else inputs:
        if not file.exists():
            raise ValueError(f"expected a folder, a file or hub:owner/name, found nothing at {file}")
    is_data_set = is_hub or is_saved_data_set(place)
    is_table |= is_data_set
    given = {"text_column": text_column, "label_column": label_column, "split": split}
    text = text_column or TEXT
    if is_table and text == label_column:
        raise ValueError(f"expected one column for text and another for its document, got {text!r} for both")
    columns = [text] if label_column is None else [text, label_column]

    def passages() -> Iterator[Passage]:
        if is_data_set:
            return data_set_passages(str(path), columns, split, streaming=is_hub and cache is not None)
        if is_table:
            return _shards_of_table(inputs, columns, encoding)
        if place.is_dir():
            return folder_passages(place, names, encoding)
        return iter([Passage(place.name, read_text(place, encoding), None)])

    if is_table and not is_data_set:
        _check_unused(path, "tables have no splits", {"split": split})
    elif not is_table:
        _check_unused(path, "plain text has no columns or splits", given)
        if place.is_dir():
            names, others = document_files(place, files)
            inputs = [place / name for name in names]
    if cache is not None:
        if is_data_set:
            inputs = [] if is_hub else sorted(file for file in place.rglob("*") if file.is_file())
        settings = {"columns": columns, "split": split, "prose": prose, "encoding": encoding}
        stats = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in inputs]
        found_texts = cached_texts(
            text_place(cache, path),
            {**settings, "files": [list(each) for each in stats], "others": others},
            lambda left_out: _found(passages(), prose, left_out),
            size=sum(each[1] for each in stats),
            rows_are_documents=is_table and label_column is None,
        )
        skipped = others + list(found_texts.skipped)
        _warn(path, skipped, strict=strict)
        return replace(found_texts, skipped=tuple(skipped))
    empty: list[str] = []
    found = list(_found(passages(), prose, empty))
    if not found:
        raise ValueError(f"expected sentences in {path}, found none")
    skipped = others + empty
    _warn(path, skipped, strict=strict)
    return _texts(found, skipped, rows_are_documents=is_table and label_column is None)


def _shards_of_table(files: Sequence[Path], columns: Sequence[str], encoding: str) -> Iterator[Passage]:
    """Yield the rows of one file, or of several, whose rows are then named for their file as well."""
    for file in files:
        for passage in table_passages(file, columns, encoding):
            if len(files) == 1:
                yield passage
            else:
                name = f"{file.name}, {passage.name}"
                is_row = passage.document == passage.name
                yield Passage(name, passage.text, name if is_row and len(columns) == 1 else passage.document)


def _check_unused(path: str | Path, reason: str, given: Mapping[str, str | None]) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"expected no {name} for {path}, because {reason}; got {name}={value!r}")


def _warn(path: str | Path, skipped: list[str], *, strict: bool) -> None:
    warn_of_skipped(
        f"no sentences to read in {len(skipped)} of the files or rows of {path}", skipped, strict=strict
    )


def _found(passages: Iterable[Passage], prose: bool, empty: list[str]) -> Iterator[Passage]:
    """Yield each sentence as a passage, and append the names of the passages without any to `empty`."""
    for passage in passages:
        is_empty = True
        for piece in _pieces(passage, prose):
            is_empty = False
            yield piece
        if is_empty:
            empty.append(passage.name)


def _pieces(passage: Passage, prose: bool) -> Iterator[Passage]:
    """Yield the sentences of a passage, named `file:line`, or `file#number` if they were cut from prose."""
    mark = "#" if prose else ":"
    lines = split_prose(passage.text) if prose else with_plain_line_ends(passage.text).split("\n")
    for number, line in enumerate(lines, 1):
        if sentence := line.strip():
            check_length(sentence, f"{passage.name}{mark}{number}")
            yield Passage(f"{passage.name}{mark}{number}", sentence, passage.document)


def check_length(sentence: str, name: str) -> None:
    """Raise ValueError for a sentence that is too long to be one."""
    if len(sentence) > LONGEST:
        raise ValueError(
            f"expected sentences of at most {LONGEST:,} characters, got {len(sentence):,} in {name}: put "
            "each sentence on a line, or cut running text into sentences with prose=True"
        )


def _texts(found: list[Passage], skipped: list[str], *, rows_are_documents: bool) -> Texts:
    documents = [sentence.document for sentence in found]
    classes = tuple(dict.fromkeys(name for name in documents if name is not None))
    if rows_are_documents and len(classes) == len(found):
        classes = ()
    index = {name: label for label, name in enumerate(classes)}
    return Texts(
        sentences=tuple(sentence.text for sentence in found),
        names=tuple(sentence.name for sentence in found),
        labels=torch.tensor([index[name] for name in documents if name]) if classes else None,
        classes=classes or None,
        skipped=tuple(skipped),
    )
