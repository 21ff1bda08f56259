"""Table of scores at the top of the page."""

from dataclasses import dataclass

import numpy as np
import torch

from tammes.diagnostics import collision_share
from tammes.report.comparison import Comparison, Outcome
from tammes.report.markup import percent
from tammes.report.negatives import effective_negatives, weight_on_own_class
from tammes.report.scores import COLUMNS, Accuracy, Floor


@dataclass(frozen=True, kw_only=True)
class ScoreCell:
    """Number in the table.

    Args:
        text: the number, or a dash.
        interval: ends of its 95 % interval; may be empty.
        best: whether it is the highest accuracy of its column.
    """

    text: str
    interval: str = ""
    best: bool = False


@dataclass(frozen=True, kw_only=True)
class ScoreRow:
    """Row of one objective, with its color, or of one floor, without."""

    name: str
    color: str
    cells: tuple[ScoreCell, ...]


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """Table of a comparison, or of runs.

    Args:
        first: title of the column of names.
        leading: titles of the columns before the linear probes.
        probes: titles of the columns of linear probes.
        trailing: titles of the columns after them.
        rows: objectives, then floors.
        note: explanation of the columns.
    """

    first: str
    leading: tuple[str, ...]
    probes: tuple[str, ...]
    trailing: tuple[str, ...]
    rows: tuple[ScoreRow, ...]
    note: str


def score_table(comparison: Comparison, colors: tuple[str, ...]) -> ScoreTable:
    """Return the table of all measured accuracies, the concentration of the weights, and the time.

    Args:
        comparison: content of the page.
        colors: CSS color of each objective.
    """
    outcomes, floors, labels = comparison.outcomes, comparison.floors, comparison.sample.labels
    everyone = [outcome.scores for outcome in outcomes] + [floor.scores for floor in floors]
    shown = [each for each in COLUMNS if any(each.of(scores) is not None for scores in everyone)]
    # A single objective is not called best.
    tops = [
        max(each.of(outcome.scores) or 0.0 for outcome in outcomes) if len(outcomes) > 1 else None
        for each in shown
    ]
    of_weights = ["effective negatives"] if labels is None else ["weight on own class", "effective negatives"]
    contrasts = any(outcome.contrasts for outcome in outcomes)
    trailing = (*(of_weights if contrasts else ()), "seconds")

    rows = []
    for outcome, color in zip(outcomes, colors, strict=True):
        cells = [
            _accuracy(each, outcome, comparison.test_size, top) for each, top in zip(shown, tops, strict=True)
        ]
        texts = [] if labels is None else [percent(weight_on_own_class(outcome, comparison.sample, labels))]
        texts.append(f"{effective_negatives(outcome):.0f}")
        if not outcome.contrasts:
            texts = ["–"] * len(texts) if contrasts else []
        cells += [ScoreCell(text=text) for text in (*texts, f"{outcome.seconds:.1f}")]
        rows.append(ScoreRow(name=outcome.name, color=color, cells=tuple(cells)))
    for floor in floors:
        cells = [_accuracy(each, floor, comparison.test_size, None) for each in shown]
        cells += [ScoreCell(text="–")] * len(trailing)
        rows.append(ScoreRow(name=floor.name, color="", cells=tuple(cells)))
    return ScoreTable(
        first="objective",
        leading=tuple(each.title for each in shown if not each.is_probe),
        probes=tuple(each.title for each in shown if each.is_probe),
        trailing=trailing,
        rows=tuple(rows),
        note=_note(comparison, bool(shown)),
    )


def _accuracy(accuracy: Accuracy, measured: Outcome | Floor, test_size: int, top: float | None) -> ScoreCell:
    """Return the cell of an accuracy, bold if it reads the same as the top of its column."""
    estimate = accuracy.estimate(measured, test_size)
    if estimate is None:
        return ScoreCell(text="–")
    text, interval = f"{100 * estimate.mean:.1f}", f"{100 * estimate.low:.1f}, {100 * estimate.high:.1f}"
    best = top is not None and text == f"{100 * top:.1f}"
    return ScoreCell(text=text, interval=interval, best=best)


def _note(comparison: Comparison, measured: bool) -> str:
    """Return the explanation of the columns, with the values for uniform weights."""
    sample = comparison.sample
    first = next((each for each in comparison.outcomes if each.contrasts), None)
    labels = sample.labels
    sentences = []
    if measured:
        sentences.append(
            f"Accuracy in per cent on {comparison.test_size} test {sample.data}, with its 95 % interval"
            + ("; the highest of each column is bold." if len(comparison.outcomes) > 1 else ".")
        )
    if first is None:
        return " ".join(sentences)
    if labels is not None:
        level = percent(collision_share(torch.tensor(np.asarray(labels[: first.pairs], dtype=np.int64))))
        sentences.append(f"Weight on own class: the share of weight on false negatives ({level} if uniform).")
    others = first.candidates
    of_rows = sample.partners is None or (others is not None and others.are_batch)
    sentences.append(
        "Effective negatives: the number of equally weighted negatives that would be as concentrated, of "
        f"{'' if others is None else 'at most '}{first.most_negatives} in a batch of {first.batch} "
        f"{sample.many if of_rows else 'pairs'}."
    )
    if elsewhere := comparison.settings.get("negatives"):
        source = elsewhere.partition(":")[0]
        sentences.append(
            f"Of the negatives the page shows those of the batch, without those of the {source}."
        )
    return " ".join(sentences)
