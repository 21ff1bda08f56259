"""Coefficient of the transfer bounds over the number of negatives."""

import math

import numpy as np
from matplotlib.figure import Figure

from tammes.report.figures.canvas import TEXT, canvas, spread
from tammes.report.palette import GRID, INK, MUTED, objective_color
from tammes.theory import ClassDistribution, best_k, closed_form_best_k, log_bound

GROWTHS = {0.0: "constant", 0.5: r"$\sqrt{k}$", 0.75: "$k^{3/4}$", 1.0: "$k$"}
"""Powers of k with which the excess loss may grow, and their labels in the figure."""

POINTS = 2000


def bounds_over_negatives(classes: ClassDistribution, *, pairs: int | None = None) -> Figure:
    """Draw the transfer coefficient times powers of k, on logarithmic scales, with a dot at each minimum.

    The coefficient is a sawtooth in k, because of a ceiling in its definition. The solid dot is its minimum;
    the hollow one is the minimum of the closed form, which has no ceiling.

    Args:
        classes: distribution of at least two classes.
        pairs: number of pairs in a batch, marked by a dashed line; its negatives cover and collide like
            `pairs - 1` independent ones.

    Source: Ash et al. (2022), Figure 1, for 100 equally likely classes; of the growth rates the caption names
    only the square root.

    Example:
        >>> bounds_over_negatives(ClassDistribution.uniform(100)).axes[0].get_xlabel()
        'negatives k'
    """
    figure, axes = canvas(width=5.4, height=3.6)
    draws = None if pairs is None else pairs - 1
    last = max(10, 4 * best_k(classes))
    if draws is not None and last < draws <= 3 * last:
        last = draws
    ends: dict[str, tuple[float, str]] = {}
    k = np.unique(np.geomspace(1, last, POINTS).round().astype(int)).tolist()
    for place, (growth, name) in enumerate(GROWTHS.items()):
        color = objective_color(place)
        values = np.exp([log_bound(each, classes, growth=growth) for each in k])
        axes.plot(k, values, color=color, linewidth=1.6)
        best = best_k(classes, growth=growth)
        smooth = max(1, round(closed_form_best_k(classes, growth=growth)))
        axes.plot(best, math.exp(log_bound(best, classes, growth=growth)), "o", color=color, markersize=5.5)
        height = math.exp(log_bound(smooth, classes, growth=growth))
        axes.plot(smooth, height, "o", mec=color, mfc="none", markersize=9, mew=1)
        ends[name] = (math.log(values[-1]), color)
    axes.set(xscale="log", yscale="log", xlabel="negatives k", ylabel="coefficient", xlim=(0.9, last))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.minorticks_off()
    axes.grid(color=GRID, linewidth=0.6)
    low, high = axes.get_ylim()
    places = spread([value for value, _ in ends.values()], gap=0.075 * math.log(high / low))
    for (name, (_, color)), height in zip(ends.items(), places, strict=True):
        axes.annotate(
            name,
            (1.015, math.exp(height)),
            xycoords=axes.get_yaxis_transform(),
            color=color,
            fontweight="bold",
            va="center",
            annotation_clip=False,
        )
    if draws is not None and draws <= last:
        axes.axvline(draws, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        axes.text(draws, high, f"batch of {draws + 1:,} ", color=MUTED, va="top", ha="right")
    for text in axes.texts:
        text.set_fontsize(TEXT)
    kind = "equally likely" if classes.is_uniform else "measured"
    axes.set_title(
        f"Bound on the supervised loss, {classes.number:,} {kind} classes,\n"
        "for an excess contrastive loss that grows as labeled\n"
        "(● minimum, ○ minimum of the closed form)",
        fontsize=TEXT,
        color=INK,
        loc="left",
    )
    return figure
