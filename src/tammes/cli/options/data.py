"""The data on the command line: images, texts, graphs or volumes, and the part held out for measuring."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tammes.checks import check_integer, check_number
from tammes.cli.options.texts import TextFormat

Accelerator = Literal["auto", "cpu", "gpu"]
"""Devices that `tammes.training.Machine` takes; its module imports lightning, which no option needs."""

HELD_OUT = 0.1
"""Part of each class that is kept for measuring where no other is given."""

MOST_CLASSES = 10**9
"""Far more than data have."""

RARE = frozenset(
    {
        *(
            "strict",
            "unchecked",
            "classes",
            "cache",
            "buffer",
            "image_column",
            "feature",
            "neighbors",
            "neighbor_temperature",
        ),
        *("split", "files", "encoding", "prose", "text_column", "label_column"),
        *("anchor_column", "positive_column", "negative_column"),
    }
)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Images, texts, graphs or volumes.

    Args:
        data: `digits` (scikit-learn's scans), `glyphs:N` (N invented characters) or `trifeature` (textured
            shapes in colors), with nothing to download; CIFAR-10, CIFAR-100, MNIST or SVHN as published; a
            folder of images, with a folder for each class if they have labels; tar shards in the WebDataset
            layout (a folder, or 'train-{000..009}.tar'); images in parquet or arrow files, streamed
            (hf:PATH); `digits-over:FOLDER`; or texts: a folder of plain-text files, each a document with a
            sentence a line, one such file, a table (CSV, TSV, JSONL, parquet), or a Hugging Face data set
            (hub:owner/name, or its folder); or graphs: a set of the TU collection, lists of edges (*.edges,
            *.edgelist) with labels.csv, or a table with edge_index, streamed (hf:PATH); or the nodes of a
            graph (nodes:PATH); or volumes: a folder of NIfTI or NumPy files with outcomes.csv, one NumPy
            file, or `synthetic-volumes:N`.
        strict: Refuse a folder or table that holds anything else, a damaged image, or a shard that is cut
            short, instead of leaving it out.
        unchecked: Do not decode each image of a folder once before the work begins: it begins sooner, and a
            damaged image ends it.
        cache: Folder in which the decoded images of a folder or of shards are kept, or the sentences of texts
            and their tokens, so that each is read once, and a set may be larger than memory (by default none
            are kept).
        buffer: Images of shards, or images or graphs of a stream, that an epoch mixes with each other, beyond
            the order of the shards.
        image_column: Column of the images of a stream (by default image or img).
        feature: Feature whose values are the labels, for images that have several: shape, texture or color of
            `trifeature`, object or digit of `digits-over` (by default the first of these).
    """

    data: str
    strict: bool = False
    unchecked: bool = False
    cache: Path | None = None
    buffer: int = 2048
    image_column: str | None = None
    feature: str | None = None
    format: TextFormat = field(default_factory=TextFormat)


@dataclass(frozen=True, kw_only=True)
class Split(Source):
    """Data to train on, and data to measure on.

    Args:
        test: Labeled data of the same kind to measure on, with the same classes (by default a part of the
            data: see --held-out).
        held_out: Without --test, the part of each class of labeled data that is kept for measuring and not
            trained on; 0 trains on everything and measures nothing (by default 0.1; of given pairs 0).
        neighbors: Nearest neighbors that vote for the class of a row (by default 20, or all rows of a smaller
            set).
        neighbor_temperature: Weigh their votes by exp(cosine / temperature), as with 0.1, instead of counting
            them (by default).
        classes: Number of classes, for the advice on negatives (by default counted from labels, or estimated
            from the trained encoder where there are none).
    """

    test: Path | None = None
    held_out: float | None = None
    neighbors: int | None = None
    neighbor_temperature: float | None = None
    classes: int | None = None

    def __post_init__(self) -> None:
        reason = "it is the part of each class that is kept for measuring"
        check_number("--held-out", self.held_out_part, minimum=0, below=1, reason=reason)
        if self.neighbors is not None:
            check_integer("--neighbors", self.neighbors)
        if self.neighbor_temperature is not None:
            check_number("--neighbor-temperature", self.neighbor_temperature, above=0)
        if self.classes is not None and not 2 <= self.classes <= MOST_CLASSES:
            raise ValueError(f"--classes must be from 2 to {MOST_CLASSES:,}, got {self.classes}")

    @property
    def held_out_part(self) -> float:
        """Part of each class that is kept for measuring."""
        return HELD_OUT if self.held_out is None else self.held_out
