"""Options of `tammes evaluate`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from tammes.checks import check_integer
from tammes.cli.options.data import RARE, Accelerator, Split
from tammes.cli.options.parsing import Options


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure a trained encoder on labeled images, texts or graphs.

    tammes evaluate runs/mine --data FOLDER --test FOLDER

    The classifiers learn from the rows of --data and are tested on those of --test, or on the part that is
    held out of --data. A training on the same data with the same --held-out has left out the same rows. All
    graphs of --data are classified, each by a classifier that learns from the other folds.

    Args:
        run: Folder of the run.
        folds: Folds of the cross-validation of graphs.
        repeats: Repetitions of the cross-validation of graphs, each with other folds.
        distinct: Leave out graphs that color refinement cannot tell from an earlier one.
        json: Print one JSON object instead of a table.
        accelerator: Device to compute on; auto takes a GPU if there is one.
        trust: Build the network by the code that the run names (encoder:module), which is executed.
        augmentation: Augmentation of images of which is asked whether it rotates the embeddings (by default
            that of the run).
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    source: Split
    folds: int = 10
    repeats: int = 1
    distinct: bool = False
    json: bool = False
    accelerator: Accelerator = "auto"
    trust: bool = False
    augmentation: Literal["photographs", "handwriting"] | None = None

    def __post_init__(self) -> None:
        check_integer("--folds", self.folds, minimum=2)
        check_integer("--repeats", self.repeats)


def parse(words: Sequence[str]) -> Evaluate:
    """Return what the words after `tammes evaluate` choose."""
    choice: Evaluate = Options.of(
        Evaluate, RARE | {"trust", "augmentation", "folds", "repeats", "distinct"}
    ).parse("evaluate", words)
    return choice
