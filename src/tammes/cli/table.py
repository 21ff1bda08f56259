"""Accuracies in the terminal."""

import statistics
from collections.abc import Callable, Sequence

from rich.table import Table

from tammes.data import Texts
from tammes.report import Scores
from tammes.training import Data

Columns = dict[str, Callable[[Scores], float | None]]

OF_IMAGES: Columns = {
    "kNN": lambda scores: scores.knn,
    "probe, all labels": lambda scores: scores.probe,
    "10 %": lambda scores: scores.probe_10_percent,
    "1 %": lambda scores: scores.probe_1_percent,
}
OF_TEXTS: Columns = {
    "kNN": lambda scores: scores.knn,
    "class means": lambda scores: scores.means,
    "linear classifier": lambda scores: scores.linear,
}


def columns_of(data: Data) -> Columns:
    """What is measured on such data, by its title."""
    return OF_TEXTS if isinstance(data, Texts) else OF_IMAGES


def score_table(first: str, *more: str, columns: Columns = OF_IMAGES) -> Table:
    """An empty table of accuracies in per cent.

    Args:
        first: heads the column of names.
        more: head columns behind the accuracies.
        columns: the accuracies.
    """
    table = Table(caption="accuracies in per cent, on data held out of training")
    table.add_column(first, overflow="fold")
    for name in (*columns, *more):
        table.add_column(name, justify="right")
    return table


def score_cells(*scores: Scores, columns: Columns = OF_IMAGES) -> list[str]:
    """The accuracies of one or several runs as cells: their mean, and their standard deviation if several.

    Example:
        >>> score_cells(Scores(knn=0.5), Scores(knn=0.7))[0]
        '60.0 ± 14.1'
    """
    return [spread([of(run) for run in scores], scale=100) for of in columns.values()]


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
