"""Accuracy and loss over the epochs of training."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tammes.report.figures.canvas import TEXT, canvas, quiet, spread
from tammes.report.palette import GRID, MUTED
from tammes.report.scores import Curve


def accuracy_over_epochs(
    curves: Mapping[str, Curve], colors: Sequence[str], *, floors: Mapping[str, float] | None = None
) -> Figure:
    """Draw the nearest-neighbor accuracy of each objective over epochs, each line labeled at its end.

    Args:
        curves: accuracy of each objective as a fraction, by name.
        colors: color of each curve.
        floors: accuracies to draw as dotted horizontal lines, by name.

    Example:
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
    ends = {name: 100 * curve.last for name, curve in curves.items()}
    ends |= {name: 100 * value for name, value in floors.items()}
    label_ends(axes, ends, [*colors, *[MUTED] * len(floors)])
    return figure


def loss_over_epochs(curve: Curve, color: str) -> Figure:
    """Draw the training loss of one objective over epochs.

    Losses of different objectives are different quantities, so each has its own figure.

    Example:
        >>> import numpy as np
        >>> curve = Curve(epochs=np.array([1]), values=np.array([4.2]))
        >>> loss_over_epochs(curve, "#0072b2").axes[0].get_ylabel()
        'training loss'
    """
    figure, axes = canvas(width=2.35, height=1.6)
    single = len(curve.epochs) == 1  # a line needs two points
    axes.plot(curve.epochs, curve.values, color=color, linewidth=1.6, marker="o" if single else "")
    axes.set(xlabel="epoch", ylabel="training loss")
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    if single:
        axes.set_xticks(curve.epochs)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.margins(x=0.02)
    return figure


def lines_over_steps(
    curves: Mapping[str, Curve], colors: Sequence[str], *, label: str, level: tuple[str, float]
) -> Figure:
    """Draw a number over training steps for several objectives, with a dashed reference line.

    Args:
        curves: curves by name; their epochs are steps here.
        colors: color of each curve.
        label: label of the vertical axis.
        level: name and height of the dashed line.

    Example:
        >>> import numpy as np
        >>> curve = Curve(epochs=np.array([0, 1]), values=np.array([0.9, 0.7]))
        >>> figure = lines_over_steps({"a": curve}, ["#0072b2"], label="loss", level=("floor", 0.7))
        >>> figure.axes[0].get_xlabel()
        'step'
    """
    figure, axes = canvas(width=4.6, height=2.9)
    draw_lines(axes, curves, colors, label=label, level=level)
    return figure


def draw_lines(
    axes: Axes, curves: Mapping[str, Curve], colors: Sequence[str], *, label: str, level: tuple[str, float]
) -> None:
    """Draw `lines_over_steps` on axes of a larger figure.

    Example:
        >>> import numpy as np
        >>> axes = Figure().add_subplot()
        >>> curve = Curve(epochs=np.array([0, 1]), values=np.array([0.9, 0.7]))
        >>> draw_lines(axes, {"a": curve}, ["#0072b2"], label="loss", level=("floor", 0.7))
        >>> [text.get_text() for text in axes.texts]
        ['a', 'floor']
    """
    quiet(axes)
    for (_, curve), color in zip(curves.items(), colors, strict=True):
        axes.plot(curve.epochs, curve.values, color=color, linewidth=1.6)
    axes.axhline(level[1], color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    axes.set(xlabel="step", ylabel=label)
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.margins(x=0.02)
    ends = {name: curve.last for name, curve in curves.items()} | {level[0]: level[1]}
    label_ends(axes, ends, [*colors, MUTED])


def label_ends(axes: Axes, ends: Mapping[str, float], inks: Sequence[str], *, line: float = 0.075) -> None:
    """Write names to the right of the axes, near the height at which their lines end.

    Args:
        axes: axes with a linear or a logarithmic vertical scale, whose limits stay as they are.
        ends: height of each name.
        inks: color of each name; all but the muted ones are bold.
        line: height of a line of text relative to that of the axes.

    Example:
        >>> axes = Figure().add_subplot()
        >>> label_ends(axes, {"a": 0.5}, ["#0072b2"])
        >>> [text.get_text() for text in axes.texts]
        ['a']
    """
    scale = axes.yaxis.get_transform()
    low, high = scale.transform(np.array(axes.get_ylim()))
    places = spread(scale.transform(np.array(list(ends.values()))), gap=line * (high - low))
    for name, place, ink in zip(ends, scale.inverted().transform(places), inks, strict=True):
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
