"""Accuracies over batch size B and number of negatives k: what both studies compare and draw."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from tammes.estimate import Estimate
from tammes.papers.ash.heat_map import HeatMap, by_best
from tammes.papers.finding import Effect
from tammes.report.palette import GRID, objective_color

Pick = Callable[[Any], float]
"""One of the accuracies of a score."""
linear: Pick = attrgetter("linear")
mean: Pick = attrgetter("mean")
linear_early: Pick = attrgetter("linear_early")
mean_early: Pick = attrgetter("mean_early")


def best_place(values: Float[np.ndarray, "r c"]) -> tuple[int, int]:
    """Return the row and the column of the largest value.

    Example:
        >>> best_place(np.array([[0.5, np.nan], [0.2, 0.7]]))
        (1, 1)
    """
    row, column = np.unravel_index(np.nanargmax(values), values.shape)
    return int(row), int(column)


def in_points(name: str, difference: Estimate | None) -> Effect:
    """Return a difference of accuracies as an effect in percentage points."""
    return Effect(name=name, difference=difference, words=points(difference) if difference else "")


def points(difference: Estimate | None) -> str:
    """Return a difference of accuracies in percentage points; None is one that nothing was measured for."""
    return "not measured" if difference is None else difference.points


def over_seeds(differences: Float[np.ndarray, "seeds ..."]) -> Estimate | None:
    """Return the differences averaged over every setting that was measured for all seeds; None without one.

    Example:
        >>> over_seeds(np.array([[0.25, np.nan, 0.75]])).values
        (0.5,)
    """
    rows = differences.reshape(len(differences), -1)
    measured = np.isfinite(rows).all(axis=0)
    return Estimate.over_seeds(rows[:, measured].mean(axis=1).tolist()) if measured.any() else None


def by_batch_size(values: Float[np.ndarray, "seeds batches counts"]) -> Estimate | None:
    """Return the change from the smallest batch to the largest, averaged over every k that both have."""
    return over_seeds(values[:, -1] - values[:, 0])


def batches_heat(
    values: Float[np.ndarray, "batches counts"], batches: Sequence[int], counts: Sequence[int]
) -> HeatMap:
    """Return accuracy over B and k, all on one scale, as in Fig. 4, 7 and 8."""
    return HeatMap(
        values=values,
        scale=by_best,
        rows=[str(batch) for batch in batches],
        columns=[str(k) for k in counts],
        row_title="pairs in a batch B",
        column_title="negatives k",
    )


def draw_over_counts(
    axes: Axes,
    counts: Sequence[int],
    values: Float[np.ndarray, "seeds counts"],
    *,
    index: int,
    style: Any = "-",
) -> Float[np.ndarray, " shown"]:
    """Draw a line over the k measured for all seeds, with 95 % intervals over the seeds as bars.

    Args:
        axes: axes to draw on.
        counts: values of k, ascending.
        values: accuracies as fractions.
        index: number of the line, from 0, which sets its color and moves it aside, so that no bar covers
            another.
        style: line style of matplotlib.

    Returns:
        Heights of the line, in percent.
    """
    shown = np.isfinite(values).all(axis=0)
    estimates = [Estimate.over_seeds(column.tolist()) for column in 100 * values[:, shown].T]
    heights = np.array([estimate.mean for estimate in estimates])
    axes.errorbar(
        np.array(counts)[shown] * 1.05**index,
        heights,
        [estimate.high - estimate.mean for estimate in estimates] if len(values) > 1 else None,
        color=objective_color(index),
        linestyle=style,
        linewidth=1.6,
        marker="o",
        markersize=3,
    )
    axes.set(xscale="log", xlabel="negatives k")
    # The last two numbers are often too close for two labels.
    ticks = [k for k in counts if k == counts[-1] or 1.6 * k < counts[-1]]
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.set_xticks([], minor=True)
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    return heights
