"""Readers of the files of MR, CR, SUBJ, MPQA, TREC and MSRP as they were published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from tammes.data.passages import read_text
from tammes.evaluation.sentence_tasks.tasks import SentenceClasses, SentencePairs

CLASS_FILES = {
    "MR": ("rt-polarity.neg", "rt-polarity.pos"),
    "CR": ("custrev.neg", "custrev.pos"),
    "SUBJ": ("subj.subjective", "subj.objective"),
    "MPQA": ("mpqa.neg", "mpqa.pos"),
}
"""Files of the tasks with a file for each class."""

SPLIT_FILES = {
    "TREC": (("TREC.train", "TREC.test"), ("train_5500.label", "TREC_10.label")),
    "MSRP": (("msr_paraphrase_train.txt", "msr_paraphrase_test.txt"),),
}
"""Files of training and test of the other tasks, under each of their names."""

MSRP_COLUMNS = ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String")


def read_classes(name: str, files: Sequence[Path]) -> SentenceClasses:
    r"""Return a task with a file for each class and a sentence on each line, in Latin-1.

    Args:
        name: name of the task.
        files: file of each class; the part of its name behind the point names the class.

    Raises:
        ValueError: a file without a sentence.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     files = [Path(root) / "custrev.neg", Path(root) / "custrev.pos"]
        ...     for file in files:
        ...         _ = file.write_text("it works .\nit does n't .\n")
        ...     read_classes("CR", files).classes
        ('neg', 'pos')
    """
    sentences: list[str] = []
    labels: list[int] = []
    for label, file in enumerate(files):
        found = [line.strip() for _, line in _lines(file)]
        if not found:
            raise ValueError(f"expected a sentence on each line of {file}, found none")
        sentences += found
        labels += [label] * len(found)
    return SentenceClasses(
        name=name,
        sentences=tuple(sentences),
        labels=torch.tensor(labels),
        classes=tuple(file.suffix.removeprefix(".") for file in files),
    )


def read_trec(train: Path, test: Path) -> SentenceClasses:
    r"""Return TREC: lines `CLASS:subclass question` in Latin-1, of which the six classes count.

    Raises:
        ValueError: a line of another form, a class of the test that the training lacks.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     train, test = Path(root) / "TREC.train", Path(root) / "TREC.test"
        ...     _ = train.write_text("HUM:ind Who was Galileo ?\nNUM:date When was it ?\n")
        ...     _ = test.write_text("HUM:ind Who was Newton ?\n")
        ...     task = read_trec(train, test)
        >>> task.classes, task.tested
        (('HUM', 'NUM'), ('Who was Newton ?',))
    """
    parts = [_questions(file) for file in (train, test)]
    classes = sorted({label for label, _ in parts[0]})
    index = {label: row for row, label in enumerate(classes)}
    for label, question in parts[1]:
        if label not in index:
            raise ValueError(f"{test} has class {label} ({question[:40]!r}), which {train} lacks")
    return SentenceClasses(
        name="TREC",
        sentences=tuple(question for _, question in parts[0]),
        labels=torch.tensor([index[label] for label, _ in parts[0]]),
        classes=tuple(classes),
        tested=tuple(question for _, question in parts[1]),
        tested_labels=torch.tensor([index[label] for label, _ in parts[1]]),
    )


def read_msrp(train: Path, test: Path) -> SentencePairs:
    r"""Return MSRP: tables of tabs with the columns Quality, #1 ID, #2 ID, #1 String, #2 String.

    Raises:
        ValueError: another header, a row of another form, or no row.

    Example:
        >>> import tempfile
        >>> rows = "\t".join(MSRP_COLUMNS) + "\n1\t7\t8\tIt rained.\tRain fell.\n0\t7\t9\tA.\tB."
        >>> with tempfile.TemporaryDirectory() as root:
        ...     file = Path(root) / "msr_paraphrase_train.txt"
        ...     _ = file.write_text(rows)
        ...     task = read_msrp(file, file)
        >>> task.pairs[0], task.labels.tolist()
        (('It rained.', 'Rain fell.'), [1, 0])
    """
    known, tested = (_pairs(file) for file in (train, test))
    return SentencePairs(
        name="MSRP",
        pairs=tuple(pair for pair, _ in known),
        labels=torch.tensor([label for _, label in known]),
        tested=tuple(pair for pair, _ in tested),
        tested_labels=torch.tensor([label for _, label in tested]),
    )


def _lines(file: Path, encoding: str = "latin-1") -> list[tuple[int, str]]:
    """Return the number and the content of each line that is not blank."""
    # Lines end at \\n alone: 0x85 is a character of some sentences, at which str.splitlines would cut.
    text = read_text(file, encoding)
    if "\0" in text:  # any bytes are Latin-1
        raise ValueError(f"expected sentences in {file}, got bytes that are no text: unpack it")
    lines = enumerate(text.split("\n"), 1)
    return [(number, line) for number, line in lines if line.strip()]


def _questions(file: Path) -> list[tuple[str, str]]:
    found = []
    for number, line in _lines(file):
        label, _, question = line.strip().partition(" ")
        if ":" not in label or not question.strip():
            raise ValueError(
                f"expected CLASS:subclass and a question in line {number} of {file}, got {line[:40]!r}"
            )
        found.append((label.partition(":")[0], question.strip()))
    if not found:
        raise ValueError(f"expected questions in {file}, found none")
    return found


def _pairs(file: Path) -> list[tuple[tuple[str, str], int]]:
    # A quotation mark is a character of its sentence: no reader of CSV may see it.
    (_, head), *rows = _lines(file, "utf-8") or [(1, "")]
    if tuple(name.strip() for name in head.split("\t")) != MSRP_COLUMNS:
        raise ValueError(
            f"expected the columns {', '.join(MSRP_COLUMNS)} between tabs in {file}, got {head[:60]!r}"
        )
    found = []
    for number, row in rows:
        fields = [field.strip() for field in row.split("\t")]
        if len(fields) != 5 or fields[0] not in ("0", "1") or not (fields[3] and fields[4]):
            raise ValueError(
                f"expected 0 or 1, two ids and two sentences between tabs in line {number} of {file}, "
                f"got {row[:60]!r}"
            )
        found.append(((fields[3], fields[4]), int(fields[0])))
    if not found:
        raise ValueError(f"expected pairs of sentences in {file}, found none")
    return found
