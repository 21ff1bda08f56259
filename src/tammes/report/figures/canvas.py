"""Axes in the style of the pages, and the placement of labels."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tammes.report.palette import GRID, INK, MUTED

TEXT = 9.0
"""Font size in points; figures are about as wide on the page as they are drawn, so text stays readable."""


def canvas(*, width: float, height: float) -> tuple[Figure, Axes]:
    """Return a transparent figure without a frame; width and height are in inches.

    Example:
        >>> figure, axes = canvas(width=3, height=2)
        >>> axes.get_xlabel()
        ''
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.add_subplot()
    quiet(axes)
    return figure, axes


def quiet(axes: Axes) -> None:
    """Remove from axes everything that carries no data: the box, the background, heavy ticks."""
    axes.patch.set_alpha(0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GRID)
    axes.tick_params(colors=GRID, labelcolor=MUTED, labelsize=TEXT, length=3)
    axes.xaxis.label.set(color=INK, fontsize=TEXT)
    axes.yaxis.label.set(color=INK, fontsize=TEXT)


def shortened(name: str, longest: int = 22) -> str:
    """Return a name without its middle if it has more than `longest` characters: both ends may tell it apart.

    Example:
        >>> shortened("digits-with-a-long-name/seed-0", 16)
        'digits-…e/seed-0'
    """
    if len(name) <= longest:
        return name
    start = (longest - 1) // 2
    return f"{name[:start]}…{name[start + 1 - longest :]}"


def spread(values: Sequence[float] | np.ndarray, *, gap: float) -> np.ndarray:
    """Return positions (n,) of labels near their values, with no two closer than `gap`.

    Args:
        values: (n,) ideal positions of the labels.
        gap: smallest distance, in the unit of the values.

    Example:
        >>> spread([0.0, 0.0, 5.0], gap=1.0).tolist()
        [-0.5, 0.5, 5.0]
    """
    values = np.asarray(values, dtype=float)
    order = np.argsort(values, kind="stable")
    # Labels that touch form a group, centered at the mean of its values; groups that touch are merged.
    groups: list[list[int]] = []
    for index in order.tolist():
        groups.append([index])
        while len(groups) > 1 and _top(groups[-2], values, gap) + gap > _bottom(groups[-1], values, gap):
            last = groups.pop()
            groups[-1] += last
    places = np.empty_like(values)
    for group in groups:
        places[group] = _bottom(group, values, gap) + gap * np.arange(len(group))
    return places


def _bottom(group: list[int], values: np.ndarray, gap: float) -> float:
    return float(values[group].mean()) - gap * (len(group) - 1) / 2


def _top(group: list[int], values: np.ndarray, gap: float) -> float:
    return float(values[group].mean()) + gap * (len(group) - 1) / 2
