"""What is known of Tammes' problem: proved optima, their constructions, and an upper bound on the sphere."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tammes.checks import check_integer

Points = Float[np.ndarray, "count dim"]

GOLDEN = (1 + math.sqrt(5)) / 2
TRIBONACCI = 1.8392867552141612
"""The real root of x^3 = x^2 + x + 1, from which the snub cube is made."""


@dataclass(frozen=True, kw_only=True)
class Optimum:
    """Proved optimum of Tammes' problem.

    Attributes:
        cosine: inner product of the two nearest points, which no other points can lower.
        proof: who proved it.
        points: points that reach it, if there is a construction; else they are searched.
    """

    cosine: float
    proof: str
    points: Points | None = None


def optimum(count: int, dim: int) -> Optimum | None:
    """Return the proved optimum for so few points, or None where none is known.

    Args:
        count: number of points, at least 2.
        dim: dimension of the space, at least 1.

    Raises:
        ValueError: for fewer points or dimensions.

    Example:
        >>> round(optimum(12, 3).cosine, 9), optimum(15, 3)
        (0.447213595, None)
    """
    check_integer("count", count, minimum=2)
    check_integer("dim", dim)
    for points, proof in _constructions(count, dim):
        return Optimum(cosine=largest_cosine(points), proof=proof, points=points)
    if dim == 3 and count in _ON_THE_SPHERE:
        cosine, proof = _ON_THE_SPHERE[count]
        return Optimum(cosine=cosine, proof=proof)
    return None


def fejes_toth_bound(count: int) -> float:
    """Return an upper bound, in degrees, of the smallest angle between points of the ordinary sphere.

        arccos( (cot^2 w - 1) / 2 ),    w = pi C / (6 (C - 2)),

    which 3, 4, 6 and 12 points reach: the triangles of a triangulation with C vertices are equilateral.

    Args:
        count: number C of points, at least 3.

    Raises:
        ValueError: fewer than three points.

    Source: Fejes Toth, Ueber die Abschaetzung des kuerzesten Abstandes zweier Punkte eines auf einer
    Kugelflaeche liegenden Punktsystems, 1943.

    Example:
        >>> round(fejes_toth_bound(12), 6), round(fejes_toth_bound(100), 2)
        (63.434949, 21.85)
    """
    check_integer("count", count, minimum=3)
    w = math.pi * count / (6 * (count - 2))
    return math.degrees(math.acos((1 / math.tan(w) ** 2 - 1) / 2))


def largest_cosine(points: Points) -> float:
    """Return the largest inner product of two of the points.

    Example:
        >>> largest_cosine(np.eye(3))
        0.0
    """
    similarity = points @ points.T
    np.fill_diagonal(similarity, -np.inf)
    return float(similarity.max())


def simplex(count: int, dim: int) -> Points:
    """Return the vertices of a regular simplex in the first `count` - 1 coordinates.

    Args:
        count: number of vertices, from 2 to `dim` + 1.
        dim: dimension of the space.

    Example:
        >>> np.round(simplex(3, 2) @ simplex(3, 2).T, 9).tolist()
        [[1.0, -0.5, -0.5], [-0.5, 1.0, -0.5], [-0.5, -0.5, 1.0]]
    """
    gram = (count * np.eye(count) - 1) / (count - 1)
    # The Gram matrix has rank count - 1: Cholesky's factor of all but the last row, and minus their sum.
    factor = np.linalg.cholesky(gram[:-1, :-1])
    points = np.zeros((count, dim))
    points[:-1, : count - 1] = factor
    points[-1] = -points[:-1].sum(axis=0)
    return points


def _constructions(count: int, dim: int) -> list[tuple[Points, str]]:
    """Return the construction of an optimum and its proof, in a list that may be empty."""
    if dim == 1 and count > 2:
        return [(np.array([[1.0], [-1.0]] * count)[:count], "a line has two ends")]
    if count <= dim + 1:
        return [(simplex(count, dim), _RANKIN)]
    if dim == 2:
        angle = 2 * np.pi * np.arange(count) / count
        polygon = np.column_stack([np.cos(angle), np.sin(angle)])
        return [(polygon, "the gaps between the points of a circle sum to 360 degrees")]
    if count <= 2 * dim:
        orthoplex = np.stack([np.eye(dim), -np.eye(dim)], axis=1).reshape(2 * dim, dim)
        return [(orthoplex[:count], _RANKIN)]
    if (dim, count) in _POLYTOPES:
        make, proof = _POLYTOPES[dim, count]
        return [(make(), proof)]
    return []


def _unit(rows: Points) -> Points:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _signs(magnitudes: tuple[float, ...]) -> Points:
    """Return the vector with all choices of signs, each once."""
    choices = ((x, -x) if x else (x,) for x in magnitudes)
    return np.array(list(itertools.product(*choices)))


def _is_even(order: tuple[int, ...]) -> bool:
    return sum(a > b for a, b in itertools.combinations(order, 2)) % 2 == 0


def _icosahedron() -> Points:
    vertices = _signs((0.0, 1.0, GOLDEN))
    return _unit(np.concatenate([np.roll(vertices, shift, axis=1) for shift in range(3)]))


def _snub_cube() -> Points:
    rows = []
    for order in itertools.permutations(range(3)):
        for vertex in _signs((1.0, 1 / TRIBONACCI, TRIBONACCI)):
            # Even permutations with an even number of plus signs, odd ones with an odd number.
            if ((vertex > 0).sum() % 2 == 0) == _is_even(order):
                rows.append(vertex[list(order)])
    return _unit(np.array(rows))


def _cell_24() -> Points:
    return np.concatenate([np.eye(4), -np.eye(4), _signs((0.5, 0.5, 0.5, 0.5))])


def _cell_600() -> Points:
    even = [list(order) for order in itertools.permutations(range(4)) if _is_even(order)]
    others = _signs((GOLDEN / 2, 0.5, 0.5 / GOLDEN, 0.0))
    return _unit(np.concatenate([_cell_24(), *(others[:, order] for order in even)]))


def _e8() -> Points:
    roots = [np.zeros(8) for _ in range(112)]
    pairs = itertools.product(itertools.combinations(range(8), 2), (1, -1), (1, -1))
    for root, ((i, j), a, b) in zip(roots, pairs, strict=True):
        root[[i, j]] = a, b
    halves = _signs((0.5,) * 8)
    even = halves[(halves < 0).sum(axis=1) % 2 == 0]
    return _unit(np.concatenate([np.array(roots), even]))


def _kissing(times: int) -> Callable[[], Points]:
    """Return a function that makes the nearest neighbors of a point of E8, of one of those, and so on."""

    def make() -> Points:
        points = _e8()
        for _ in range(times):
            first, rest = points[0], points[1:]
            near = rest[rest @ first > largest_cosine(points) - 1e-9]
            across = near - (near @ first)[:, None] * first
            # A reflection takes the first point to an axis, which is then left out.
            mirror = first - np.eye(len(first))[0]
            turned = across - 2 * np.outer(across @ mirror, mirror) / max(mirror @ mirror, 1e-300)
            points = _unit(turned[:, 1:])
        return points

    return make


_RANKIN = "Rankin (1955)"
_LEVENSHTEIN = "Levenshtein (1979)"
_POLYTOPES: dict[tuple[int, int], tuple[Callable[[], Points], str]] = {
    (3, 11): (lambda: _icosahedron()[:11], "Danzer (1963)"),
    (3, 12): (_icosahedron, "Fejes Toth (1943)"),
    (3, 24): (_snub_cube, "Robinson (1961)"),
    (4, 10): (_kissing(4), "Bachoc and Vallentin (2009)"),
    (4, 24): (_cell_24, "de Laat et al. (2024)"),
    (4, 120): (_cell_600, "Boeroeczky (1978)"),
    (5, 16): (_kissing(3), _LEVENSHTEIN),
    (6, 27): (_kissing(2), _LEVENSHTEIN),
    (7, 56): (_kissing(1), _LEVENSHTEIN),
    (8, 240): (_e8, _LEVENSHTEIN),
}
"""Constructions by (dimension, number of points)."""

_SCHUETTE = "Schuette and van der Waerden (1951)"
_ON_THE_SPHERE = {
    7: (1 - 4 / math.sqrt(3) * math.cos(7 * math.pi / 18), _SCHUETTE),
    8: ((2 * math.sqrt(2) - 1) / 7, _SCHUETTE),  # the square antiprism
    9: (1 / 3, _SCHUETTE),
    10: (0.4043943252162507, "Danzer (1963)"),
    13: (0.5426364868296388, "Musin and Tarasov (2012)"),
    14: (0.5639503003605052, "Musin and Tarasov (2015)"),
}
"""Optima on the ordinary sphere whose points are searched: cosines, to double precision, and proofs.

The tests compute those of 10, 13 and 14 points from the equations of their contact graphs.
"""
