"""Figures of the experiments on eigenvectors."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from tammes.report.figures.canvas import TEXT, canvas
from tammes.report.palette import INK, MUTED, objective_color

FLOOR = 1e-5
"""What smaller errors are drawn as."""


def errors_by_group(
    ours: Mapping[str, Mapping[str, float]],
    paper: Mapping[str, Mapping[str, float]],
    *,
    label: str,
    logarithmic: bool = True,
    width: float | None = None,
) -> Figure:
    """A column for each group, a color for each method: our error as a dot, the paper's as a ring.

    Args:
        ours: by method, then group; every method has the same groups.
        paper: likewise; methods and groups may be missing.
        label: what the numbers are.
        logarithmic: whether the numbers are drawn by their logarithms.
        width: of the figure, in inches; left out, by the number of groups.

    >>> errors_by_group({"a": {"low": 0.1}}, {}, label="error").axes[0].get_ylabel()
    'error'
    """
    groups = list(next(iter(ours.values())))
    figure, axes = canvas(width=width or 1.6 + 1.1 * len(groups), height=2.9)
    for index, (method, errors) in enumerate(ours.items()):
        shift = 0.16 * (index - (len(ours) - 1) / 2)
        places = [place + shift for place in range(len(groups))]
        color = objective_color(index)
        values = [max(errors[group], FLOOR) if logarithmic else errors[group] for group in groups]
        axes.plot(places, values, "o", color=color, markersize=5, label=method)
        known = [
            (place, paper[method][group])
            for place, group in zip(places, groups, strict=True)
            if group in paper.get(method, {})
        ]
        if known:
            axes.plot(*zip(*known, strict=True), "o", mfc="none", mec=INK, markersize=6.5)
    if logarithmic:
        axes.set_yscale("log")
    axes.set_xticks(range(len(groups)), groups, fontsize=TEXT)
    axes.set_ylabel(label)
    axes.margins(x=0.12)
    if len(ours) == 1:
        return figure
    axes.legend(fontsize=TEXT, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), labelcolor=MUTED)
    return figure
