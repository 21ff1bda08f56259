"""Tammes' problem: points of a sphere that are as far apart as they can be."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from tammes.checks import check_integer, check_number
from tammes.theory.packing.ascent import STARTS, random_points, spread
from tammes.theory.packing.known import largest_cosine, optimum, simplex
from tammes.theory.packing.polish import polish, release

Points = Float[np.ndarray, "count dim"]
Weights = Float[np.ndarray, " count"]

REACHED = 1e-9
"""A value this close to a proved optimum counts as that optimum."""

TOUCHING = 1e-8
"""Pairs whose inner product is this close to the largest are contacts."""

MOST_COORDINATES = 3000
"""Free coordinates up to which points are polished; a linear program over more takes minutes."""

POLISHED = 8
"""Most candidates of different score that are polished, or a sixth of all: smoothing ends up to 0.1 % below
the optima, and may confuse their order."""

CLUSTERS = 16
"""Most sizes of a cluster of merged classes that are tried for the weighted problem."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Packing:
    """Points of the unit sphere that are far apart.

    Attributes:
        points: the points, unit vectors.
        weights: weights of the points, which sum to 1; None for Tammes' problem.
        proof: who proved that no points do better; None without one, or where the points miss the optimum.
    """

    points: Points
    weights: Weights | None = None
    proof: str | None = None

    @property
    def certified(self) -> bool:
        """Whether a proof says that no other points do better, and these reach its value to 1e-9."""
        return self.proof is not None

    @cached_property
    def distance(self) -> float:
        """Distance of the two nearest points, from 0 to 2."""
        similarity = self._similarity
        i, j = np.unravel_index(similarity.argmax(), similarity.shape)
        return float(np.linalg.norm(self.points[i] - self.points[j]))

    @property
    def angle_degrees(self) -> float:
        """Angle between the two nearest points, in degrees."""
        return float(np.degrees(2 * np.arcsin(min(1.0, self.distance / 2))))

    @cached_property
    def contacts(self) -> Int[np.ndarray, "contacts 2"]:
        """Pairs of points at the smallest distance."""
        similarity = self._similarity
        return np.argwhere(np.triu(similarity > similarity.max() - TOUCHING))

    @cached_property
    def nearest_distances(self) -> Float[np.ndarray, " count"]:
        """Distance of each point to the nearest other point."""
        nearest = self._similarity.argmax(axis=1)
        return np.asarray(np.linalg.norm(self.points - self.points[nearest], axis=1))

    @property
    def mean_squared_distance(self) -> float:
        """Weighted mean of the squared distance to the nearest other point, the score of equation 3.15."""
        return float(np.average(self.nearest_distances**2, weights=self.weights))

    @property
    def _similarity(self) -> Float[np.ndarray, "count count"]:
        similarity = self.points @ self.points.T
        np.fill_diagonal(similarity, -np.inf)
        return similarity


def pack(
    count: int,
    dim: int,
    *,
    weights: Sequence[float] | Weights | None = None,
    restarts: int | None = None,
    generator: np.random.Generator | None = None,
) -> Packing:
    """Return points of the unit sphere in R^d that are as far apart as can be found.

        Tammes:    max  min over i != j of |v_i - v_j|
        weighted:  max  sum_c rho(c) min over c' != c of |v_c - v_c'|^2

    Optima that the literature proves are constructed where there is a construction, else searched and
    compared with the proved value. All others are searched: smoothed ascent from random points, the best of
    them polished by linear programs over their contacts.

    Differs: the thesis takes the weighted problem with equal weights for Tammes' problem. It is not: a mean
    of nearest distances can gain where the smallest loses. Five points on the ordinary sphere reach a mean
    of 2.025 where Tammes' points have 2, and seven classes in the plane are best merged into three places
    (docs/geometry.md). So equal weights are another problem than no weights. They agree for `count` up to
    `dim` + 1, where the regular simplex solves both.

    Args:
        count: number C of points, at least 2.
        dim: dimension d of the space, at least 1.
        weights: positive weight of each point, for the weighted problem; None for Tammes' problem.
        restarts: number of random starts; by default 48, and fewer for more than 70 points.
        generator: source of the random starts; by default one with the seed 0.

    Raises:
        ValueError: fewer than two points, no dimension, no restart, or weights that are not positive and one
            for each point.

    Source: Tammes (1930); Robinson (2023), eq. 3.15.

    Example:
        >>> icosahedron = pack(12, 3)
        >>> round(icosahedron.angle_degrees, 6), len(icosahedron.contacts), icosahedron.certified
        (63.434949, 30, True)
        >>> pack(3, 2, weights=[0.8, 0.1, 0.1]).distance   # rare classes are merged
        0.0
    """
    check_integer("count", count, minimum=2, reason="one point has no distance")
    check_integer("dim", dim)
    restarts = (
        max(3, min(48, 240_000 // count**2)) if restarts is None else check_integer("restarts", restarts)
    )
    generator = np.random.default_rng(0) if generator is None else generator
    if weights is not None:
        return _weighted(_shares(weights, count), dim, restarts, generator)
    known = optimum(count, dim)
    if known is not None and known.points is not None:
        return Packing(points=known.points, proof=known.proof)
    starts = [_spread(count, dim, number, generator, None) for number in range(restarts)]
    points = _polished([(points, None) for points in starts])
    if count * (dim - 1) <= MOST_COORDINATES:
        points = release(points)
    reached = known is not None and abs(largest_cosine(points) - known.cosine) < REACHED
    return Packing(points=points, proof=known.proof if known is not None and reached else None)


def _shares(weights: Sequence[float] | Weights, count: int) -> Weights:
    """Return the weights, scaled to sum to 1."""
    if len(weights) != count:
        raise ValueError(f"expected a weight for each of {count} points, got {len(weights)}")
    shares = np.array([check_number("each of weights", float(weight), above=0) for weight in weights])
    return np.asarray(shares / shares.sum())


def _weighted(shares: Weights, dim: int, restarts: int, generator: np.random.Generator) -> Packing:
    """Return points for the weighted problem, where points may coincide: the others gain room.

    Merged classes share one place, since a second cluster would only take room from the others. And
    they are the lightest, since the heaviest classes belong where the nearest place is farthest.
    """
    count = len(shares)
    heaviest_first = np.argsort(-shares, kind="stable")
    if dim == 1 and count > 2:
        places, proof = np.array([[1.0], [-1.0]]), "a line has two ends"
    elif count <= dim + 1 and simplex_is_optimal(shares):
        places, proof = simplex(count, dim), "the weights are the scores of a tournament: Moon (1963)"
    else:
        places, proof = _searched_places(shares[heaviest_first], dim, restarts, generator), None
    points = np.empty((count, dim))
    points[heaviest_first] = places[np.minimum(np.arange(count), len(places) - 1)]
    return Packing(points=points, weights=shares, proof=proof)


def simplex_is_optimal(weights: Weights) -> bool:
    """Return whether the regular simplex is proved to solve the weighted problem, for C up to d + 1 points.

        the k smallest weights sum to at least  k (k - 1) / (C (C - 1)),  for all k.

    Then there are a_ij >= 0 with sum over j of a_ij = w_i and a_ij + a_ji = 2 / (C (C - 1)), as in a
    tournament whose players score w_i. With d_ij = |v_i - v_j|^2,

        sum_i w_i min over j of d_ij  <=  sum over i, j of a_ij d_ij
                                       =  2 / (C (C - 1)) sum over pairs of d_ij  <=  2 C / (C - 1),

    and the regular simplex has the right side.

    Args:
        weights: positive weights that sum to 1.

    Source: Landau (1953) and Moon (1963) for the tournament; the bound is ours.

    Example:
        >>> simplex_is_optimal(np.array([0.6, 0.2, 0.2])), simplex_is_optimal(np.array([0.7, 0.15, 0.15]))
        (True, False)
    """
    count = len(weights)
    k = np.arange(1, count + 1)
    return bool((np.cumsum(np.sort(weights)) >= k * (k - 1) / (count * (count - 1)) - 1e-12).all())


def _searched_places(
    shares: Weights, dim: int, restarts: int, generator: np.random.Generator
) -> Float[np.ndarray, "places dim"]:
    """Return places for classes in the order of their shares, largest first; the last is the cluster's."""
    count = len(shares)
    candidates: list[tuple[Points, Weights | None]] = []
    sizes = np.unique(np.geomspace(1, count - 1, CLUSTERS).round().astype(int))
    for merged in sizes.tolist():
        weights = shares[: count - merged + 1].copy()
        if merged > 1:
            weights[-1] = 0
        for number in range(restarts if merged == 1 else len(STARTS)):
            candidates.append((_spread(len(weights), dim, number, generator, weights), weights))
    return _polished(candidates)


def _spread(
    count: int, dim: int, number: int, generator: np.random.Generator, weights: Weights | None
) -> Points:
    """Return random points, spread from one of the first sharpnesses in turn."""
    start = random_points(count, dim, generator)
    return spread(start, first=STARTS[number % len(STARTS)], weights=weights)


def _polished(candidates: list[tuple[Points, Weights | None]]) -> Points:
    """Return the best points after the best candidates are polished."""
    ranked = sorted(candidates, key=lambda each: -_score(*each))
    best, top, last = ranked[0][0], _score(*ranked[0]), np.inf
    tried = 0
    for points, weights in ranked:
        score = _score(points, weights)
        if score > last - 2e-5 * abs(score) and tried:
            continue  # very likely the same points as the candidate before
        last, tried = score, tried + 1
        if points.shape[0] * (points.shape[1] - 1) <= MOST_COORDINATES:
            nearest = np.sqrt(max(2 - 2 * largest_cosine(points), 1e-6))
            points = polish(points, weights=weights, radius=0.01 * nearest)
        if _score(points, weights) > top:
            best, top = points, _score(points, weights)
        if tried == max(POLISHED, len(ranked) // 6):
            break
    return best


def _score(points: Points, weights: Weights | None) -> float:
    """Return what the points are to maximize: the smallest squared distance, or the weighted mean."""
    similarity = points @ points.T
    np.fill_diagonal(similarity, -np.inf)
    nearest = 2 - 2 * similarity.max(axis=1)
    return float(nearest.min() if weights is None else weights @ nearest)
