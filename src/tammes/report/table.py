"""The table at the head of the page."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from tammes.diagnostics import collision_share, weighted_collision_share
from tammes.report.comparison import Comparison, Outcome
from tammes.report.estimate import estimate
from tammes.report.negatives import effective_negatives
from tammes.report.scores import Floor, Integers, Scores
from tammes.report.wording import percent


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One number as it is shown.

    Args:
        text: the number, or a dash.
        error: its standard error, or nothing.
        best: whether it is the highest accuracy of its column.
    """

    text: str
    error: str = ""
    best: bool = False


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column's title, and whether it stands under "linear probe"."""

    title: str
    probe: bool = False


@dataclass(frozen=True, kw_only=True)
class Row:
    """One objective, with its color, or one floor, without."""

    name: str
    color: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """The table of a comparison, ready to be shown."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str

    @property
    def probes(self) -> int:
        """The number of columns under "linear probe"."""
        return sum(column.probe for column in self.columns)

    @property
    def leading(self) -> tuple[Column, ...]:
        """The columns before those under "linear probe"."""
        return tuple(itertools.takewhile(lambda column: not column.probe, self.columns))

    @property
    def trailing(self) -> tuple[Column, ...]:
        """The columns after them."""
        return self.columns[len(self.leading) + self.probes :]


_ACCURACIES: tuple[tuple[Column, Callable[[Scores], float | None]], ...] = (
    (Column(title="kNN"), lambda scores: scores.knn),
    (Column(title="class means"), lambda scores: scores.means),
    (Column(title="linear classifier"), lambda scores: scores.linear),
    (Column(title="all labels", probe=True), lambda scores: scores.probe),
    (Column(title="10 %", probe=True), lambda scores: scores.probe_10_percent),
    (Column(title="1 %", probe=True), lambda scores: scores.probe_1_percent),
)


def score_table(comparison: Comparison, colors: tuple[str, ...]) -> Table:
    """All accuracies that were measured, what the weights did, and the time.

    Args:
        comparison: of which this is the table.
        colors: one CSS color per objective.
    """
    contenders = [outcome.scores for outcome in comparison.outcomes]
    everyone = contenders + [floor.scores for floor in comparison.floors]
    shown = [(column, of) for column, of in _ACCURACIES if any(of(scores) is not None for scores in everyone)]
    # A single objective has nobody to be better than.
    tops = [
        max(of(scores) or 0.0 for scores in contenders) if len(contenders) > 1 else None for _, of in shown
    ]
    labels = comparison.sample.labels
    columns = [column for column, _ in shown]
    columns += [Column(title="weight on own class")] if labels is not None else []
    columns += [Column(title="effective negatives"), Column(title="seconds")]

    rows = []
    for outcome, color in zip(comparison.outcomes, colors, strict=True):
        cells = [
            _accuracy(of, outcome, comparison.test_size, top)
            for (_, of), top in zip(shown, tops, strict=True)
        ]
        cells += [Cell(text=percent(_weight_on_own_class(outcome, labels)))] if labels is not None else []
        cells += [Cell(text=f"{effective_negatives(outcome):.0f}"), Cell(text=f"{outcome.seconds:.1f}")]
        rows.append(Row(name=outcome.name, color=color, cells=tuple(cells)))
    for floor in comparison.floors:
        cells = [_accuracy(of, floor, comparison.test_size, None) for _, of in shown]
        cells += [Cell(text="–")] * (len(columns) - len(cells))
        rows.append(Row(name=floor.name, color="", cells=tuple(cells)))
    return Table(columns=tuple(columns), rows=tuple(rows), note=_note(comparison, bool(shown)))


def _accuracy(
    of: Callable[[Scores], float | None], measured: Outcome | Floor, test_size: int, top: float | None
) -> Cell:
    """An accuracy, bold where it reads the same as the top of its column."""
    value = of(measured.scores)
    if value is None:
        return Cell(text="–")
    seeds = [each for each in map(of, measured.seeds) if each is not None]
    error = estimate(value, test_size, seeds).error
    text = f"{100 * value:.1f}"
    return Cell(text=text, error=f"{100 * error:.1f}", best=top is not None and text == f"{100 * top:.1f}")


def _weight_on_own_class(outcome: Outcome, labels: Integers) -> float:
    """The share of negative weight that lies on false negatives, over both views of the batch."""
    twice = np.tile(np.asarray(labels[: outcome.pairs], dtype=np.int64), 2)
    return weighted_collision_share(torch.tensor(twice), torch.tensor(outcome.weights))


def _note(comparison: Comparison, measured: bool) -> str:
    """What the columns are, with the numbers that uniform weights would give."""
    sample, pairs = comparison.sample, comparison.outcomes[0].pairs
    labels = sample.labels
    sentences = []
    if measured:
        sentences.append(
            f"Accuracies in per cent of {comparison.test_size} test {sample.data}, ± one standard error"
            + ("; the highest of each column is bold." if len(comparison.outcomes) > 1 else ".")
        )
    if labels is not None:
        level = percent(collision_share(torch.tensor(np.asarray(labels[:pairs], dtype=np.int64))))
        sentences.append(
            f"Weight on own class: the share of negative weight on false negatives ({level} if uniform)."
        )
    sentences.append(
        f"Effective negatives: how many equally weighted ones would be as concentrated, of {2 * pairs - 2} "
        f"in a batch of {pairs} {sample.many if sample.partners is None else 'pairs'}."
    )
    return " ".join(sentences)
