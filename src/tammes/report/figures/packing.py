"""Points of a packing with their contacts: on the circle, on the sphere, or as a matrix."""

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tammes.report.figures.canvas import TEXT, canvas
from tammes.report.palette import CLASSES, GRID, INK, MUTED
from tammes.theory import Packing

ARC = np.linspace(0, 1, 25)[:, None]
"""Steps along the arc of a contact."""


def packing_figure(packing: Packing) -> Figure:
    """Draw the points of a packing, with lines between those at the smallest distance.

    The ordinary sphere is seen from a direction in which few points hide each other; what lies behind it is
    faint. Points of more than three dimensions are drawn as the matrix of their inner products.

    Args:
        packing: the points, in any dimension.

    Example:
        >>> from tammes.theory import pack
        >>> packing_figure(pack(12, 3)).axes[0].get_title(loc="left")
        '12 points in 3 dimensions, 63.43° apart'
    """
    figure, axes = canvas(width=4.0, height=4.2)
    dim = packing.points.shape[1]
    if dim == 2:
        _draw_circle(axes, packing)
    elif dim == 3:
        _draw_sphere(axes, packing)
    else:
        _draw_matrix(figure, axes, packing)
    count = len(packing.points)
    noun = "dimension" if dim == 1 else "dimensions"
    title = f"{count} points in {dim} {noun}, {packing.angle_degrees:.2f}° apart"
    axes.set_title(title, fontsize=TEXT, color=INK, loc="left")
    return figure


def _draw_circle(axes: Axes, packing: Packing) -> None:
    around = np.linspace(0, 2 * np.pi, 200)
    axes.plot(np.cos(around), np.sin(around), color=GRID, linewidth=1)
    for i, j in packing.contacts:
        axes.plot(*packing.points[[i, j]].T, color=CLASSES[0], linewidth=1.2)
    x, y = packing.points.T
    axes.scatter(x, y, color=INK, s=28, zorder=3)
    _bare(axes)


def _draw_sphere(axes: Axes, packing: Packing) -> None:
    """Draw an orthographic view; the third coordinate points to the reader."""
    around = np.linspace(0, 2 * np.pi, 200)
    axes.plot(np.cos(around), np.sin(around), color=MUTED, linewidth=0.9)
    points = packing.points @ _view(packing.points).T
    # Points that have no contact are free to move: their color says so.
    touching = np.isin(np.arange(len(points)), packing.contacts)
    for i, j in packing.contacts:
        arc = (1 - ARC) * points[i] + ARC * points[j]
        length = np.linalg.norm(arc, axis=1, keepdims=True)
        if length.min() < 1e-6:  # opposite points have no shortest arc
            continue
        arc /= length
        for in_front in (False, True):
            part = np.where((arc[:, 2:] >= 0) == in_front, arc, np.nan)
            axes.plot(
                *part[:, :2].T, color=CLASSES[0], linewidth=1.3 if in_front else 0.6, **_depth(in_front)
            )
    for in_front in (False, True):
        for touches in (False, True):
            chosen = points[((points[:, 2] >= 0) == in_front) & (touching == touches)]
            ink, size = INK if touches else CLASSES[1], 26 if in_front else 12
            axes.scatter(chosen[:, 0], chosen[:, 1], color=ink, s=size, linewidths=0, **_depth(in_front))
    _bare(axes)


def _depth(in_front: bool) -> dict[str, Any]:
    return {"zorder": 3, "alpha": 1.0} if in_front else {"zorder": 2, "alpha": 0.35}


def _view(points: Float[np.ndarray, "count 3"]) -> Float[np.ndarray, "3 3"]:
    """Return, of some rotations, the one in whose view the nearest two points are farthest apart."""
    generator = np.random.default_rng(0)
    best, widest = np.eye(3), -1.0
    for _ in range(200):
        rotation = np.linalg.qr(generator.standard_normal((3, 3))).Q
        flat = (points @ rotation.T)[:, :2]
        gaps = np.linalg.norm(flat[:, None] - flat[None], axis=2)
        np.fill_diagonal(gaps, np.inf)
        if gaps.min() > widest:
            best, widest = rotation, float(gaps.min())
    return best


def _draw_matrix(figure: Figure, axes: Axes, packing: Packing) -> None:
    """Draw the inner products, points in an order in which equal products stand together."""
    similarity = packing.points @ packing.points.T
    order = np.lexsort(np.round(similarity, 6))
    image = axes.imshow(similarity[order][:, order], cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
    bar = figure.colorbar(image, ax=axes, shrink=0.75, label="inner product")
    bar.ax.tick_params(labelsize=TEXT - 1, colors=MUTED)
    axes.set(xticks=[], yticks=[])


def _bare(axes: Axes) -> None:
    axes.set_aspect("equal")
    axes.set_axis_off()
