"""Options of `tammes embed`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tammes.checks import check_integer
from tammes.cli.options.data import RARE, Accelerator, Source
from tammes.cli.options.parsing import Options


@dataclass(frozen=True, kw_only=True)
class Embed:
    """Write the features and embeddings of images, texts, graphs or volumes to a file.

    tammes embed runs/mine --data FOLDER --out embeddings.parquet

    Args:
        run: Folder of the run.
        out: File to write: .parquet has the columns name, label (the name of the class), features and
            projection; .npz has arrays of these names, labels as numbers, and classes.
        batch_size: Rows at a time.
        workers: Processes that decode images.
        accelerator: Device to compute on; auto takes a GPU if there is one.
        trust: Build the network by the code that the run names (encoder:module), which is executed.
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    source: Source
    out: Path
    batch_size: int = 512
    workers: int = 0
    accelerator: Accelerator = "auto"
    trust: bool = False

    def __post_init__(self) -> None:
        check_integer("--batch-size", self.batch_size)
        if self.out.suffix not in (".parquet", ".npz"):
            raise ValueError(f"--out must end in .parquet or .npz, got {self.out}")


def parse(words: Sequence[str]) -> Embed:
    """Return what the words after `tammes embed` choose."""
    choice: Embed = Options.of(Embed, RARE | {"trust"}).parse("embed", words)
    return choice
