"""Small files in the layouts of the published tasks, whose classes differ in their words."""

from __future__ import annotations

import json
import random
from pathlib import Path

import torch

HEAD = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
FILLING = ["the", "a", "film", "plot", "actor", "scene", "of", "with", "and", "was", "is", "on"]
WORDS = {
    "pos": ["good", "great", "fine", "lovely", "bright", "warm"],
    "neg": ["bad", "poor", "dull", "awful", "dark", "cold"],
}


def sentences(kind: str, count: int, seed: int) -> list[str]:
    draw = random.Random(f"{kind}{seed}")
    return [
        " ".join(draw.sample(FILLING, 5) + draw.sample(WORDS[kind], 2)) + f" {draw.randrange(10**6)}"
        for _ in range(count)
    ]


def write_classes(folder: Path, count: int = 40) -> None:
    for seed, (negative, positive) in enumerate(
        (
            ("rt-polarity.neg", "rt-polarity.pos"),
            ("custrev.neg", "custrev.pos"),
            ("subj.subjective", "subj.objective"),
            ("mpqa.neg", "mpqa.pos"),
        )
    ):
        for kind, name in (("neg", negative), ("pos", positive)):
            lines = sentences(kind, count, seed)
            (folder / name).write_bytes(("\n".join(lines) + "\n").encode("latin-1"))


def write_trec(folder: Path, count: int = 30) -> None:
    for name, seed, rows in (("TREC.train", 1, count), ("TREC.test", 2, 10)):
        lines = [f"NUM:date {each} ?" for each in sentences("pos", rows, seed)]
        lines += [f"HUM:ind {each} ?" for each in sentences("neg", rows, seed)]
        (folder / name).write_text("\n".join(lines), encoding="latin-1")


def write_msrp(folder: Path, count: int = 40) -> None:
    for name, seed, rows in (("train", 1, count), ("test", 2, 15)):
        lines = [HEAD]
        for first in sentences("pos", rows, seed):
            lines.append(f"1\t1\t2\t{first}\t{' '.join(reversed(first.split()))}")
        for first, second in zip(sentences("neg", rows, seed), sentences("pos", rows, 9), strict=True):
            lines.append(f'0\t1\t2\t"{first}\t{second}')
        (folder / f"msr_paraphrase_{name}.txt").write_text("\ufeff" + "\r\n".join(lines), encoding="utf-8")


def write_scored(file: Path, count: int = 20) -> None:
    rows = ["sentence1\tsentence2\tscore"]
    for row, first in enumerate(sentences("pos", count, 3)):
        words = first.split()
        rows.append(f"{first}\t{' '.join(words[: 1 + row % len(words)])}\t{row % len(words)}")
    file.write_text("\n".join(rows), encoding="utf-8")


def write_retrieval(folder: Path, count: int = 12) -> None:
    (folder / "qrels").mkdir(parents=True)
    documents = sentences("pos", count, 4)
    corpus = [{"_id": f"d{row}", "title": "", "text": text} for row, text in enumerate(documents)]
    queries = [{"_id": f"q{row}", "text": text} for row, text in enumerate(documents[:5])]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    table = ["query-id\tcorpus-id\tscore", *(f"q{row}\td{row}\t1" for row in range(5)), "q0\td9\t0"]
    (folder / "qrels/test.tsv").write_text("\n".join(table), encoding="utf-8")


def write_all(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    write_classes(folder)
    write_trec(folder)
    write_msrp(folder)
    write_scored(folder / "sts.tsv")
    write_retrieval(folder / "animals")
    (folder / "README.md").write_text("What these are.")
    return folder


def write_books_and_tasks(root: Path) -> Path:
    """Books and tasks whose classes share a word."""
    generator = torch.Generator().manual_seed(0)
    words = "the a cat dog bird sees hears finds small large red blue".split()  # noqa: SIM905

    def sentence(*more: str) -> str:
        drawn = torch.randint(len(words), (6,), generator=generator).tolist()
        return " ".join([*(words[word] for word in drawn), *more])

    (root / "books").mkdir(parents=True)
    for book in range(3):
        text = " ".join(f"{sentence().capitalize()}." for _ in range(120))
        (root / "books" / f"{book}.txt").write_text(text)
    tasks = root / "tasks"
    tasks.mkdir()
    for stem, kinds in {
        "rt-polarity": ("neg", "pos"),
        "custrev": ("neg", "pos"),
        "subj": ("objective", "subjective"),
        "mpqa": ("neg", "pos"),
    }.items():
        for kind in kinds:
            (tasks / f"{stem}.{kind}").write_text("".join(f"{sentence(kind)}\n" for _ in range(15)))
    for part in ("train", "test"):
        questions = (f"{kind}:x {sentence(kind)} ?\n" for kind in ("NUM", "LOC") for _ in range(12))
        (tasks / f"TREC.{part}").write_text("".join(questions))
        rows = (f"{row % 2}\t{row}\t{row}\t{sentence()}\t{sentence()}\n" for row in range(24))
        header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
        (tasks / f"msr_paraphrase_{part}.txt").write_text(header + "".join(rows))
    return root
