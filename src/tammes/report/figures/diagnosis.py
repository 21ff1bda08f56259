"""Figures of a diagnosis: the spectrum beside a Gaussian's, and counts of rows."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from tammes.report.figures.canvas import TEXT, canvas
from tammes.report.palette import INK, MUTED, objective_color

SMALLEST = 1e-12
"""Share of the variance below which an eigenvalue is not drawn."""


def spectrum_figure(eigenvalues: Float[np.ndarray, " dim"], gaussian: Float[np.ndarray, " dim"]) -> Figure:
    """Draw the share of the variance in each principal direction, and the same of a Gaussian.

    Args:
        eigenvalues: eigenvalues of the covariance over their sum, largest first.
        gaussian: the same of a Gaussian of as many rows and dimensions.

    Example:
        >>> spectrum_figure(np.array([0.7, 0.3]), np.array([0.5, 0.5])).axes[0].get_yscale()
        'log'
    """
    figure, axes = canvas(width=5.6, height=3.2)
    for values, color, name in (
        (gaussian, MUTED, "Gaussian"),
        (eigenvalues, objective_color(0), "embeddings"),
    ):
        kept = values[values > SMALLEST]
        if len(kept):
            place = np.arange(1, len(kept) + 1)
            axes.plot(
                place, kept, color=color, linewidth=1.6, label=name, marker="." if len(kept) < 3 else ""
            )
    axes.set(xscale="log", yscale="log", xlabel="principal direction", ylabel="share of the variance")
    # Plain numbers: mathematical text takes half a second to lay out.
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.legend(frameon=False, fontsize=TEXT, loc="lower left", labelcolor=INK)
    return figure


def count_figure(
    counts: Int[np.ndarray, " bins"], *, edges: Sequence[float], xlabel: str, open_end: bool = False
) -> Figure:
    """Draw numbers of rows as bars on a logarithmic axis.

    Args:
        counts: number of rows of each bin.
        edges: left edge of each bin, evenly spaced.
        xlabel: label of the horizontal axis.
        open_end: whether the last bin holds all that is above it.

    Example:
        >>> len(count_figure(np.array([1, 2]), edges=[0, 1], xlabel="x").axes[0].patches)
        2
    """
    figure, axes = canvas(width=5.6, height=2.6)
    width = edges[1] - edges[0] if len(edges) > 1 else 1.0
    axes.bar(edges, counts, width=0.9 * width, align="edge", color=objective_color(0))
    axes.set(yscale="symlog", xlabel=f"{xlabel} (last bar: and more)" if open_end else xlabel, ylabel="rows")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(bottom=0)
    return figure


def map_figure(places: Float[np.ndarray, "m 2"], flagged: Bool[np.ndarray, " m"], share: float) -> Figure:
    """Draw rows in the two directions of largest variance, flagged ones on top.

    Args:
        places: coordinates of m rows.
        flagged: whether each has a fault.
        share: share of the variance in the two directions.

    Example:
        >>> len(map_figure(np.eye(2), np.array([True, False]), 0.5).axes[0].collections)
        2
    """
    figure, axes = canvas(width=4.4, height=4.4)
    for rows, color, size in (
        (~flagged, objective_color(0), 4),
        (flagged, objective_color(1), 8),
    ):
        axes.scatter(places[rows, 0], places[rows, 1], s=size, color=color, alpha=0.6, linewidths=0)
    axes.set(xticks=[], yticks=[], aspect="equal", xlabel=f"{100 * share:.0f} % of the variance")
    return figure
