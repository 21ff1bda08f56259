"""Matrix of the classes that a classifier takes for each other."""

from collections.abc import Sequence

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tammes.report.figures.canvas import TEXT, canvas, shortened
from tammes.report.palette import GRID, INK
from tammes.report.scores import Floats

LONGEST_NAME = 14
MOST_WITH_NUMBERS = 10
"""Number of classes up to which the numbers stand in the cells."""
DARKEST = 0.65
"""Opacity of a cell with the whole class, on which the numbers can still be read."""


def confusion_matrix(shares: Floats, classes: Sequence[str], *, color: str) -> Figure:
    """Draw a row for each class: the share of it that is classified as each of the classes.

    The shade of a cell grows with the square root of its share, so that rare confusions can be seen. Up to
    ten classes have their percentages in the cells.

    Args:
        shares: (classes, classes) share of each row's class that is classified as the column's.
        classes: names of the classes.
        color: color of the cells.

    Example:
        >>> figure = confusion_matrix(np.eye(2), ("cat", "dog"), color="#0072b2")
        >>> [text.get_text() for text in figure.axes[0].texts]
        ['100', '100']
    """
    count = len(classes)
    names = [shortened(name, LONGEST_NAME) for name in classes]
    has_numbers = count <= MOST_WITH_NUMBERS
    size = TEXT if has_numbers else TEXT - 1
    cell = 0.26 if has_numbers else 0.15
    edge = 0.3 + 0.07 * max(map(len, names))
    side = max(1.6, cell * count) + edge
    figure, axes = canvas(width=side, height=side)
    cells = [(row, column) for row, column in np.ndindex(count, count) if shares[row, column] > 0]
    squares = [Rectangle((column - 0.5, row - 0.5), 1, 1) for row, column in cells]
    inks = [to_rgba(color, DARKEST * float(np.sqrt(shares[cell]))) for cell in cells]
    axes.add_collection(PatchCollection(squares, facecolors=inks, linewidths=0))
    if has_numbers:
        for row, column in cells:
            text = f"{100 * shares[row, column]:.0f}"
            if text != "0":
                axes.text(column, row, text, ha="center", va="center", fontsize=TEXT - 1, color=INK)
    axes.hlines(np.arange(count + 1) - 0.5, -0.5, count - 0.5, color=GRID, linewidth=0.4)
    axes.vlines(np.arange(count + 1) - 0.5, -0.5, count - 0.5, color=GRID, linewidth=0.4)
    axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5), aspect="equal")
    upright = max(map(len, names)) <= 2
    axes.set_xticks(range(count), names, rotation=0 if upright else 90, fontsize=size, parse_math=False)
    axes.set_yticks(range(count), names, fontsize=size, parse_math=False)
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_xlabel("classified as")
    axes.set_ylabel("class")
    return figure
