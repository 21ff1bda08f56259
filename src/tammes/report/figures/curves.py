"""Accuracy and loss over the epochs of training."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tammes.report.figures.canvas import TEXT, canvas, spread
from tammes.report.palette import GRID, MUTED
from tammes.report.scores import Curve


def accuracy_over_epochs(
    curves: Mapping[str, Curve], colors: Sequence[str], *, floors: Mapping[str, float] | None = None
) -> Figure:
    """Nearest-neighbor accuracy of each objective over epochs, each line labeled at its end.

    Args:
        curves: the name of each objective and its accuracy, as fractions.
        colors: one per curve.
        floors: accuracies to be drawn as dotted lines across, by name.

    >>> import numpy as np
    >>> curve = Curve(epochs=np.array([0, 1]), values=np.array([0.5, 0.9]))
    >>> accuracy_over_epochs({"hcl": curve}, ["#0072b2"]).axes[0].get_ylabel()
    'kNN accuracy (%)'
    """
    figure, axes = canvas(width=5.2, height=3.1)
    floors = floors or {}
    for (_, curve), color in zip(curves.items(), colors, strict=True):
        axes.plot(curve.epochs, 100 * curve.values, color=color, linewidth=1.8, marker="o", markersize=2.5)
    for value in floors.values():
        axes.axhline(100 * value, color=MUTED, linewidth=1, linestyle=(0, (1, 2.5)))
    axes.set(xlabel="epoch", ylabel="kNN accuracy (%)")
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes.margins(x=0.02)
    last = [100 * curve.last for curve in curves.values()] + [100 * value for value in floors.values()]
    low, high = axes.get_ylim()
    # 17 points of line height on axes about 170 points high
    places = spread(last, gap=0.075 * (high - low))
    inks = [*colors, *[MUTED] * len(floors)]
    for name, place, ink in zip([*curves, *floors], places, inks, strict=True):
        axes.annotate(
            name,
            (1.015, place),
            xycoords=axes.get_yaxis_transform(),
            color=ink,
            fontsize=TEXT,
            fontweight="normal" if ink == MUTED else "bold",
            va="center",
            annotation_clip=False,
            parse_math=False,
        )
    return figure


def loss_over_epochs(curve: Curve, color: str) -> Figure:
    """The training loss of one objective over epochs, on a scale of its own: losses do not compare.

    >>> import numpy as np
    >>> loss_over_epochs(Curve(epochs=np.array([1]), values=np.array([4.2])), "#0072b2").axes[0].get_ylabel()
    'training loss'
    """
    figure, axes = canvas(width=2.35, height=1.6)
    axes.plot(curve.epochs, curve.values, color=color, linewidth=1.6)
    axes.set(xlabel="epoch", ylabel="training loss")
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.margins(x=0.02)
    return figure
