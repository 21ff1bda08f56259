"""Embeddings in three dimensions, on a map of the sphere."""

import numpy as np
from matplotlib.figure import Figure

from tammes.report.figures.canvas import TEXT
from tammes.report.palette import CLASSES, GRID, MUTED
from tammes.report.scores import Floats, Integers


def sphere_map(points: Floats, labels: Integers) -> Figure:
    """Points of the unit sphere on an equal-area (Mollweide) map, with their mean direction in the middle.

    A representation that has collapsed is one dot in the middle, one that is spread out fills the ellipse.

    Args:
        points: (n, 3), of any length above zero.
        labels: (n,), for the colors, which repeat after ten.

    >>> sphere_map(np.eye(3), np.array([0, 1, 2])).axes[0].name
    'mollweide'
    """
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    turned = unit @ _mean_to_front(unit.mean(axis=0))
    longitude = np.arctan2(turned[:, 1], turned[:, 0])
    latitude = np.arcsin(np.clip(turned[:, 2], -1, 1))
    figure = Figure(figsize=(2.6, 1.5), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.add_subplot(projection="mollweide")
    axes.patch.set_alpha(0)
    axes.grid(color=GRID, linewidth=0.5)
    axes.spines["geo"].set_color(MUTED)
    axes.set_xticklabels([])
    axes.set_yticklabels([])
    inks = [CLASSES[int(label) % len(CLASSES)] for label in labels]
    axes.scatter(longitude, latitude, c=inks, s=6, linewidths=0, alpha=0.8)
    axes.set_xlabel("the sphere, equal areas", fontsize=TEXT - 1, color=MUTED)
    return figure


def _mean_to_front(mean: np.ndarray) -> np.ndarray:
    """An orthogonal matrix, to be multiplied from the right, that turns this direction to the first axis."""
    # QR makes an orthonormal basis that starts with the mean, up to its sign.
    basis, _ = np.linalg.qr(np.column_stack([mean, np.eye(3)]))
    return np.asarray(basis * np.where(basis[:, 0] @ mean < 0, -1, 1))
