"""Polishing of nearly optimal points to the digits of a float, by linear programs over their contacts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

Points = Float[np.ndarray, "count dim"]
Weights = Float[np.ndarray, " count"]

ROUNDS = 100
"""Most linear programs; twenty to forty are usual."""

SMALLEST_STEP = 1e-13
"""Length of a step, and improvement foreseen, below which the points are polished."""


FREE = 1e-7
"""A point is free if it alone can lower its largest inner product by more than this."""

SWEEPS = 5
"""Most passes over the points: one that has moved may make room for another."""


@dataclass(frozen=True, kw_only=True)
class _Levels:
    """Largest inner products that are to be lowered: one of all points, or one of each.

    Attributes:
        i, j: pairs of points.
        level: number of the level that each pair must stay below.
        cost: weight of each level.
    """

    i: Int[np.ndarray, " pairs"]
    j: Int[np.ndarray, " pairs"]
    level: Int[np.ndarray, " pairs"]
    cost: Float[np.ndarray, " levels"]

    @staticmethod
    def of(count: int, weights: Weights | None) -> _Levels:
        if weights is None:
            i, j = np.triu_indices(count, 1)
            return _Levels(i=i, j=j, level=np.zeros_like(i), cost=np.ones(1))
        i, j = np.nonzero(~np.eye(count, dtype=bool) & (weights > 0)[:, None])
        return _Levels(i=i, j=j, level=i, cost=weights)

    def heights(self, points: Points) -> tuple[Float[np.ndarray, " pairs"], Float[np.ndarray, " levels"]]:
        """Return the inner product of each pair, and the largest of each level."""
        products = np.einsum("pd,pd->p", points[self.i], points[self.j])
        tops = np.full(len(self.cost), -1.0)
        np.maximum.at(tops, self.level, products)
        return products, tops

    def value(self, points: Points) -> float:
        return float(self.cost @ self.heights(points)[1])


def polish(
    points: Points, *, weights: Weights | None = None, radius: float, movable: int | None = None
) -> Points:
    """Return points moved to a local optimum, of which almost all digits are right.

    Near an optimum the inner products of neighbors are linear in small steps, and the steps that lower the
    largest of them most are a linear program, whose active set is the contacts of the new points. A trust
    region keeps steps small. Where contacts determine the optimum, this converges like Newton's method.

    Args:
        points: unit vectors near an optimum.
        weights: weights of the points; None for Tammes' problem.
        radius: first bound of the coordinates of a step.
        movable: number of the only point that may move; None for all.

    Example:
        >>> four = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.1], [0.1, -1.0]])
        >>> four /= np.linalg.norm(four, axis=1, keepdims=True)
        >>> round(abs(float((polish(four, radius=0.1) @ polish(four, radius=0.1).T).min())), 9)
        1.0
    """
    levels = _Levels.of(len(points), weights)
    value = levels.value(points)
    for _ in range(ROUNDS):
        moved, foreseen = _step(points, levels, radius, movable)
        improvement = value - levels.value(moved)
        if improvement > 0:
            points, value = moved, value - improvement
        if foreseen < SMALLEST_STEP or radius < SMALLEST_STEP:
            break
        if improvement < 0.25 * foreseen:
            radius /= 4
        elif improvement > 0.75 * foreseen:
            radius = min(2 * radius, 0.3)
    return points


def release(points: Points) -> Points:
    """Return polished points, with those that can move alone moved to where they have most room.

    The steps of a linear program end at corners, so that a point which is free within a cage of others is
    left against one of its walls, and would be counted among the contacts.

    Args:
        points: polished unit vectors.
    """
    for _ in range(SWEEPS):
        before = points
        for number in range(len(points)):
            alone = np.zeros(len(points))
            alone[number] = 1
            levels = _Levels.of(len(points), alone)
            nearest = float(levels.heights(points)[1][number])
            radius = 0.01 * np.sqrt(max(2 - 2 * nearest, 1e-6))
            moved = polish(points, weights=alone, radius=radius, movable=number)
            if levels.value(moved) < nearest - FREE:
                points = moved
        if points is before:
            break
    return points


def _step(points: Points, levels: _Levels, radius: float, movable: int | None) -> tuple[Points, float]:
    """Return the points after the best linearized step within the radius, and the improvement foreseen."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    count, dim = points.shape
    products, tops = levels.heights(points)
    # No other pair can reach the top within this step: two points move by at most 2 sqrt(d) radius.
    near = products > tops[levels.level] - 4 * np.sqrt(dim) * radius
    i, j, level = levels.i[near], levels.j[near], levels.level[near]
    frames = _tangents(points)  # (count, dim, dim - 1)
    pairs, free = len(i), dim - 1
    slopes = [
        np.einsum("pd,pdk->pk", points[j], frames[i]).ravel(),
        np.einsum("pd,pdk->pk", points[i], frames[j]).ravel(),
        np.full(pairs, -1.0),
    ]
    row = np.repeat(np.arange(pairs), free)
    rows = [row, row, np.arange(pairs)]
    columns = [(i[:, None] * free + np.arange(free)).ravel(), (j[:, None] * free + np.arange(free)).ravel()]
    columns.append(count * free + level)
    size = (pairs, count * free + len(levels.cost))
    matrix = coo_array((np.concatenate(slopes), (np.concatenate(rows), np.concatenate(columns))), shape=size)
    reach = np.full((count, free), radius)
    if movable is not None:
        reach[np.arange(count) != movable] = 0
    program = linprog(
        np.concatenate([np.zeros(count * free), levels.cost]),
        A_ub=matrix.tocsr(),
        b_ub=-products[near],
        bounds=[(-each, each) for each in reach.ravel()] + [(-2, 2)] * len(levels.cost),
        method="highs",
    )
    if program.x is None:  # at the smallest radii the solver may find its own rounding infeasible
        return points, 0.0
    step = program.x[: count * free].reshape(count, free)
    moved = points + np.einsum("ndk,nk->nd", frames, step)
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    return moved, float(levels.cost @ tops) - float(program.fun)


def _tangents(points: Points) -> Float[np.ndarray, "count dim free"]:
    """Return an orthonormal basis of the tangent space at each point, by Householder's reflection."""
    mirror = points.copy()
    mirror[:, 0] += np.where(points[:, 0] >= 0, 1.0, -1.0)
    scaled = mirror * (2 / (mirror**2).sum(axis=1, keepdims=True))
    reflections = np.eye(points.shape[1]) - mirror[:, :, None] * scaled[:, None, :]
    return reflections[:, :, 1:]
