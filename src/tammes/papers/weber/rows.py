"""The figure that Tables I and II share: the accuracy of each strategy, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tammes.papers.interval import Interval
from tammes.papers.page import Figure
from tammes.papers.weber.figures import intervals
from tammes.papers.weber.training import Cell, Measured, Runs, accuracies
from tammes.report.panels import Panel
from tammes.report.svg import inline_svg


def by_strategy(
    path: Path,
    table: Mapping[Cell, Measured],
    rows: Mapping[str, Runs],
    paper: Mapping[str, Mapping[str, float]],
    *,
    strategies: Sequence[str],
    label: str,
    limits: tuple[float, float],
) -> Figure:
    """A panel for each row, of which the first is kept in a file, too.

    Args:
        path: of that file.
        table: what has been measured.
        rows: the runs of each row, by its words.
        paper: the paper's numbers by row and strategy.
        strategies: from top to bottom.
        label: what is measured.
        limits: of the axis.
    """
    figures = {
        row: intervals(
            {name: Interval.of(accuracies(table, runs, name)) for name in strategies},
            paper[row],
            label=label,
            limits=limits,
        )
        for row, runs in rows.items()
    }
    next(iter(figures.values())).savefig(path, facecolor="white")
    return Figure(
        title="Accuracy by strategy",
        words="Means over seeds with 95 % intervals; rings are the paper's.",
        panels=tuple(
            Panel(
                name=row,
                svg=inline_svg(
                    figure, name=f"row-{index}", description=f"{row}: accuracies, and the paper's as rings."
                ),
            )
            for index, (row, figure) in enumerate(figures.items())
        ),
        wide=True,
    )
