"""Accuracies in the terminal."""

import statistics
from collections.abc import Sequence

from rich.table import Table

from tammes.report import Scores

MEANS = "class means"
COLUMNS = ("kNN", "probe, all labels", "10 %", "1 %")


def score_table(first: str, *more: str, means: bool = False) -> Table:
    """An empty table of accuracies in per cent.

    Args:
        first: heads the column of names.
        more: head columns behind the accuracies.
        means: whether there is a column for the means of the classes.
    """
    table = Table(caption="accuracies in per cent, on data held out of training")
    table.add_column(first, overflow="fold")
    for name in (*((MEANS,) if means else ()), *COLUMNS, *more):
        table.add_column(name, justify="right")
    return table


def score_cells(*scores: Scores, means: bool = False) -> list[str]:
    """The accuracies of one or several runs as cells: their mean, and their standard deviation if several.

    Example:
        >>> score_cells(Scores(knn=0.5), Scores(knn=0.7))[0]
        '60.0 ± 14.1'
    """
    columns = (
        *([[run.means for run in scores]] if means else []),
        [run.knn for run in scores],
        [run.probe for run in scores],
        [run.probe_10_percent for run in scores],
        [run.probe_1_percent for run in scores],
    )
    return [spread(values, scale=100) for values in columns]


def spread(values: Sequence[float | None], scale: float = 1.0) -> str:
    """Mean and standard deviation, or a dash where nothing was measured.

    Example:
        >>> spread([1.0]), spread([None])
        ('1.0', '-')
    """
    known = [scale * value for value in values if value is not None]
    if not known:
        return "-"
    mean = f"{statistics.mean(known):.1f}"
    return mean if len(known) == 1 else f"{mean} ± {statistics.stdev(known):.1f}"
