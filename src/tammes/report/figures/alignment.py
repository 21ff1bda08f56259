"""Alignment against uniformity, as Wang and Isola draw them."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tammes.report.figures.canvas import TEXT, canvas, spread
from tammes.report.palette import GRID


def alignment_uniformity(points: Mapping[str, tuple[float, float]], colors: Sequence[str]) -> Figure:
    """One point per objective: distance of positives to the right, logarithm of the mean potential upward.

    Less is better on both axes, so the best corner is the lower left one.

    Args:
        points: (alignment, uniformity) by name.
        colors: one per point.

    Source: Wang and Isola (2020), section 4, with exponent 2 and scale 2.

    >>> alignment_uniformity({"hcl": (0.3, -2.5)}, ["#0072b2"]).axes[0].get_xlabel()
    'alignment (closer positives to the left)'
    """
    figure, axes = canvas(width=4.4, height=3.0)
    x = [point[0] for point in points.values()]
    y = [point[1] for point in points.values()]
    axes.scatter(x, y, c=list(colors), s=46, linewidths=0, zorder=3)
    axes.grid(color=GRID, linewidth=0.6)
    axes.set(xlabel="alignment (closer positives to the left)", ylabel="uniformity (evener spread downward)")
    axes.set(xlim=_limits(x, least=0.1), ylim=_limits(y, least=0.5))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6))
    low, high = axes.get_ylim()
    left, right = axes.get_xlim()
    places = spread(y, gap=0.08 * (high - low))
    for name, color, across, place in zip(points, colors, x, places, strict=True):
        axes.text(
            across + 0.03 * (right - left),
            place,
            name,
            color=color,
            fontsize=TEXT,
            fontweight="bold",
            va="center",
            parse_math=False,
        )
    return figure


def _limits(values: list[float], *, least: float) -> tuple[float, float]:
    """Limits with a margin for labels, at least so far apart that trifles do not fill the axis."""
    middle, span = (min(values) + max(values)) / 2, max(max(values) - min(values), least)
    return middle - 0.65 * span, middle + 0.75 * span
