"""Why an objective lost or was not told apart: what its weights do with the negatives of the batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from tammes.diagnostics import collision_share
from tammes.estimate import Estimate
from tammes.report.comparison import Comparison, Outcome
from tammes.report.markup import percent
from tammes.report.negatives import effective_negatives, false_negatives, weight_on_own_class
from tammes.report.sample import Sample
from tammes.report.scores import JUDGES, OTHERS, Accuracy, Integers
from tammes.report.similarities import cosine
from tammes.report.table import ScoreCell, ScoreRow, ScoreTable
from tammes.report.verdict import is_complete, leads_of

MORE = 1.25
"""Ratio of two shares of weight on false negatives above which they are called different."""
FEWER = 0.8
"""Ratio of two effective numbers of negatives below which they are called different."""


@dataclass(frozen=True, kw_only=True)
class NegativeWeights:
    """What the weights of an objective do with the negatives of one batch.

    Args:
        own_class: share of the weight on false negatives, of the anchor's class.
        uniform: the same under uniform weights.
        hardest: share of anchors whose negative of the greatest weight is false; of equal weights the most
            similar negative counts.
        effective: effective number of negatives, the mean of 1 / sum w^2.
        similarity: mean cosine of the negatives under the weights.
    """

    own_class: float
    uniform: float
    hardest: float
    effective: float
    similarity: float

    @staticmethod
    def of(outcome: Outcome, sample: Sample, labels: Integers) -> NegativeWeights:
        """Measure the weights of an outcome on its batch.

        Args:
            outcome: objective with its views and weights.
            sample: sample that the views show.
            labels: (n,) its labels.
        """
        batch = np.asarray(labels[: outcome.pairs], dtype=np.int64)
        are_false = false_negatives(outcome, sample, labels)
        similarity = cosine(*outcome.sides)
        # Rounded, so that weights that differ only in the last digits are ties.
        rank = np.round(outcome.relative_weights, 5) + 1e-6 * similarity
        hardest = np.where(outcome.weights > 0, rank, -1.0).argmax(axis=1)
        return NegativeWeights(
            own_class=weight_on_own_class(outcome, sample, labels),
            uniform=collision_share(torch.tensor(batch)),
            hardest=float(np.take_along_axis(are_false, hardest[:, None], axis=1).mean()),
            effective=effective_negatives(outcome),
            similarity=float((outcome.weights * similarity).sum(axis=1).mean()),
        )

    def is_like(self, other: NegativeWeights) -> bool:
        """Whether neither the share on false negatives nor the effective number is called different."""
        low, high = sorted((self.own_class, other.own_class))
        fewer, more = sorted((self.effective, other.effective))
        return high <= MORE * low and fewer >= FEWER * more


@dataclass(frozen=True, kw_only=True)
class Reasons:
    """Measurements of the negatives of each objective, and what they say about the verdict.

    Args:
        table: a row for each objective.
        sentences: one for each objective that lost or was not told apart; may be empty.
    """

    table: ScoreTable
    sentences: tuple[str, ...]


Measured = Mapping[str, NegativeWeights]
"""Measurements of each objective, by its name."""


def reasons(comparison: Comparison, colors: tuple[str, ...]) -> Reasons | None:
    """Return what the weights do with false negatives; None without labels, or without weights in training.

    With several seeds, an objective that is behind the best of any column gets a sentence on how the weights
    of the two differ, and one that differs from the best in no column a sentence on what it has in
    common with it.

    Args:
        comparison: content of the page.
        colors: CSS color of each objective.
    """
    labels = comparison.sample.labels
    if labels is None or not all(outcome.contrasts for outcome in comparison.outcomes):
        return None
    measured = {
        each.name: NegativeWeights.of(each, comparison.sample, labels) for each in comparison.outcomes
    }
    return Reasons(table=_table(measured, colors), sentences=_sentences(comparison, measured))


def _sentences(comparison: Comparison, measured: Measured) -> tuple[str, ...]:
    columns = [each for each in (*JUDGES, *OTHERS) if is_complete(each, comparison)]
    seeds = min(len(outcome.seeds) for outcome in comparison.outcomes)
    if seeds < 2 or len(comparison.outcomes) < 2 or not columns:
        return ()
    found = []
    best, first_leads = leads_of(columns[0], comparison)
    for name in measured:
        lost = _lost(name, columns, comparison)
        if lost is not None:
            winner, accuracy, lead = lost
            behind = f"{name} is behind {winner} {accuracy.where}, by {lead.points.replace('+', '')}"
            found.append(f"{behind}: {_difference(measured[name], measured[winner], winner)}")
        elif name != best.name and not _is_ahead(name, best.name, columns, comparison):
            found.append(_level(name, best.name, first_leads[name], columns[0], measured))
    return tuple(found)


def _lost(
    name: str, columns: list[Accuracy], comparison: Comparison
) -> tuple[str, Accuracy, Estimate] | None:
    """Return who is ahead of an objective, in which column and by how much, where the lead is largest."""
    lost = None
    for accuracy in columns:
        best, ahead = leads_of(accuracy, comparison)
        lead = ahead.get(name)
        if lead is not None and lead.above_zero and (lost is None or lead.mean > lost[2].mean):
            lost = best.name, accuracy, lead
    return lost


def _is_ahead(name: str, best: str, columns: list[Accuracy], comparison: Comparison) -> bool:
    """Return whether an objective is above the best of the first column in any other."""
    outcomes = {outcome.name: outcome for outcome in comparison.outcomes}
    leads = (each.difference(outcomes[name], outcomes[best], comparison.test_size) for each in columns)
    return any(lead is not None and lead.above_zero for lead in leads)


def _difference(loser: NegativeWeights, winner: NegativeWeights, best: str) -> str:
    """Return in which way the weights of two objectives differ, the most telling way first."""
    if loser.own_class > MORE * winner.own_class:
        return (
            f"{percent(loser.own_class)} of the weight of its negatives lies on false ones, under {best} "
            f"{percent(winner.own_class)}, and with uniform weights it would be {percent(loser.uniform)}."
        )
    if winner.effective < FEWER * loser.effective:
        false = f"{percent(loser.own_class)} of its weight and {percent(winner.own_class)} of that of {best}"
        return (
            f"its weight is spread over {loser.effective:.0f} effective negatives, that of {best} is "
            f"concentrated on {winner.effective:.0f}; {false} lie on false negatives."
        )
    if loser.effective < FEWER * winner.effective:
        return (
            f"its weight lies on {loser.effective:.0f} effective negatives, that of {best} on "
            f"{winner.effective:.0f}; false ones have {percent(loser.own_class)} of it, against "
            f"{percent(winner.own_class)}."
        )
    return (
        f"the weights do not say why: {percent(loser.own_class)} and {percent(winner.own_class)} lie on "
        f"false negatives, and {loser.effective:.0f} and {winner.effective:.0f} negatives are effective."
    )


def _level(name: str, best: str, lead: Estimate, accuracy: Accuracy, measured: Measured) -> str:
    """Return the sentence on an objective that differs from the best in no column."""
    one, other = measured[name], measured[best]
    start = f"{name} and {best} are not told apart in any column ({lead.points} {accuracy.where})"
    if one.is_like(other):
        return f"{start}, and their weights are alike: there is little to tell apart."
    return (
        f"{start}, although their weights differ: {percent(one.own_class)} and {percent(other.own_class)} "
        f"lie on false negatives, and {one.effective:.0f} and {other.effective:.0f} negatives are effective."
    )


def _table(measured: Measured, colors: tuple[str, ...]) -> ScoreTable:
    rows = []
    for (name, each), color in zip(measured.items(), colors, strict=True):
        numbers = (
            percent(each.own_class),
            percent(each.hardest),
            f"{each.effective:.0f}",
            f"{each.similarity:.2f}".replace("-", "\N{MINUS SIGN}"),
        )
        cells = tuple(ScoreCell(text=text) for text in numbers)
        rows.append(ScoreRow(name=name, color=color, cells=cells))
    uniform = next(iter(measured.values())).uniform
    return ScoreTable(
        first="objective",
        leading=("weight on own class", "hardest is false", "effective negatives", "mean similarity"),
        probes=(),
        trailing=(),
        rows=tuple(rows),
        note=(
            f"On the batch of the figures, after training: the share of weight on false negatives "
            f"({percent(uniform)} if uniform), of anchors whose negative of the greatest weight is false (of "
            "equal weights, the most similar), the number of equally weighted negatives that would be as "
            "concentrated, and the mean cosine of the negatives under the weights."
        ),
    )
