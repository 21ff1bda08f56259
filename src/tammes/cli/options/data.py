"""The data on the command line: images or texts, and the part held out for measuring."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tammes.checks import check_number
from tammes.cli.options.texts import TextFormat

Accelerator = Literal["auto", "cpu", "gpu"]
"""Devices that `tammes.training.Machine` takes; its module imports lightning, which no option needs."""

MOST_CLASSES = 10**9
"""Far more than data have."""

RARE = frozenset(
    {"strict", "unchecked", "classes", "split", "files", "encoding", "prose", "text_column", "label_column"}
)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Images or texts.

    Args:
        data: `digits` (scikit-learn's scans) or `glyphs` (400 characters of invented alphabets, `glyphs:N`
            for another number), with nothing to download; CIFAR-10, MNIST or SVHN in their published files; a
            folder of images, where a folder in it for each class gives labels; or texts: a folder of
            plain-text files, each a document with a sentence a line, one such file, a table (CSV, TSV, JSONL,
            parquet), or a Hugging Face data set (hub:owner/name, or a folder where it was saved).
        strict: Refuse a folder or table that holds anything else, or a damaged image, instead of leaving it
            out.
        unchecked: Do not decode each image of a folder once before the work begins: it begins sooner, and a
            damaged image ends it.
    """

    data: str
    strict: bool = False
    unchecked: bool = False
    format: TextFormat = field(default_factory=TextFormat)


@dataclass(frozen=True, kw_only=True)
class Split(Source):
    """Data to train on, and data to measure on.

    Args:
        test: Labeled data of the same kind to measure on, with the same classes (by default a part of the
            data: see --held-out).
        held_out: Without --test, the part of each class of labeled data that is kept for measuring and not
            trained on; 0 trains on everything and measures nothing.
        classes: Number of classes, for the advice on negatives (by default counted from labels, or estimated
            from the trained encoder where there are none).
    """

    test: Path | None = None
    held_out: float = 0.1
    classes: int | None = None

    def __post_init__(self) -> None:
        reason = "it is the part of each class that is kept for measuring"
        check_number("--held-out", self.held_out, minimum=0, below=1, reason=reason)
        if self.classes is not None and not 2 <= self.classes <= MOST_CLASSES:
            raise ValueError(f"--classes must be from 2 to {MOST_CLASSES:,}, got {self.classes}")
