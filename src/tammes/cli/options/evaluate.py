"""Options of `tammes evaluate`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from tammes.cli.options.data import RARE, Accelerator, Split
from tammes.cli.options.parsing import Options


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure a trained encoder on labeled images or texts.

    tammes evaluate runs/mine --data FOLDER --test FOLDER

    The classifiers learn from the rows of --data and are tested on those of --test, or on the part that is
    held out of --data. A training on the same data with the same --held-out has left out the same rows.

    Args:
        run: Folder of the run.
        json: Print one JSON object instead of a table.
        accelerator: Device to compute on; auto takes a GPU if there is one.
        trust: Build the network by the code that the run names (encoder:module), which is executed.
        augmentation: Augmentation of images of which is asked whether it rotates the embeddings (by default
            that of the run).
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    source: Split
    json: bool = False
    accelerator: Accelerator = "auto"
    trust: bool = False
    augmentation: Literal["photographs", "handwriting"] | None = None


def parse(words: Sequence[str]) -> Evaluate:
    """Return what the words after `tammes evaluate` choose."""
    choice: Evaluate = Options.of(Evaluate, RARE | {"trust", "augmentation"}).parse("evaluate", words)
    return choice
