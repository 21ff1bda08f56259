"""Sentences from a folder of documents, a file, a table, or a Hugging Face data set."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch

from tammes.data.listing import SkippedFilesWarning, listing
from tammes.data.texts import Texts
from tammes.data.texts_files import Passage, document_files, folder_passages, read_text
from tammes.data.texts_prose import split_prose
from tammes.data.texts_tables import (
    HUB,
    SUFFIXES,
    data_set_passages,
    is_saved_data_set,
    table_passages,
)

# What the command line calls what only tables and data sets have.
FLAGS = {"text": "--text-column", "document": "--label-column", "split": "--split"}


def texts(
    path: str | Path,
    *,
    text: str | None = None,
    document: str | None = None,
    split: str | None = None,
    prose: bool = False,
    files: str = "*.txt",
    encoding: str = "utf-8",
    strict: bool = False,
) -> Texts:
    """The sentences of a folder of documents, a file, a table, or a Hugging Face data set.

    | path | documents |
    |---|---|
    | a folder | its plain-text files, and those in folders below it, in the order of their names |
    | a plain-text file | none known: its sentences are neighbors |
    | .csv, .tsv, .jsonl, .ndjson, .parquet | the values of the column `document`, or the rows |
    | a folder that `datasets` saved; `hub:owner/name[/configuration]` | the same |

    A line is a sentence, in a table as well, and empty lines are none; with `prose`, `split_prose` cuts
    running text into sentences. A table without a column `document` has a document in each row, unless no
    row has more than one sentence: then no documents are known. What holds no sentence is left out.

    Sentences are held in memory, and read one file or row after the other. Of a table, only the columns
    named are kept. Nothing is downloaded but what `hub:` names.

    Args:
        path: where the sentences are.
        text: the column of a table that holds the text; left out, "text".
        document: the column of a table that tells the document (the class) of each row.
        split: the part of a Hugging Face data set, for example "train", if it has several.
        prose: whether the text is running prose rather than a sentence a line.
        files: what the names of a folder's documents look like, with `*` for anything.
        encoding: of files other than parquet.
        strict: whether what cannot be used is an error.

    Raises:
        ValueError: If there is nothing at the path, or no sentence; if bytes cannot be decoded (with file
            and line), or a column is missing; if `strict`, and something was left out.
        ImportError: If a Hugging Face data set is wanted, and `datasets` is not installed.

    Warns:
        SkippedFilesWarning: If files or rows were left out; `skipped` of the result has their names.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for name, lines in (("cats", "They purr.\\nThey sleep.\\n"), ("dogs", "They bark.\\n")):
        ...         _ = (Path(root) / f"{name}.txt").write_text(lines)
        ...     sentences = texts(root)
        >>> sentences, sentences.classes
        (Texts(3 sentences, 2 documents), ('cats.txt', 'dogs.txt'))
        >>> sentences.names
        ('cats.txt:1', 'cats.txt:2', 'dogs.txt:1')
    """
    place = Path(path)
    others: list[str] = []
    is_hub = str(path).startswith(HUB)
    if not is_hub and not place.exists():
        raise ValueError(f"expected a folder, a file or hub:owner/name, found nothing at {path}")
    is_data_set = is_hub or is_saved_data_set(place)
    is_table = is_data_set or (place.is_file() and place.suffix.lower() in SUFFIXES)
    if is_data_set:
        passages = data_set_passages(str(path), text=text or "text", document=document, split=split)
    elif is_table:
        _refuse(path, "tables have no splits", {"split": split})
        passages = table_passages(place, text=text or "text", document=document, encoding=encoding)
    else:
        given = {"text": text, "document": document, "split": split}
        _refuse(path, "plain text has no columns or splits", given)
        if place.is_dir():
            names, others = document_files(place, files)
            passages = folder_passages(place, names, encoding)
        else:
            passages = iter([Passage(place.name, read_text(place, encoding), None)])

    gathered = _gather(passages, prose)
    if not gathered.sentences:
        raise ValueError(f"expected sentences in {path}, found none")
    skipped = others + gathered.empty
    if skipped:
        message = f"no sentences to read in {len(skipped)} of the files or rows of {path}: {listing(skipped)}"
        if strict:
            raise ValueError(f"{message}; remove them, or pass over them without --strict (strict=True)")
        warnings.warn(f"{message}; left out", SkippedFilesWarning, stacklevel=2)
    return _texts(gathered, skipped, rows_are_documents=is_table and document is None)


def _refuse(path: str | Path, reason: str, given: dict[str, str | None]) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"expected no {name} for {path}, because {reason}; "
                f"got {FLAGS[name]} {value} ({name}={value!r})"
            )


@dataclass
class _Gathered:
    sentences: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    documents: list[str | None] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)


def _gather(passages: Iterable[Passage], prose: bool) -> _Gathered:
    gathered = _Gathered()
    for passage in passages:
        pieces = [piece for piece in _pieces(passage, prose) if piece[1]]
        if not pieces:
            gathered.empty.append(passage.name)
        for name, sentence in pieces:
            gathered.names.append(name)
            gathered.sentences.append(sentence)
            gathered.documents.append(passage.document)
    return gathered


def _pieces(passage: Passage, prose: bool) -> Iterator[tuple[str, str]]:
    """Names of sentences, `file:line`, or `file#number` where they were cut from prose; and the sentences."""
    mark = "#" if prose else ":"
    lines = passage.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    pieces = split_prose(passage.text) if prose else [line.strip() for line in lines]
    for number, piece in enumerate(pieces, 1):
        yield f"{passage.name}{mark}{number}", piece


def _texts(gathered: _Gathered, skipped: list[str], *, rows_are_documents: bool) -> Texts:
    classes = tuple(dict.fromkeys(name for name in gathered.documents if name is not None))
    if rows_are_documents and len(classes) == len(gathered.sentences):
        classes = ()
    index = {name: label for label, name in enumerate(classes)}
    return Texts(
        sentences=tuple(gathered.sentences),
        names=tuple(gathered.names),
        labels=torch.tensor([index[name] for name in gathered.documents if name]) if classes else None,
        classes=classes or None,
        skipped=tuple(skipped),
    )
