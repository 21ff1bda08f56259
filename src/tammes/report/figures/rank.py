"""Share of rows with the anchor's label over their rank of similarity."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from tammes.report.figures.canvas import TEXT, canvas, shortened
from tammes.report.palette import GRID, MUTED
from tammes.report.scores import Floats

STEPS = 24
"""Number of steps, at most, that the ranks are averaged in; they widen with the rank."""
LINE = 0.19
"""Height of a line of text in inches."""


def same_label_over_rank(shares: Mapping[str, Floats], colors: Sequence[str]) -> Figure:
    """Draw how often the row of each rank has the anchor's label, over the rank, each line named.

    A line that starts high and falls steeply has the rows of one class first. The dashed line is the share
    among all rows, which a random order has at every rank.

    Args:
        shares: (ranks,) share of anchors whose row of this rank has their label, by name; rank 1 is the most
            similar row.
        colors: color of each line.

    Example:
        >>> same_label_over_rank({"hcl": np.array([0.9, 0.4, 0.1])}, ["#0072b2"]).axes[0].get_xscale()
        'log'
    """
    figure, axes = canvas(width=4.4, height=max(2.9, 0.2 * len(shares)))
    ranks = len(next(iter(shares.values())))
    edges = np.unique(np.round(np.geomspace(1, ranks + 1, STEPS + 1)).astype(int))
    middles = np.sqrt(edges[:-1] * (edges[1:] - 1))
    for share, color in zip(shares.values(), colors, strict=True):
        means = [100 * share[low - 1 : high - 1].mean() for low, high in pairwise(edges.tolist())]
        axes.plot(middles, means, color=color, linewidth=1.8, marker="o", markersize=2.5)
    chance = 100 * float(next(iter(shares.values())).mean())
    axes.axhline(chance, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_xscale("log")
    axes.set(xlabel="rank of similarity to the anchor", ylabel="rows with its label (%)", ylim=(0, None))
    axes.xaxis.set_major_locator(FixedLocator([10**power for power in range(len(str(ranks)))]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    # At the upper right there is room, since the lines have come down; the names are in their order.
    order = sorted(zip(shares.items(), colors, strict=True), key=lambda entry: -entry[0][1][0])
    style: dict[str, Any] = {"fontsize": TEXT, "fontweight": "bold", "va": "top", "parse_math": False}
    for line, ((name, _), color) in enumerate(order):
        height = 1 - line * LINE / figure.get_figheight()
        axes.text(1, height, shortened(name), color=color, ha="right", transform=axes.transAxes, **style)
    return figure
