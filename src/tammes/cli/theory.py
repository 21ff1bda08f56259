"""`tammes theory`: what theory says of your data, before anything is trained."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console

from tammes.cli.advice import Advice
from tammes.cli.labels import read_labels
from tammes.cli.target import prepare
from tammes.cli.theory_positives import Positives
from tammes.theory import ClassDistribution

FIGURES = (".svg", ".png", ".pdf")
MOST = 10**9
"""Classes and pairs: far more than data have; the search for the best k takes 2 s for so many classes."""


@dataclass(frozen=True, kw_only=True)
class Negatives:
    """How likely negatives are false, how many the bounds prefer, and what that means.

    tammes theory negatives --classes 1000 --batch 512

    tammes theory negatives --labels labels.csv --figure bounds.svg

    Args:
        classes: The number of classes, taken to be equally likely.
        labels: A file with the class of each example instead: a CSV with a column of labels, or a label on
            each line.
        column: Which column of the CSV has the labels (by default, the one named label).
        batch: The pairs in a batch, to hear of its negatives.
        figure: A file to draw the bounds in: .svg, .png or .pdf.
        json: Print numbers for other programs instead of a table and words.
    """

    classes: int | None = None
    labels: Path | None = None
    column: str | None = None
    batch: int | None = None
    figure: Path | None = None
    json: bool = False

    def distribution(self) -> ClassDistribution:
        """The classes that were named, one way or the other."""
        if (self.classes is None) == (self.labels is None):
            raise ValueError("say how many classes there are with --classes, or give --labels; one of them")
        if self.labels is not None:
            labels = read_labels(self.labels, column=self.column)
            if len(set(labels)) == len(labels) > 1:
                raise ValueError(
                    f"all {len(labels):,} labels in {self.labels} differ, as names of examples do: "
                    "name the column of classes with --column"
                )
            return ClassDistribution.of_labels(labels)
        assert self.classes is not None
        if self.column is not None:
            raise ValueError("--column names a column of the file of --labels, and there is none")
        if not 1 <= self.classes <= MOST:
            raise ValueError(f"--classes must be from 2 to {MOST:,}, got {self.classes}")
        return ClassDistribution.uniform(self.classes)


def main(arguments: Sequence[str]) -> None:
    """Run the command with the words after `tammes theory`."""
    app = tyro.extras.SubcommandApp()
    app.command(name="negatives")(Negatives)
    app.command(name="positives")(Positives)
    choice = app.cli(
        prog="tammes theory",
        description="What theory says of your data, before anything is trained.",
        args=list(arguments) or ["--help"],
        config=(tyro.conf.FlagCreatePairsOff,),
    )
    if isinstance(choice, Positives):
        choice.say()
    else:
        _say(choice)


def _say(choice: Negatives) -> None:
    if choice.figure is not None:
        if choice.figure.suffix not in FIGURES:
            raise ValueError(f"--figure must end in {', '.join(FIGURES)}, got {choice.figure}")
        prepare(choice.figure)
    if choice.batch is not None and choice.batch > MOST:
        raise ValueError(f"--batch must be at most {MOST:,} pairs, got {choice.batch}")
    classes = choice.distribution()
    advice = Advice.of(classes, pairs=choice.batch)
    if choice.figure is not None:
        # Matplotlib takes longer to import than all the rest to compute.
        from tammes.report.figures.transfer import bounds_over_negatives

        figure = bounds_over_negatives(classes, pairs=choice.batch)
        figure.savefig(choice.figure, facecolor="white", dpi=200)
    if choice.json:
        print(json.dumps(advice.numbers))
        return
    console = Console(highlight=False)
    console.print(advice.table())
    for paragraph in advice.paragraphs:
        console.print()
        console.print(paragraph, markup=False)
    if choice.figure is not None:
        console.print()
        console.print(f"The figure is in {choice.figure}", markup=False)
