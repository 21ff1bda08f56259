"""Map of the features in two dimensions."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

from tammes.report.figures.canvas import TEXT, canvas, shortened
from tammes.report.markup import DOTS
from tammes.report.palette import CLASSES, GRID, INK, MUTED, PAPER
from tammes.report.scores import Floats, Integers

LONGEST_NAME = 16
LARGEST_DOT = 40.0
"""Area in square points of the dot of the greatest weight."""


def project(features: Floats) -> np.ndarray:
    """Return coordinates (n, 2) in the plane by t-SNE of the unit features.

    Neighborhoods have a meaning, long distances have none. The map is deterministic; features that are all
    equal are mapped to one point.

    Args:
        features: (n, features) features, n at least 4.

    Example:
        >>> project(np.eye(6)).shape
        (6, 2)
    """
    unit = features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)
    left, spread, _ = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)
    if spread[0] < 1e-6 * np.sqrt(len(unit)):
        return np.zeros((len(unit), 2))
    # t-SNE starts from the first two principal components, small.
    start = np.zeros((len(unit), 2))
    start[:, : min(2, len(spread))] = (left * spread)[:, :2] * (1e-4 * np.sqrt(len(unit)) / spread[0])
    perplexity = min(30.0, (len(unit) - 1) / 3)
    tsne = TSNE(perplexity=perplexity, init=start.astype(np.float32), random_state=0, max_iter=500)
    # With this few points, threads mostly wait for each other: one thread is ten times as fast.
    with threadpool_limits(1):
        return np.asarray(tsne.fit_transform(unit.astype(np.float32)))


def embedding_map(
    places: Floats,
    labels: Integers | None,
    classes: Sequence[str],
    *,
    color: str,
    width: float = 2.4,
) -> Figure:
    """Draw one dot per row, with the ten most frequent classes in color and named at their medoids.

    Args:
        places: (n, 2) coordinates.
        labels: (n,) labels; or None, and all dots have one color.
        classes: names of the labels, shortened to sixteen characters; empty without labels.
        color: color of the dots without labels.
        width: width and height of the figure in inches.

    Example:
        >>> figure = embedding_map(np.zeros((3, 2)), np.array([0, 0, 1]), ("cat", "dog"), color="#0072b2")
        >>> [text.get_text() for text in figure.axes[0].texts]
        ['cat', 'dog']
    """
    figure, axes = canvas(width=width, height=width)
    axes.set_axis_off()
    frequent = np.array([], dtype=int) if labels is None else _most_frequent(labels, len(CLASSES))
    inks = [color if labels is None else MUTED] * len(places)
    if labels is not None:
        rank = {int(label): place for place, label in enumerate(frequent)}
        inks = [CLASSES[rank[int(label)]] if int(label) in rank else MUTED for label in labels]
    axes.scatter(places[:, 0], places[:, 1], c=inks, s=9, alpha=0.85, linewidths=0).set_gid(DOTS)
    for label in frequent:
        mine = places[labels == label]
        across, up = mine[np.argmin(np.abs(mine[:, None] - mine[None]).sum(axis=(1, 2)))]  # the medoid
        text = axes.text(
            across,
            up,
            shortened(classes[label], LONGEST_NAME),
            ha="center",
            va="center",
            fontsize=TEXT + 1,
            fontweight="bold",
            color=INK,
            parse_math=False,
        )
        text.set_path_effects([withStroke(linewidth=2.5, foreground=PAPER)])
    axes.set_aspect("equal", adjustable="datalim")
    return figure


def weights_on_map(places: Floats, weight: Floats, same: Floats | None, *, anchor: int, color: str) -> Figure:
    """Draw one anchor as a star, and its negatives as dots whose area is their weight.

    Args:
        places: (n, 2) coordinates.
        weight: (n,) weights as multiples of the uniform weight; 0 for rows that are no negatives.
        same: (n,) whether each row has the anchor's label, drawn with a ring; or None.
        anchor: row of the anchor.
        color: color of the objective.

    Example:
        >>> figure = weights_on_map(np.eye(2), np.array([0.0, 2.0]), None, anchor=0, color="#0072b2")
        >>> len(figure.axes[0].collections)
        3
    """
    figure, axes = canvas(width=2.4, height=2.4)
    axes.set_axis_off()
    held = weight > 0
    axes.scatter(places[~held, 0], places[~held, 1], s=2, color=GRID, linewidths=0)
    # The area is the weight, so that a dot of twice the weight looks twice as heavy.
    sizes = LARGEST_DOT * weight[held] / max(float(weight.max()), 1e-12)
    axes.scatter(places[held, 0], places[held, 1], s=sizes, color=color, alpha=0.55, linewidths=0)
    if same is not None:
        false = np.asarray(same)[held]
        across, up = places[held][false].T
        axes.scatter(across, up, s=sizes[false], facecolors="none", edgecolors=INK, linewidths=1.2)
    star = places[anchor]
    axes.scatter(star[0], star[1], s=120, c=INK, marker="*", linewidths=0.8, edgecolors=PAPER, zorder=3)
    axes.set_aspect("equal", adjustable="datalim")
    return figure


def _most_frequent(labels: Integers, count: int) -> np.ndarray:
    """Return the labels that occur most often, in ascending order."""
    values, counts = np.unique(labels, return_counts=True)
    return np.sort(values[np.argsort(-counts, kind="stable")[:count]])
