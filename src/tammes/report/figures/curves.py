"""Accuracy and loss over the epochs of training."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tammes.report.curve import Curve
from tammes.report.figures.canvas import TEXT, canvas, quiet, shortened, spread
from tammes.report.palette import GRID, MUTED

WIDE = 30
"""Ratio of the largest to the smallest value above which an axis is logarithmic."""


def accuracy_over_epochs(
    curves: Mapping[str, Curve], colors: Sequence[str], *, floors: Mapping[str, float] | None = None
) -> Figure:
    """Draw the nearest-neighbor accuracy of each objective over epochs, each line labeled at its end.

    Args:
        curves: accuracy of each objective as a fraction, by name; means over seeds have a band.
        colors: color of each curve.
        floors: accuracies to draw as dotted horizontal lines, by name.

    Example:
        >>> import numpy as np
        >>> curve = Curve(epochs=np.array([0, 1]), values=np.array([0.5, 0.9]))
        >>> accuracy_over_epochs({"hcl": curve}, ["#0072b2"]).axes[0].get_ylabel()
        'kNN accuracy (%)'
    """
    floors = floors or {}
    # Each label is a line of text at the right, and names must not run into each other.
    figure, axes = canvas(width=4.4, height=max(2.9, 0.2 * (len(curves) + len(floors))))
    draw_over_epochs(axes, list(curves.values()), colors, scale=100, markers=True)
    for value in floors.values():
        axes.axhline(100 * value, color=MUTED, linewidth=1, linestyle=(0, (1, 2.5)))
    _limit([*(100 * curve.values for curve in curves.values()), 100 * np.array(list(floors.values()))], axes)
    low, high = axes.get_ylim()
    margin = 0.03 * (min(high, 100) - max(low, 0))  # for the markers of 0 and 100 %, with no tick beyond
    axes.set_ylim(max(low, -margin), min(high, 100 + margin))
    axes.set_ylabel("kNN accuracy (%)")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    short = [shortened(name) for name in curves]
    names = short if len(set(short)) == len(short) else list(curves)
    ends = {name: 100 * curve.last for name, curve in zip(names, curves.values(), strict=True)}
    ends |= {name: 100 * value for name, value in floors.items()}
    label_ends(axes, ends, [*colors, *[MUTED] * len(floors)], line=0.22 / figure.get_figheight())
    return figure


def over_epochs(
    curves: Sequence[Curve], colors: Sequence[str], *, label: str, may_be_log: bool = False
) -> Figure:
    """Draw a number over epochs in a small figure, without names: the colors are those of the objectives.

    Args:
        curves: curves, with a band for means over seeds.
        colors: color of each.
        label: label of the vertical axis.
        may_be_log: whether the axis is logarithmic if the values span more than a factor of 30.

    Example:
        >>> import numpy as np
        >>> curve = Curve(epochs=np.array([1, 2]), values=np.array([4.2, 3.1]))
        >>> over_epochs([curve], ["#0072b2"], label="training loss").axes[0].get_ylabel()
        'training loss'
    """
    figure, axes = canvas(width=2.2, height=1.6)
    draw_over_epochs(axes, curves, colors)
    values = np.concatenate([curve.values for curve in curves])
    if may_be_log and 0 < WIDE * values.min() < values.max():
        axes.set_yscale("log")
        axes.set_ylim(values.min() / 1.5, values.max() * 1.5)
        axes.minorticks_off()
    else:
        _limit([values], axes)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
        axes.ticklabel_format(axis="y", scilimits=(-2, 4), useMathText=True)
    axes.set_ylabel(label)
    axes.yaxis.offsetText.set(color=MUTED, fontsize=TEXT)
    return figure


def draw_over_epochs(
    axes: Axes, curves: Sequence[Curve], colors: Sequence[str], *, scale: float = 1, markers: bool = False
) -> None:
    """Draw curves over epochs on axes, with bands for means over seeds.

    Args:
        axes: axes to draw on.
        curves: curves to draw.
        colors: color of each; the second curve of a color is dashed.
        scale: factor of the values; 100 for percent.
        markers: whether to mark the points.

    Example:
        >>> import numpy as np
        >>> axes = Figure().add_subplot()
        >>> draw_over_epochs(axes, [Curve(epochs=np.array([1]), values=np.array([4.2]))], ["#0072b2"])
        >>> axes.get_xlabel()
        'epoch'
    """
    for place, (curve, color) in enumerate(zip(curves, colors, strict=True)):
        if curve.low is not None and curve.high is not None:
            band = scale * curve.low, scale * curve.high
            axes.fill_between(curve.epochs, *band, color=color, alpha=0.12, linewidth=0)
        repeats = list(colors[:place]).count(color)
        axes.plot(
            curve.epochs,
            scale * curve.values,
            color=color,
            linewidth=1.6,
            linestyle="-" if repeats == 0 else (0, (4, 1.5)),
            marker="o" if markers else "",
            markersize=2.5,
        )
    axes.set_xlabel("epoch")
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    axes.margins(x=0.02)


def _limit(values: Sequence[np.ndarray], axes: Axes) -> None:
    """Let the lines fill the axes, since a band over two seeds is wide enough to flatten them."""
    shown = np.concatenate(values)
    low, high = axes.get_ylim()
    room = max(float(np.ptp(shown)), 0.05 * float(np.abs(shown).max())) or 1.0
    axes.set_ylim(max(low, float(shown.min()) - 0.5 * room), min(high, float(shown.max()) + 0.5 * room))


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
