"""Figures of the set-function experiments."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from tammes.report.figures.canvas import TEXT, canvas
from tammes.report.palette import INK, MUTED, objective_color


def dots(
    ours: Mapping[str, float], paper: Mapping[str, float], *, label: str, limits: tuple[float, float]
) -> Figure:
    """A line for each method: our number as a dot, the paper's as a ring.

    >>> dots({"a": 0.5}, {"a": 0.6}, label="ratio", limits=(0, 1)).axes[0].get_xlabel()
    'ratio'
    """
    names = list(ours)
    figure, axes = canvas(width=4.2, height=0.5 + 0.26 * len(names))
    places = range(len(names))
    axes.hlines(places, *limits, color=MUTED, linewidth=0.3)
    axes.plot(list(ours.values()), list(places), "o", color=objective_color(0), markersize=6)
    rings = [(paper[name], place) for place, name in enumerate(names) if name in paper]
    if rings:
        axes.plot(*zip(*rings, strict=True), "o", mfc="none", mec=INK, markersize=7)
    axes.set_yticks(list(places), names, fontsize=TEXT)
    axes.set_ylim(len(names) - 0.5, -0.5)  # the first on top, and whole dots at both ends
    axes.set_xlim(*limits)
    axes.set_xlabel(label)
    return figure


def lines(series: Mapping[str, tuple[Sequence[float], Sequence[float]]], *, across: str, up: str) -> Figure:
    """A line for each name, of (places, values), named at its end.

    >>> lines({"a": ([1, 2], [0.5, 0.6])}, across="k", up="ratio").axes[0].get_ylabel()
    'ratio'
    """
    figure, axes = canvas(width=4.2, height=2.6)
    for index, (name, (places, values)) in enumerate(series.items()):
        color = objective_color(index)
        axes.plot(places, values, "o-", color=color, linewidth=1.4, markersize=3)
        axes.annotate(
            name,
            (places[-1], values[-1]),
            xytext=(5, 5 - 10 * (index % 2)),  # two lines may end in one place
            textcoords="offset points",
            color=color,
            fontsize=TEXT,
            va="center",
        )
    axes.margins(x=0.25)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    return figure
