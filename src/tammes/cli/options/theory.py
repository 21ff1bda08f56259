"""Options of `tammes theory`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from tammes.cli.options.parsing import Options, check_word, with_plain_help


@dataclass(frozen=True, kw_only=True)
class TheoryNegatives:
    """Show how likely negatives are false, and how many the bounds prefer.

    tammes theory negatives --classes 1000 --batch 512

    tammes theory negatives --labels labels.csv --figure bounds.svg

    Args:
        classes: Number of classes, taken to be equally likely.
        labels: File with the class of each example instead: a CSV with a column of labels, or a label on
            each line.
        column: Column of the CSV that has the labels (by default, the one named label).
        batch: Pairs in a batch, to add its negatives.
        figure: File to draw the bounds in: .svg, .png or .pdf.
        json: Print numbers for other programs instead of a table and words.
    """

    classes: int | None = None
    labels: Path | None = None
    column: str | None = None
    batch: int | None = None
    figure: Path | None = None
    json: bool = False


@dataclass(frozen=True, kw_only=True)
class TheoryPositives:
    """Show how many samples separate two classes, drawn at random or near the current boundary.

    tammes theory positives --dimension 64 --error 0.001

    Args:
        dimension: Dimension of the embeddings.
        error: Share of directions that may be on the wrong side.
        delta: Probability of failing.
        json: Print numbers for other programs instead of a table and words.
    """

    dimension: int
    error: float = 0.01
    delta: float = 0.05
    json: bool = False


@dataclass(frozen=True, kw_only=True)
class TheoryPacking:
    """Place points on a sphere as far apart as can be, as classes stand in the limit of hard negatives.

    tammes theory packing --classes 10 --dim 3 --figure packing.svg

    Args:
        classes: Number of points, one for each class.
        dim: Dimension of the space, that of the embeddings.
        weights: Frequency of each class, for the weighted problem; without them, Tammes' problem.
        restarts: Random starts of the search (by default, fewer for more points).
        seed: Random seed of the starts.
        figure: File to draw the points and their contacts in: .svg, .png or .pdf, or .html for a sphere to
            turn.
        json: Print numbers and points for other programs instead of words.
    """

    classes: int
    dim: int
    weights: tuple[float, ...] | None = None
    restarts: int | None = None
    seed: int = 0
    figure: Path | None = None
    json: bool = False


OF: dict[str, type] = {
    "negatives": TheoryNegatives,
    "positives": TheoryPositives,
    "packing": TheoryPacking,
}

Choice = TheoryNegatives | TheoryPositives | TheoryPacking


def parse(words: Sequence[str]) -> Choice:
    """Return what the words after `tammes theory` choose; without any, show which tables there are."""
    if words and not words[0].startswith("-"):
        check_word("table", words[0], OF)
        choice: Choice = Options.of(OF[words[0]]).parse(f"theory {words[0]}", words[1:])
        return choice
    app = tyro.extras.SubcommandApp()
    for name, kind in OF.items():
        app.command(name=name)(kind)
    # This explains them, or refuses an option that belongs to one of them.
    return app.cli(
        prog="tammes theory",
        description="Numbers from theory for your data, before anything is trained.",
        args=with_plain_help(words) or ["--help"],
    )
