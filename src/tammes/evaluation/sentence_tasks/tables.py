"""Readers of pairs with scores in a table, and of retrieval tasks in the layout of BEIR."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from tammes.checks import check_file
from tammes.data.passages import read_text
from tammes.evaluation.sentence_tasks.tasks import Retrieval, ScoredPairs

PAIR_COLUMNS = FIRST, SECOND, SCORE = ("sentence1", "sentence2", "score")
"""Columns of a table of pairs; others may stand beside them."""

PAIR_SUFFIXES = (".csv", ".tsv", ".jsonl")

STS_BENCHMARK = ("sts-train.csv", "sts-dev.csv", "sts-test.csv")
"""Files of the STS benchmark, with tabs and no header; score and sentences are fields 4 to 6, from 0."""

BEIR = ("corpus.jsonl", "queries.jsonl", "qrels")
"""Files of a retrieval task, and its folder of relevances."""

QRELS_COLUMNS = ("query-id", "corpus-id", "score")


def has_pair_columns(file: Path) -> bool:
    """Return whether the first line of a table names the columns of pairs with scores."""
    with check_file(file).open(encoding="utf-8-sig", errors="replace") as stream:
        first = stream.readline(100_000)
    if file.suffix == ".jsonl":
        try:
            row = json.loads(first)
        except ValueError:
            return False
        return isinstance(row, dict) and set(PAIR_COLUMNS) <= set(row)
    names = next(csv.reader([first], delimiter=_delimiter(file)), [])
    return set(PAIR_COLUMNS) <= {name.strip() for name in names}


def read_scored_pairs(file: Path) -> ScoredPairs:
    r"""Return pairs with scores from a table in UTF-8, named for the file.

    CSV, TSV or JSON lines with the columns sentence1, sentence2 and score, or a file of the STS benchmark.

    Raises:
        ValueError: a row without two sentences or a finite score, or with more fields than the first line
            (the message has its line); a table that is no CSV.

    Example:
        >>> import tempfile
        >>> rows = "sentence1,sentence2,score\na b,b a,5\na b,a,3.5\na,c,0\n"
        >>> with tempfile.TemporaryDirectory() as root:
        ...     file = Path(root) / "sts.csv"
        ...     _ = file.write_text(rows)
        ...     task = read_scored_pairs(file)
        >>> task.name, task.pairs[0], task.scores.tolist()
        ('sts', ('a b', 'b a'), [5.0, 3.5, 0.0])
    """
    pairs, scores = [], []
    for line, first, second, score in _rows_of_pairs(file):
        try:
            value = float(score)
        except (TypeError, ValueError):
            value = math.nan
        good = all(isinstance(each, str) and each.strip() for each in (first, second))
        if not good or not math.isfinite(value):
            raise ValueError(
                f"expected two sentences and a score in line {line} of {file}, got "
                f"{str(first)[:30]!r}, {str(second)[:30]!r} and {score!r}"
            )
        pairs.append((first.strip(), second.strip()))
        scores.append(value)
    return ScoredPairs(name=file.stem, pairs=tuple(pairs), scores=torch.tensor(scores, dtype=torch.float64))


def _rows_of_pairs(file: Path) -> Iterator[tuple[int, Any, Any, Any]]:
    text = read_text(file, "utf-8")
    if file.suffix == ".jsonl":
        for line, row in _json_rows(file):
            yield line, row.get(FIRST), row.get(SECOND), row.get(SCORE)
    elif file.name in STS_BENCHMARK:
        for line, words in enumerate(text.split("\n"), 1):
            if words.strip():
                fields = [*words.split("\t"), *[""] * 7]
                yield line, fields[5], fields[6], fields[4]
    else:
        reader = csv.DictReader(io.StringIO(text), delimiter=_delimiter(file))
        try:
            reader.fieldnames = names = [name.strip() for name in reader.fieldnames or ()]
            for each in reader:
                further = each.get(None, [])  # a comma of a sentence would shift the columns behind it
                if "".join(further).strip():
                    raise ValueError(
                        f"expected {len(names)} fields in line {reader.line_num} of {file}, got "
                        f"{len(names) + len(further)}: put a sentence with commas between quotation marks"
                    )
                yield reader.line_num, each.get(FIRST), each.get(SECOND), each.get(SCORE)
        except csv.Error as error:
            raise ValueError(
                f"expected a CSV table in {file}, got something else in line {reader.line_num} ({error}): is "
                "a quotation mark never closed?"
            ) from error


def read_retrieval(folder: Path) -> Retrieval:
    r"""Return a retrieval task in the layout of BEIR, named for the folder.

    corpus.jsonl and queries.jsonl have an object with `_id` and `text` on each line, documents perhaps a
    `title` as well, which is put before the text. qrels has a table query-id, corpus-id, score for each
    split, of which test.tsv is read, or the only one. Queries without a relevant document are left out.

    Raises:
        ValueError: a file that is missing or of another form, an id that is repeated or unknown.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (Path(root) / "qrels").mkdir()
        ...     rows = [{"_id": "d1", "title": "", "text": "cats purr"}, {"_id": "d2", "text": "dogs bark"}]
        ...     _ = (Path(root) / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
        ...     _ = (Path(root) / "queries.jsonl").write_text('{"_id": "q1", "text": "who purrs"}')
        ...     _ = (Path(root) / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
        ...     task = read_retrieval(Path(root))
        >>> task.queries, task.documents, task.relevance
        (('who purrs',), ('cats purr', 'dogs bark'), ({0: 1.0},))
    """
    documents, queries = _identified(folder / BEIR[0]), _identified(folder / BEIR[1])
    rows = {name: row for row, name in enumerate(documents)}
    relevance: dict[str, dict[int, float]] = {}
    for where, query, document, gain in _relevances(_qrels(folder / BEIR[2])):
        if query not in queries or document not in documents:
            kind, name, file = (
                ("query", query, BEIR[1]) if query not in queries else ("document", document, BEIR[0])
            )
            raise ValueError(f"{where} names the {kind} {name!r}, which {folder / file} lacks")
        if gain > 0:
            relevance.setdefault(query, {})[rows[document]] = gain
    return Retrieval(
        name=folder.name,
        queries=tuple(queries[name] for name in relevance),
        documents=tuple(documents.values()),
        relevance=tuple(relevance.values()),
    )


def _qrels(folder: Path) -> Path:
    files = sorted(folder.glob("*.tsv"))
    if folder / "test.tsv" in files:
        return folder / "test.tsv"
    if len(files) != 1:
        found = ", ".join(file.name for file in files) or "none"
        raise ValueError(f"expected test.tsv, or one other table, in {folder}, found {found}")
    return files[0]


def _relevances(file: Path) -> Iterator[tuple[str, str, str, float]]:
    head, *rows = read_text(file, "utf-8").split("\n")
    if tuple(name.strip() for name in head.split("\t")) != QRELS_COLUMNS:
        raise ValueError(f"expected the columns {', '.join(QRELS_COLUMNS)} in {file}, got {head[:60]!r}")
    for number, row in enumerate(rows, 2):
        if not row.strip():
            continue
        fields = [field.strip() for field in row.split("\t")]
        where = f"line {number} of {file}"
        try:
            query, document, gain = fields[0], fields[1], float(fields[2])
        except (IndexError, ValueError):
            gain = math.nan
        if not math.isfinite(gain):
            raise ValueError(f"expected two ids and a number between tabs in {where}, got {row[:60]!r}")
        yield where, query, document, gain


def _identified(file: Path) -> dict[str, str]:
    """Return the text of each id, with its title before it."""
    found: dict[str, str] = {}
    for line, row in _json_rows(file):
        name, text = row.get("_id"), f"{row.get('title') or ''} {row.get('text') or ''}".strip()
        if not isinstance(name, str | int) or not text:
            raise ValueError(f"expected _id and text in line {line} of {file}, got {str(row)[:60]}")
        if str(name) in found:
            raise ValueError(f"expected each _id once in {file}, got {name!r} again in line {line}")
        found[str(name)] = text
    return found


def _json_rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(read_text(file, "utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise ValueError(f"expected a JSON object in line {number} of {file}, got {line[:40]!r}")
        yield number, row


def _delimiter(file: Path) -> str:
    return "\t" if file.suffix == ".tsv" else ","


def check_present(names: Sequence[str], folder: Path, task: str) -> None:
    """Raise ValueError if files of a task are missing beside others of it.

    Example:
        >>> check_present((), Path("tasks"), "CR")
    """
    for name in names:
        if not (folder / name).exists():
            raise ValueError(f"{task} is not whole in {folder}: {name} is missing")
