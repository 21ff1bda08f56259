"""Scores of real and ordinal outcomes: how well the features of an encoder predict them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.table import Table
from torch import Tensor

from tammes.data import Outcomes, Volumes, read_outcomes
from tammes.estimate import Estimate
from tammes.evaluation import (
    CrossValidation,
    LabeledFeatures,
    MeasuredFeatures,
    OrdinalScore,
    RegressionValidation,
    constant_guess,
    ordinal_probe,
)
from tammes.training import Data, Run, build_model, embed

TRAINED, UNTRAINED, CONSTANT = "trained encoder", "untrained encoder", "best constant"


@dataclass(frozen=True, kw_only=True)
class OutcomeScores:
    """Scores of one set of features, each outcome predicted in folds.

    Args:
        real: R^2 of each real outcome, by its column.
        ordinal: accuracies of each ordinal outcome, by its column.
    """

    real: Mapping[str, Estimate]
    ordinal: Mapping[str, OrdinalScore]

    @property
    def numbers(self) -> dict[str, dict[str, dict[str, float]]]:
        """The scores as plain numbers with the ends of their intervals."""
        measured = {
            **{column: {"r_squared": found} for column, found in self.real.items()},
            **{
                column: {"accuracy": found.accuracy, "one_off": found.one_off}
                for column, found in self.ordinal.items()
            },
        }
        return {
            column: {name: _interval(each) for name, each in found.items()}
            for column, found in measured.items()
        }


def _interval(found: Estimate) -> dict[str, float]:
    return {"value": found.mean, "low": found.low, "high": found.high}


def outcomes_of(parts: Sequence[Data], file: Path | None) -> Outcomes:
    """Return the outcomes of all rows: of a table, or else those that volumes have.

    Args:
        parts: all data.
        file: table of outcomes; None for those of the data.

    Raises:
        ValueError: if there are none, or they do not match.
    """
    if file is not None:
        return read_outcomes(file, [name for part in parts for name in part.names])
    (data, *others) = parts
    if others or not isinstance(data, Volumes) or data.outcomes is None:
        raise ValueError(
            "the data have no outcomes: name a table by --outcomes, with a column id and a row for each row "
            "of the data"
        )
    return data.outcomes


def measured_outcomes(
    run: Run,
    parts: Sequence[Data],
    outcomes: Outcomes,
    *,
    real: Sequence[str],
    ordinal: Sequence[str],
    folds: int,
) -> dict[str, OutcomeScores]:
    """Return the scores of a run's encoder, of the untrained one and of the best constant.

    Args:
        run: the run, whose model may be on any device.
        parts: all data.
        outcomes: outcomes of their rows.
        real: columns that ridge regression predicts.
        ordinal: columns that logistic regression predicts.
        folds: number of folds.

    Raises:
        ValueError: for a column that is missing or holds something else, or is constant.
    """
    values = {column: outcomes.real(column) for column in real}
    grades = {column: outcomes.grades(column)[0] for column in ordinal}

    def scores(features: Tensor) -> OutcomeScores:
        return OutcomeScores(
            real={
                column: RegressionValidation(folds=folds).r_squared(
                    MeasuredFeatures(features=features, outcome=outcome)
                )
                for column, outcome in values.items()
            },
            ordinal={
                column: ordinal_probe(
                    LabeledFeatures(features=features, labels=ranks), validation=CrossValidation(folds=folds)
                )
                for column, ranks in grades.items()
            },
        )

    untrained = build_model(run.config, run.model.assets).to(next(run.model.parameters()).device)
    found = {
        name: scores(torch.cat([embed(model, part)[0] for part in parts]))
        for name, model in ((TRAINED, run.model), (UNTRAINED, untrained))
    }
    constant = {column: constant_guess(ranks) for column, ranks in grades.items()}
    # The mean of all outcomes has R^2 = 0 by definition.
    return {**found, CONSTANT: OutcomeScores(real=dict.fromkeys(real, Estimate(mean=0.0)), ordinal=constant)}


def outcome_table(name: str, found: Mapping[str, OutcomeScores], *, rows: int, folds: int) -> Table:
    """Return the table of the scores, accuracies in percent, with intervals over the rows."""
    table = Table(
        caption=f"R^2 and accuracies in per cent with 95 % intervals over {rows:,} rows, each predicted in "
        f"one of {folds} folds; the encoder may have seen all, without their outcomes"
    )
    table.add_column("features", overflow="fold")
    columns = next(iter(found.values()))
    titles = [f"{column}, R^2" for column in columns.real]
    titles += [f"{column}{kind}" for column in columns.ordinal for kind in ("", ", 1-off")]
    for title in titles:
        table.add_column(title, justify="right")
    for each, scores in found.items():
        cells = ["0" if each == CONSTANT else r_squared.text() for r_squared in scores.real.values()]
        for score in scores.ordinal.values():
            cells += [score.accuracy.percent, score.one_off.percent]
        table.add_row(name if each == TRAINED else each, *cells)
        if each == TRAINED:
            table.add_section()
    return table
