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
    """Measure a trained encoder on labeled images, texts, graphs or volumes, or on outcomes of their rows.

    tammes evaluate runs/mine --data FOLDER --test FOLDER

    The classifiers learn from the rows of --data and are tested on those of --test, or on the part that is
    held out of --data. A training on the same data with the same --held-out has left out the same rows. All
    graphs of --data are classified, each by a classifier that learns from the other folds. So are all rows
    if --outcome or --ordinal names columns of outcomes, which are then measured in place of labels.

    Args:
        run: Folder of the run.
        outcome: Columns of real outcomes, such as age, which ridge regression predicts (R^2).
        ordinal: Columns of integer grades, which logistic regression predicts (accuracy and 1-off accuracy).
        outcomes: Table of outcomes (CSV or TSV) with a column id and a row for each row of the data, by its
            name with or without its suffix (by default outcomes.csv in a folder of volumes).
        folds: Folds of the cross-validation of graphs and of outcomes.
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
    outcome: tuple[str, ...] = ()
    ordinal: tuple[str, ...] = ()
    outcomes: Path | None = None
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
        if self.outcomes is not None and not self.outcome and not self.ordinal:
            raise ValueError(
                f"--outcomes {self.outcomes} needs columns: name real ones by --outcome, grades by --ordinal"
            )
        if both := sorted({*self.outcome} & {*self.ordinal}):
            raise ValueError(
                f"{both[0]} is either real or ordinal: leave it out of --outcome or of --ordinal"
            )


def parse(words: Sequence[str]) -> Evaluate:
    """Return what the words after `tammes evaluate` choose."""
    choice: Evaluate = Options.of(
        Evaluate, RARE | {"trust", "augmentation", "folds", "repeats", "distinct", "ordinal", "outcomes"}
    ).parse("evaluate", words)
    return choice
