"""Options of `tammes diagnose`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tammes.checks import check_integer, check_seed
from tammes.cli.options.parsing import Options

RARE = frozenset({"vectors", "splits", "text", "images", "batch", "neighbors", "seed"})


@dataclass(frozen=True, kw_only=True)
class Diagnose:
    """Diagnose embeddings from any encoder: collapse, hubs, duplicates, labels, and what to try next.

    tammes diagnose embeddings.parquet --labels label

    Args:
        file: File of embeddings: a list column or numeric columns of .parquet, .csv or .tsv, or a matrix of
            .npy, .npz or .safetensors; or the folder of a run, which embeds its data if it has no such file.
        labels: Column of classes, or a file with the class of each row: .npy, .txt with a line for each row,
            or .csv with a column label.
        against: File of other embeddings of the same rows, in the same order, to compare with.
        pairs: Column, or .npy file, with the row number of each row's positive, counted from 0; -1 for none.
            A file may also have two columns, the rows of each pair.
        splits: Column, or .npy file, of splits, such as train and test, between which duplicates are leaks.
        text: Column of texts or names that the page shows for a row (by default, one called name or text);
            with --images, the column of their files.
        images: Folder of the images behind the rows, of which the page shows small ones.
        vectors: List column or array of the embeddings, if there are several.
        drop: Leave out rows with NaN or infinity, and rows of length zero.
        fail_on: End with exit code 1 if this holds of the measures, as in "rankme < 50 or hubs > 0".
        out: Folder of report.html, rows.parquet and summary.json (by default, the name of the file with
            -diagnosis).
        json: Print the summary as JSON instead of sentences.
        batch: Pairs in a training batch, for the advice on negatives.
        neighbors: Nearest rows that vote and are compared.
        seed: Random seed of samples and of the Gaussian beside each measure.
    """

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    labels: str | None = None
    against: Path | None = None
    pairs: str | None = None
    splits: str | None = None
    text: str | None = None
    images: Path | None = None
    vectors: str | None = None
    drop: bool = False
    fail_on: str | None = None
    out: Path | None = None
    json: bool = False
    batch: int | None = None
    neighbors: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer("--neighbors", self.neighbors)
        check_seed("--seed", self.seed)
        if self.batch is not None:
            check_integer("--batch", self.batch, minimum=2)


def parse(words: Sequence[str]) -> Diagnose:
    """Return what the words after `tammes diagnose` choose."""
    choice: Diagnose = Options.of(Diagnose, RARE).parse("diagnose", words)
    return choice
