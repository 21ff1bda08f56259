"""`tammes theory`: numbers from theory for your data, before anything is trained."""

import json
from dataclasses import asdict

from rich.table import Table

from tammes.checks import check_number
from tammes.cli.console import plain_console, print_table
from tammes.cli.negatives_table import NegativesTable
from tammes.cli.options.labels import read_labels
from tammes.cli.options.theory import Choice, TheoryNegatives, TheoryPacking, TheoryPositives
from tammes.cli.output import prepare_output
from tammes.cli.packing import FIGURES, print_packing
from tammes.theory import ClassDistribution, SampleComplexity

MOST = 10**9
"""Most classes and pairs, far more than data have; the search for the best k then takes 2 s."""


def main(choice: Choice) -> None:
    """Print the table, or draw it."""
    if isinstance(choice, TheoryPositives):
        _print_positives(choice)
    elif isinstance(choice, TheoryPacking):
        print_packing(choice)
    else:
        _print_negatives(choice)


def distribution_of(choice: TheoryNegatives) -> ClassDistribution:
    """Return the distribution of the classes, given by their number or by labels."""
    if (choice.classes is None) == (choice.labels is None):
        raise ValueError("say how many classes there are with --classes, or give --labels; one of them")
    if choice.labels is not None:
        labels = read_labels(choice.labels, column=choice.column)
        if len(set(labels)) == len(labels) > 1:
            raise ValueError(
                f"all {len(labels):,} labels in {choice.labels} differ, as names of examples do: "
                "name the column of classes with --column"
            )
        return ClassDistribution.of_labels(labels)
    assert choice.classes is not None
    if choice.column is not None:
        raise ValueError("--column names a column of the file of --labels, and there is none")
    if not 1 <= choice.classes <= MOST:
        raise ValueError(f"--classes must be from 2 to {MOST:,}, got {choice.classes}")
    return ClassDistribution.uniform(choice.classes)


def _print_negatives(choice: TheoryNegatives) -> None:
    if choice.figure is not None:
        if choice.figure.suffix not in FIGURES:
            raise ValueError(f"--figure must end in {', '.join(FIGURES)}, got {choice.figure}")
        prepare_output(choice.figure)
    if choice.batch is not None and choice.batch > MOST:
        raise ValueError(f"--batch must be at most {MOST:,} pairs, got {choice.batch}")
    classes = distribution_of(choice)
    negatives = NegativesTable(classes=classes, pairs=choice.batch)
    if choice.figure is not None:
        # Matplotlib takes longer to import than all the rest to compute.
        from tammes.report.figures.transfer import bounds_over_negatives

        figure = bounds_over_negatives(classes, pairs=choice.batch)
        figure.savefig(choice.figure, facecolor="white", dpi=200)
    if choice.json:
        print(json.dumps(negatives.numbers))
        return
    console = plain_console()
    print_table(negatives.table())
    for paragraph in negatives.paragraphs:
        console.print()
        console.print(paragraph)
    if choice.figure is not None:
        console.print()
        console.print(f"The figure is in {choice.figure}")


def _print_positives(choice: TheoryPositives) -> None:
    if not 2 <= choice.dimension <= 10**6:
        raise ValueError(f"--dimension must be from 2 to 1,000,000, got {choice.dimension}")
    check_number("--error", choice.error, minimum=1e-12, below=1)
    check_number("--delta", choice.delta, minimum=1e-12, below=1)
    complexity = SampleComplexity(dimension=choice.dimension, error=choice.error, delta=choice.delta)
    if choice.json:
        print(json.dumps(_numbers(complexity)))
        return
    console = plain_console()
    print_table(_table(complexity))
    console.print()
    console.print(_summary(complexity))


def _numbers(complexity: SampleComplexity) -> dict[str, object]:
    return {
        "passive": complexity.passive,
        "active": complexity.active,
        "draws": complexity.draws,
        "rounds": [asdict(each) | {"draws": each.draws} for each in complexity.rounds],
    }


def _table(complexity: SampleComplexity) -> Table:
    table = Table()
    for name in ("round", "accepted within", "share accepted", "samples", "draws", "error after it"):
        table.add_column(name, justify="right")
    for each in complexity.rounds:
        within = "everything" if each.accepted == 1 else f"{each.threshold:.3g}"
        samples, draws = f"{each.samples:,}", f"{each.draws:,.0f}"
        table.add_row(str(each.number), within, f"{each.accepted:.2g}", samples, draws, f"{each.error:.2g}")
    return table


def _summary(complexity: SampleComplexity) -> str:
    passive, active, draws = complexity.passive, complexity.active, complexity.draws
    return (
        f"Drawn at random, {passive:,} samples do; near the boundary {active:,}, which is "
        f"{'fewer' if active < passive else 'not fewer'}. But {draws:,.0f} must be drawn and measured to "
        f"accept these, which is {'more' if draws > passive else 'still fewer'} than at random: samples near "
        "the boundary save labels and updates rather than draws. The numbers are bounds with their constant "
        "taken as 1: compare them, but do not rely on their size."
    )
