"""Figures of similarities: of pairs, of alignment and uniformity, and of the weights of negatives."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from tammes.report.figures.canvas import TEXT, canvas, quiet, shortened, spread
from tammes.report.palette import GRID, MUTED
from tammes.report.scores import Floats
from tammes.report.similarities import density_of


def similarity_histogram(
    together: Floats, apart: Floats, color: str, *, words: tuple[str, str] = ("same class", "other class")
) -> Figure:
    """Draw the densities of cosine similarity for two kinds of pairs; the less they overlap, the better.

    Args:
        together: (pairs,) similarities of positive pairs.
        apart: (pairs,) similarities of other pairs.
        color: color of the first; the second is drawn in gray.
        words: names of the two kinds.

    Example:
        >>> similarity_histogram(np.array([0.9]), np.array([-0.1, 0.0]), "#0072b2").axes[0].get_xlabel()
        'cosine similarity'
    """
    figure, axes = canvas(width=2.2, height=1.75)
    for similarities, ink, opacity in ((apart, MUTED, 0.28), (together, color, 0.35)):
        density, edges = density_of(similarities)
        axes.stairs(density, edges, fill=True, color=ink, alpha=opacity)
        axes.stairs(density, edges, color=ink, linewidth=1.2)
    axes.set(xlabel="cosine similarity", xlim=(-1, 1), ylim=(0, None))
    axes.set_ylabel("density")
    axes.yaxis.set_major_locator(NullLocator())
    axes.spines["left"].set_visible(False)
    axes.set_xticks([-1, 0, 1])
    style: dict[str, Any] = {"fontsize": TEXT, "fontweight": "bold", "va": "top", "transform": axes.transAxes}
    for line, (word, ink) in enumerate(zip(words, (color, MUTED), strict=True)):
        axes.text(0, 0.98 - 0.13 * line, word, color=ink, **style)
    return figure


def overlaid_histograms(
    together: tuple[Floats, Floats],
    apart: tuple[Floats, Floats],
    colors: tuple[str, str],
    *,
    names: tuple[str, str],
    words: tuple[str, str] = ("same class", "other class"),
) -> Figure:
    """Draw the densities of two objectives over each other: positive pairs above, other pairs below.

    Args:
        together: (pairs,) similarities of positive pairs under each objective.
        apart: (pairs,) similarities of other pairs under each.
        colors: color of each.
        names: name of each.
        words: names of the two kinds of pairs.

    Example:
        >>> one, other = np.array([0.9]), np.array([0.1])
        >>> colors, names = ("#0072b2", "#d55e00"), ("simclr", "hcl")
        >>> len(overlaid_histograms((one, one), (other, other), colors, names=names).axes)
        2
    """
    figure, above = canvas(width=2.4, height=2.5)
    figure.clear()
    above, below = figure.subplots(2, 1, sharex=True)
    for axes, pairs, word in ((above, together, words[0]), (below, apart, words[1])):
        quiet(axes)
        for similarities, color in zip(pairs, colors, strict=True):
            density, edges = density_of(similarities)
            axes.stairs(density, edges, fill=True, color=color, alpha=0.3)
            axes.stairs(density, edges, color=color, linewidth=1.2)
        axes.set(xlim=(-1, 1), ylim=(0, None))
        axes.yaxis.set_major_locator(NullLocator())
        axes.spines["left"].set_visible(False)
        style: dict[str, Any] = {"fontsize": TEXT, "fontweight": "bold", "va": "top", "color": MUTED}
        axes.text(0, 0.98, word, transform=axes.transAxes, **style)
    style = {"fontsize": TEXT, "fontweight": "bold", "va": "top", "parse_math": False}
    for line, (name, color) in enumerate(zip(names, colors, strict=True), start=1):
        above.text(0, 0.98 - 0.2 * line, shortened(name, 16), color=color, transform=above.transAxes, **style)
    below.set_xticks([-1, 0, 1])
    below.set_xlabel("cosine similarity")
    return figure


def alignment_uniformity(points: Mapping[str, tuple[float, float]], colors: Sequence[str]) -> Figure:
    """Draw one point per objective: alignment to the right, uniformity upward.

    Lower is better on both axes, so the best corner is the lower left one.

    Args:
        points: (alignment, uniformity) of each objective, by name.
        colors: color of each point.

    Source: Wang and Isola (2020), section 4, with exponent 2 and scale 2.

    Example:
        >>> alignment_uniformity({"hcl": (0.3, -2.5)}, ["#0072b2"]).axes[0].get_xlabel()
        'alignment (closer positives to the left)'
    """
    figure, axes = canvas(width=4.4, height=3.0)
    x = [point[0] for point in points.values()]
    y = [point[1] for point in points.values()]
    axes.scatter(x, y, c=list(colors), s=46, linewidths=0, zorder=3)
    axes.grid(color=GRID, linewidth=0.6)
    axes.set(xlabel="alignment (closer positives to the left)", ylabel="uniformity (more uniform downward)")
    axes.set(xlim=_limits(x, shortest=0.1), ylim=_limits(y, shortest=0.5))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6))
    low, high = axes.get_ylim()
    left, right = axes.get_xlim()
    heights = spread(y, gap=0.08 * (high - low))
    style: dict[str, Any] = {"fontsize": TEXT, "fontweight": "bold", "va": "center", "parse_math": False}
    for name, color, across, height in zip(points, colors, x, heights, strict=True):
        axes.text(across + 0.03 * (right - left), height, name, color=color, **style)
    return figure


def _limits(values: list[float], *, shortest: float) -> tuple[float, float]:
    """Return limits with a margin for labels, at least so far apart that tiny differences look tiny."""
    middle, span = (min(values) + max(values)) / 2, max(max(values) - min(values), shortest)
    return middle - 0.65 * span, middle + 0.75 * span


def weight_against_similarity(
    similarity: Floats, relative_weight: Floats, color: str, *, limits: tuple[float, float]
) -> Figure:
    """Draw the weight of negatives, in multiples of the uniform weight, against their similarity.

    The line is the median over equal steps of similarity, the band holds the middle 90 per cent, the dots
    are single negatives. The dashed line at 1 is the uniform weight.

    Args:
        similarity: (negatives,) cosine similarities to the anchor.
        relative_weight: (negatives,) positive multiples of the uniform weight.
        color: color of the objective.
        limits: ends of the vertical, logarithmic axis.

    Example:
        >>> similarity, weight = np.array([0.0, 0.5]), np.array([0.5, 1.5])
        >>> figure = weight_against_similarity(similarity, weight, "#0072b2", limits=(0.1, 10))
        >>> figure.axes[0].get_yscale()
        'log'
    """
    figure, axes = canvas(width=2.2, height=1.9)
    chosen = np.random.default_rng(0).permutation(len(similarity))[:1500]
    dots: dict[str, Any] = {"s": 4, "alpha": 0.18, "linewidths": 0, "rasterized": True}
    axes.scatter(similarity[chosen], relative_weight[chosen], color=color, **dots)
    centers, low, middle, high = _bands(similarity, relative_weight)
    axes.fill_between(centers, low, high, color=color, alpha=0.2, linewidth=0)
    axes.plot(centers, middle, color=color, linewidth=1.8)
    axes.axhline(1, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_yscale("log")
    axes.set(xlim=(-1, 1), ylim=limits, xlabel="similarity to the anchor", ylabel="weight / uniform weight")
    axes.text(-0.98, 1.08, "uniform", color=MUTED, fontsize=TEXT, va="bottom")
    axes.set_xticks([-1, 0, 1])
    axes.yaxis.set_major_locator(LogLocator(numticks=6))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    return figure


def _bands(similarity: Floats, weight: Floats) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the centers of the steps with five negatives or more, and their 5, 50 and 95 % quantiles."""
    edges = np.linspace(-1, 1, 41)
    step = np.clip(np.digitize(similarity, edges) - 1, 0, 39)
    held = [index for index in range(40) if np.count_nonzero(step == index) >= 5]
    rows = [np.percentile(weight[step == index], [5, 50, 95]) for index in held]
    low, middle, high = np.array(rows).reshape(-1, 3).T
    return (edges[:-1] + edges[1:])[held] / 2, low, middle, high
