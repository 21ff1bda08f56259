"""Ascent on the sphere: spread points by a smoothed smallest distance that becomes sharper and sharper."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

Points = Float[np.ndarray, "count dim"]
Weights = Float[np.ndarray, " count"]

STEPS = 150
"""Most steps at one sharpness."""

FACTOR = 4.0
"""How much sharper each smoothed problem is than the one before."""

SHARPEST = 2000.0
"""Sharpness times the expected gap at which smoothing ends: distances are then right to about 0.1 %."""

STARTS = (2.0, 8.0, 32.0)
"""First sharpnesses, in units of the expected gap. From soft ones, all random points arrive at the same few
points, which are the best of 50 or 100 on the sphere; the optima of 13, 21 and 29 need sharper ones."""


def spread(start: Points, *, first: float, weights: Weights | None = None) -> Points:
    """Return points that are spread from a start by ascent on smoothed problems.

    With inner products s_ij and sharpness k, growing by steps, the points minimize

        1/k log sum over i != j of e^{k s_ij},    with weights    sum_i w_i 1/k log sum over j of e^{k s_ij},

    smooth versions of the largest inner product, and of the weighted mean of each point's largest.

    Args:
        start: unit vectors to begin with.
        first: first sharpness in units of the expected gap, such as one of `STARTS`.
        weights: weights of the points; None for Tammes' problem.
    """
    points = start
    for sharpness in _sharpnesses(start.shape, first):
        points = _minimized(points, sharpness, weights)
    return points


def random_points(count: int, dim: int, generator: np.random.Generator) -> Points:
    """Draw points uniformly on the unit sphere.

    Example:
        >>> random_points(5, 3, np.random.default_rng(0)).shape
        (5, 3)
    """
    points = generator.standard_normal((count, dim))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def _sharpnesses(shape: tuple[int, ...], first: float) -> Iterator[float]:
    """Yield growing sharpnesses; the gap is about that of C caps which share the area of the sphere."""
    count, dim = shape
    gap = 2 * count ** (-2 / (dim - 1))
    sharpness = first / gap
    while sharpness * gap < SHARPEST:
        yield sharpness
        sharpness *= FACTOR


def _minimized(points: Points, sharpness: float, weights: Weights | None) -> Points:
    """Return the points after steps of L-BFGS on the smoothed problem.

    Rows are divided by their lengths inside the problem: its gradient is tangential to the sphere, and to
    divide them at the end is the retraction of Riemannian ascent.
    """
    from scipy.optimize import minimize  # imported late, so that `tammes theory` starts quickly

    shape = points.shape

    def problem(flat: Float[np.ndarray, " numbers"]) -> tuple[float, Float[np.ndarray, " numbers"]]:
        rows = flat.reshape(shape)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        units = rows / lengths
        value, pull = _smoothed(units @ units.T, sharpness, weights)
        gradient = (pull + pull.T) @ units
        gradient -= (gradient * units).sum(axis=1, keepdims=True) * units
        return value, (gradient / lengths).ravel()

    options = {"maxiter": STEPS, "maxcor": 20}
    found = minimize(problem, points.ravel(), jac=True, method="L-BFGS-B", options=options).x.reshape(shape)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def _smoothed(
    similarity: Float[np.ndarray, "count count"], sharpness: float, weights: Weights | None
) -> tuple[float, Float[np.ndarray, "count count"]]:
    """Return the smoothed largest inner product, or the weighted mean of them, and its derivatives."""
    np.fill_diagonal(similarity, -np.inf)
    axis = None if weights is None else 1
    top = similarity.max(axis=axis, keepdims=True)
    exponentials = np.exp(sharpness * (similarity - top))
    total = exponentials.sum(axis=axis, keepdims=True)
    smooth = top + np.log(total) / sharpness
    each = np.ones((1, 1)) if weights is None else weights[:, None]
    return float((each * smooth).sum()), each * exponentials / total
