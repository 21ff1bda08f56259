"""Sentences from a folder of documents, a file, a table, or a Hugging Face data set."""

from pathlib import Path

import torch

from tammes.data.texts import Texts


def texts(path: str | Path, *, files: str = "*.txt", encoding: str = "utf-8") -> Texts:
    """The sentences of a folder of plain-text files, each a document, or of one file; a line a sentence."""
    root = Path(path)
    paths = [root] if root.is_file() else sorted(root.rglob(files))
    sentences: list[str] = []
    names: list[str] = []
    labels: list[int] = []
    classes: list[str] = []
    for file in paths:
        name = file.name if root.is_file() else file.relative_to(root).as_posix()
        for number, line in enumerate(file.read_text(encoding=encoding).split("\n"), 1):
            if line.strip():
                sentences.append(line.strip())
                names.append(f"{name}:{number}")
                labels.append(len(classes))
        classes.append(name)
    known = not root.is_file()
    return Texts(
        sentences=tuple(sentences),
        names=tuple(names),
        labels=torch.tensor(labels) if known else None,
        classes=tuple(classes) if known else None,
    )
