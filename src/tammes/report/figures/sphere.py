"""Map of the sphere for embeddings in three dimensions."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tammes.report.palette import CLASSES, GRID, MUTED
from tammes.report.scores import Floats, Integers


def sphere_map(points: Floats, labels: Integers) -> Figure:
    """Draw points of the unit sphere on an equal-area (Hammer) map centered at their mean direction.

    A collapsed representation is one dot in the middle; a uniform one fills the ellipse.

    Args:
        points: (n, 3) vectors of positive length.
        labels: (n,) labels for the colors, which repeat after ten.

    Example:
        >>> sphere_map(np.eye(3), np.array([0, 1, 2])).axes[0].get_aspect()
        1.0
    """
    figure = Figure(figsize=(2.6, 1.4), layout="constrained")
    figure.patch.set_alpha(0)
    draw_sphere(figure.add_subplot(), points, labels)
    return figure


def draw_sphere(axes: Axes, points: Floats, labels: Integers) -> None:
    """Draw `sphere_map` on axes of a larger figure.

    Example:
        >>> axes = Figure().add_subplot()
        >>> draw_sphere(axes, np.eye(3), np.array([0, 1, 2]))
        >>> len(axes.collections[0].get_offsets())
        3
    """
    along = np.linspace(-1, 1, 61)
    for longitude in np.pi * np.array([-1, -2 / 3, -1 / 3, 0, 1 / 3, 2 / 3, 1]):
        edge = abs(longitude) == np.pi
        line = hammer(np.full(61, longitude), along * np.pi / 2)
        axes.plot(*line.T, color=MUTED if edge else GRID, linewidth=0.9 if edge else 0.5)
    for latitude in np.pi * np.array([-1 / 3, -1 / 6, 0, 1 / 6, 1 / 3]):
        axes.plot(*hammer(along * np.pi, np.full(61, latitude)).T, color=GRID, linewidth=0.5)
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    x, y, z = (unit @ _mean_to_front(unit.mean(axis=0))).T
    inks = [CLASSES[int(label) % len(CLASSES)] for label in labels]
    places = hammer(np.arctan2(y, x), np.arcsin(np.clip(z, -1, 1)))
    axes.scatter(places[:, 0], places[:, 1], c=inks, s=7, linewidths=0, alpha=0.8, zorder=3, rasterized=True)
    axes.set_aspect("equal")
    axes.set_axis_off()


def hammer(longitude: Floats, latitude: Floats) -> np.ndarray:
    """Return coordinates (n, 2) on the equal-area Hammer map.

    The map is an ellipse with half axes 2 sqrt(2) and sqrt(2).

    Args:
        longitude: (n,) longitudes in [-pi, pi].
        latitude: (n,) latitudes in [-pi/2, pi/2].

    Example:
        >>> hammer(np.array([0.0, np.pi]), np.array([0.0, 0.0])).round(3).tolist()
        [[0.0, 0.0], [2.828, 0.0]]
    """
    scale = np.sqrt(1 + np.cos(latitude) * np.cos(longitude / 2))
    across = 2 * np.sqrt(2) * np.cos(latitude) * np.sin(longitude / 2) / scale
    return np.column_stack([across, np.sqrt(2) * np.sin(latitude) / scale])


def _mean_to_front(mean: np.ndarray) -> np.ndarray:
    """Return an orthogonal matrix that, multiplied from the right, turns a direction to the first axis."""
    # QR gives an orthonormal basis whose first vector is the mean direction, up to its sign.
    basis, _ = np.linalg.qr(np.column_stack([mean, np.eye(3)]))
    return np.asarray(basis * np.where(basis[:, 0] @ mean < 0, -1, 1))
