"""Every task in a folder, told apart by the layout of its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tammes.evaluation.sentence_tasks.published import (
    CLASS_FILES,
    SPLIT_FILES,
    read_classes,
    read_msrp,
    read_trec,
)
from tammes.evaluation.sentence_tasks.tables import (
    BEIR,
    PAIR_COLUMNS,
    PAIR_SUFFIXES,
    STS_BENCHMARK,
    check_present,
    has_pair_columns,
    read_retrieval,
    read_scored_pairs,
)
from tammes.evaluation.sentence_tasks.tasks import Task

LAYOUTS = (
    f"{', '.join(CLASS_FILES)} (files such as rt-polarity.pos and rt-polarity.neg), TREC (TREC.train and "
    "TREC.test), MSRP (msr_paraphrase_train.txt and msr_paraphrase_test.txt), pairs with scores "
    f"({', '.join(PAIR_SUFFIXES)} with the columns {', '.join(PAIR_COLUMNS)}), retrieval ({', '.join(BEIR)})"
)
"""Known layouts, for messages."""

DOCUMENTATION = frozenset({"", ".md", ".rst", ".htm", ".html", ".pdf", ".bib"})
"""Suffixes of files that come with data and describe it."""


def find_tasks(folder: str | Path) -> tuple[Task, ...]:
    """Return every task in a folder and in the folders below it, in a fixed order.

    | layout | task |
    |---|---|
    | a file for each class as published, Latin-1 | MR, CR, SUBJ, MPQA |
    | TREC.train and TREC.test, or train_5500.label and TREC_10.label | TREC |
    | msr_paraphrase_train.txt and msr_paraphrase_test.txt | MSRP |
    | .csv, .tsv or .jsonl with sentence1, sentence2 and score; sts-test.csv | pairs with scores |
    | corpus.jsonl, queries.jsonl and qrels/test.tsv | retrieval |

    Hidden files, those without a suffix and descriptions (.md, .html, .pdf) are ignored.

    Args:
        folder: the folder.

    Raises:
        ValueError: no folder, no task, another layout, a task that lacks a file, or two tasks of one
            name.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     _ = (Path(root) / "custrev.pos").write_text("it works .")
        ...     _ = (Path(root) / "custrev.neg").write_text("it broke .")
        ...     [task.name for task in find_tasks(root)]
        ['CR']
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"expected a folder of tasks, found no folder at {folder}")
    tasks: dict[str, Task] = {}
    for task in _found(folder):
        if task.name in tasks:
            raise ValueError(
                f"{folder} has two tasks named {task.name}: rename one, or choose a folder with one"
            )
        tasks[task.name] = task
    if not tasks:
        raise ValueError(f"expected tasks in {folder}, found none; known layouts: {LAYOUTS}")
    order = {name: row for row, name in enumerate((*CLASS_FILES, *SPLIT_FILES))}
    return tuple(sorted(tasks.values(), key=lambda task: (order.get(task.name, len(order)), task.name)))


def _found(folder: Path) -> Iterator[Task]:
    """Yield the tasks of a folder and of those below it."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    if any(entry.name in BEIR for entry in entries):
        check_present(BEIR, folder, "the retrieval task")
        yield read_retrieval(folder)
        entries = [entry for entry in entries if entry.name not in BEIR]
    known = {
        name: (task, files)
        for task, variants in _files_of_tasks().items()
        for files in variants
        for name in files
    }
    read: set[tuple[str, ...]] = set()
    for entry in entries:
        if entry.is_dir():
            yield from _found(entry)
        elif entry.name in known:
            task, files = known[entry.name]
            if files not in read:
                read.add(files)
                check_present(files, folder, task)
                yield _read(task, [folder / name for name in files])
        elif entry.name in STS_BENCHMARK or (entry.suffix in PAIR_SUFFIXES and has_pair_columns(entry)):
            yield read_scored_pairs(entry)
        elif entry.suffix not in DOCUMENTATION:
            raise ValueError(f"{entry} has the layout of no known task: move it away. Known are {LAYOUTS}")


def _files_of_tasks() -> dict[str, tuple[tuple[str, ...], ...]]:
    return {**{name: (files,) for name, files in CLASS_FILES.items()}, **SPLIT_FILES}


def _read(task: str, files: list[Path]) -> Task:
    if task == "TREC":
        return read_trec(*files)
    if task == "MSRP":
        return read_msrp(*files)
    return read_classes(task, files)
