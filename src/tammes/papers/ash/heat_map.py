"""Heat maps of a number over two settings, with the best settings marked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tammes.report.figures.canvas import TEXT, canvas
from tammes.report.palette import MUTED

WITHIN = 0.995
"""Ash et al. (2022), Fig. 3: the fraction of the best from which on a value is near it."""
_COLORS = colormaps["viridis"]
_DARK, _LIGHT = "#101010", "#fafafa"
_CELL = 0.46, 0.36
"""Width and height of a cell in inches."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HeatMap:
    """Heat map of accuracies over two settings.

    Args:
        rows: labels of the rows, from top to bottom.
        columns: labels of the columns.
        row_title: name of the rows' setting.
        column_title: name of the columns' setting.
        values: accuracies, (rows, columns); NaN leaves a cell empty.
        scale: function from the values to shades of at most 1, `by_row` or `by_best`; lighter is larger.
        within: fraction of a row's best from which on a value is near it; None marks no such values.

    Raises:
        ValueError: values of another shape than the labels.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    row_title: str
    column_title: str
    values: Float[np.ndarray, "r c"]
    scale: Callable[[Float[np.ndarray, "r c"]], Float[np.ndarray, "r c"]]
    within: float | None = None

    def __post_init__(self) -> None:
        shape = len(self.rows), len(self.columns)
        if self.values.shape != shape:
            raise ValueError(
                f"expected {shape} numbers, one for each row and column, got {self.values.shape}"
            )

    @property
    def shade(self) -> Float[np.ndarray, "r c"]:
        """Values on their scale, (rows, columns)."""
        return self.scale(self.values)

    @property
    def best(self) -> Bool[np.ndarray, "r c"]:
        """Circled cells, (rows, columns): the largest of their scale."""
        return self.shade == 1

    @property
    def near(self) -> Bool[np.ndarray, "r c"]:
        """Cells circled with a broken line, (rows, columns): the ends of the range near the best."""
        if self.within is None:
            return np.zeros_like(self.best)
        return ends_of_range(self.shade, self.within) & ~self.best


def by_row(values: Float[np.ndarray, "r c"]) -> Float[np.ndarray, "r c"]:
    """Return each row divided by its largest value.

    Example:
        >>> by_row(np.array([[1.0, 2.0], [8.0, np.nan]])).tolist()
        [[0.5, 1.0], [1.0, nan]]
    """
    return values / np.fmax.reduce(values, axis=1, keepdims=True)  # as nanmax, silent where all are NaN


def by_best(values: Float[np.ndarray, "r c"]) -> Float[np.ndarray, "r c"]:
    """Return the values divided by the largest of all.

    Example:
        >>> by_best(np.array([[1.0, 2.0], [8.0, np.nan]])).tolist()
        [[0.125, 0.25], [1.0, nan]]
    """
    return values / np.nanmax(values)


def ends_of_range(normalized: Float[np.ndarray, "r c"], within: float = WITHIN) -> Bool[np.ndarray, "r c"]:
    """Return the first and the last column of each row that are near its best.

    Args:
        normalized: shades of `by_row`, (rows, columns).
        within: fraction of the best from which on a value is near it.

    Example:
        >>> ends_of_range(np.array([[0.9, 0.996, 1.0, 0.999, 0.998]])).tolist()
        [[False, True, False, False, True]]
    """
    near = normalized >= within  # NaN is not
    ends = np.zeros_like(near)
    for row, each in enumerate(near):
        columns = np.flatnonzero(each)
        if len(columns):
            ends[row, columns[[0, -1]]] = True
    return ends


def heat_map(heat: HeatMap) -> Figure:
    """Draw a heat map as a figure for a page.

    Example:
        >>> values = np.array([[0.25, 0.5]])
        >>> names = {"rows": ["N = 2"], "columns": ["1", "2"], "row_title": "", "column_title": "k"}
        >>> heat = HeatMap(values=values, scale=by_row, **names)
        >>> [text.get_text() for text in heat_map(heat).axes[0].texts]
        ['25.0', '50.0']
    """
    width, height = _CELL[0] * len(heat.columns) + 0.9, _CELL[1] * len(heat.rows) + 0.7
    figure, axes = canvas(width=width, height=height)
    draw_heat_map(axes, heat)
    return figure


def draw_heat_map(axes: Axes, heat: HeatMap) -> None:
    """Draw a heat map on axes that may stand in a larger figure; values are written in percent."""
    shown = np.isfinite(heat.values)
    shade = heat.shade
    low = float(np.min(shade[shown]))
    height = np.where(shown, (shade - low) / max(1 - low, 1e-12), np.nan)
    axes.pcolormesh(np.ma.masked_invalid(height), cmap=_COLORS, vmin=0, vmax=1, edgecolors="none")
    for row, column in np.argwhere(shown):
        light = height[row, column] > 0.55
        axes.text(
            column + 0.5,
            row + 0.5,
            f"{100 * heat.values[row, column]:.1f}",
            ha="center",
            va="center",
            fontsize=TEXT - 1.5,
            color=_DARK if light else _LIGHT,
        )
    for marked, style in ((heat.best, "solid"), (heat.near, (0, (1.2, 1.2)))):
        at = np.argwhere(marked)
        axes.scatter(
            at[:, 1] + 0.5,
            at[:, 0] + 0.5,
            s=520,
            facecolors="none",
            edgecolors=_DARK,
            linewidths=1.5,
            linestyles=[style],
        )
    axes.set(xlabel=heat.column_title, ylabel=heat.row_title)
    axes.set_xticks(np.arange(len(heat.columns)) + 0.5, heat.columns)
    axes.set_yticks(np.arange(len(heat.rows)) + 0.5, heat.rows)
    axes.invert_yaxis()
    axes.tick_params(length=0, labelcolor=MUTED)
    for spine in axes.spines.values():
        spine.set_visible(False)
