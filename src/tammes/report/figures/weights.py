"""How heavily a coupling weights a negative, against how similar it is to the anchor."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from tammes.report.figures.canvas import TEXT, canvas
from tammes.report.palette import GRID, MUTED
from tammes.report.scores import Floats


def weight_against_similarity(
    similarity: Floats, relative_weight: Floats, color: str, *, limits: tuple[float, float]
) -> Figure:
    """Weight of negatives, as a multiple of the uniform weight, against their similarity to the anchor.

    The line is the median over equal steps of similarity, the band holds the middle 90 per cent, the dots
    are single negatives. The dashed line at 1 is the uniform level.

    Args:
        similarity: (negatives,) cosine similarities.
        relative_weight: (negatives,) positive multiples of the uniform weight.
        color: of the coupling.
        limits: of the vertical, logarithmic axis.

    >>> similarity, weight = np.array([0.0, 0.5]), np.array([0.5, 1.5])
    >>> figure = weight_against_similarity(similarity, weight, "#0072b2", limits=(0.1, 10))
    >>> figure.axes[0].get_yscale()
    'log'
    """
    figure, axes = canvas(width=2.35, height=2.0)
    chosen = np.random.default_rng(0).permutation(len(similarity))[:1500]
    axes.scatter(
        similarity[chosen],
        relative_weight[chosen],
        s=4,
        color=color,
        alpha=0.18,
        linewidths=0,
        rasterized=True,
    )
    centers, low, middle, high = _bands(similarity, relative_weight)
    axes.fill_between(centers, low, high, color=color, alpha=0.2, linewidth=0)
    axes.plot(centers, middle, color=color, linewidth=1.8)
    axes.axhline(1, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_yscale("log")
    axes.set(xlim=(-1, 1), ylim=limits, xlabel="similarity to the anchor", ylabel="weight / uniform weight")
    axes.text(-0.98, 1.08, "uniform", color=MUTED, fontsize=TEXT - 1, va="bottom")
    axes.set_xticks([-1, 0, 1])
    axes.yaxis.set_major_locator(LogLocator(numticks=6))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    return figure


def _bands(similarity: Floats, weight: Floats) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Centers of the steps of similarity that hold five negatives or more; their 5, 50, 95 % points."""
    edges = np.linspace(-1, 1, 41)
    step = np.clip(np.digitize(similarity, edges) - 1, 0, 39)
    held = [index for index in range(40) if np.count_nonzero(step == index) >= 5]
    rows = [np.percentile(weight[step == index], [5, 50, 95]) for index in held]
    low, middle, high = np.array(rows).reshape(-1, 3).T
    return (edges[:-1] + edges[1:])[held] / 2, low, middle, high
