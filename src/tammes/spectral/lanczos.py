"""The smallest eigenpairs of a large sparse symmetric matrix, none missed."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh, splu

SMALL = 256
"""Nodes of a component up to which it is decomposed as a whole."""

SHIFT = 1e-4
"""How far below the lower bound the matrix is inverted, relative to the mean sum of |entries| in a row."""


def smallest(matrix: scipy.sparse.csr_array, count: int, *, lower: float = 0.0) -> tuple[NDArray, NDArray]:
    """Eigenvalues in ascending order and orthonormal eigenvectors, of which equal input gives equal ones.

    Lanczos iterations begin at one vector and may then find a single one of several equal eigenvalues. So
    connected components are decomposed by themselves, and what is orthogonal to the vectors found is searched
    again until it holds nothing smaller.

    Args:
        matrix: symmetric, finite.
        count: how many, at most its size.
        lower: a number that no eigenvalue is smaller than.

    Example:
        >>> values, vectors = smallest(scipy.sparse.csr_array(np.diag([3.0, 1.0, 2.0])), 2)
        >>> values.tolist(), np.abs(vectors).tolist()
        ([1.0, 2.0], [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    """
    parts, part_of = connected_components(matrix, directed=False)
    order = np.argsort(part_of, kind="stable")
    ends = np.cumsum(np.bincount(part_of, minlength=parts))
    values, columns, owners = [], [], []
    for begin, end in zip(np.r_[0, ends[:-1]], ends, strict=True):
        nodes = order[begin:end]
        own = matrix[nodes][:, nodes] if parts > 1 else matrix
        few = min(count, len(nodes))
        whole = len(nodes) <= max(SMALL, 4 * few)
        found, vectors = _whole(own, few) if whole else _by_lanczos(own, few, lower)
        values.append(found)
        columns.append(vectors)
        owners.append(nodes)
    return _merged(values, columns, owners, count, matrix.shape[0])


def _merged(
    values: list[NDArray], columns: list[NDArray], owners: list[NDArray], count: int, size: int
) -> tuple[NDArray, NDArray]:
    """The smallest of all parts, as vectors of the whole."""
    flat = np.concatenate(values)
    part = np.repeat(np.arange(len(values)), [len(found) for found in values])
    column = np.concatenate([np.arange(len(found)) for found in values])
    chosen = np.argsort(flat, kind="stable")[:count]
    vectors = np.zeros((size, len(chosen)))
    for place, index in enumerate(chosen):
        vectors[owners[part[index]], place] = columns[part[index]][:, column[index]]
    return flat[chosen], vectors


def _whole(matrix: scipy.sparse.csr_array, count: int) -> tuple[NDArray, NDArray]:
    values, vectors = np.linalg.eigh(matrix.toarray())
    return values[:count], vectors[:, :count]


def _by_lanczos(matrix: scipy.sparse.csr_array, count: int, lower: float) -> tuple[NDArray, NDArray]:
    size = matrix.shape[0]
    norm = abs(matrix).sum(1).mean()
    shift = lower - SHIFT * norm
    shifted = (matrix - shift * scipy.sparse.eye_array(size)).tocsc()
    # Positive definite: no pivots are needed, and the order that keeps it sparse may be symmetric.
    inverse = splu(
        shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    start = np.random.default_rng(0).standard_normal(size)
    values = np.zeros(0)
    vectors = np.zeros((size, 0))
    wanted = count
    while wanted:
        known = vectors

        def apply(x: NDArray, known: NDArray = known) -> NDArray:
            y = inverse.solve(x - known @ (known.T @ x))
            return y - known @ (known.T @ y)

        operator = LinearOperator((size, size), matvec=apply, dtype=np.float64)
        inverted, more = eigsh(operator, k=wanted, which="LM", v0=start - known @ (known.T @ start))
        found = shift + 1 / inverted
        last = values[count - 1] if len(values) >= count else np.inf
        values = np.r_[values, found]
        order = np.argsort(values, kind="stable")
        values, vectors = values[order], np.c_[vectors, more][:, order]
        wanted = 1 if found.min() < last - 1e-9 * norm else 0
    return values[:count], vectors[:, :count]


def lower_bound(matrix: scipy.sparse.csr_array) -> float:
    """A number that no eigenvalue is smaller than, by Gershgorin's circles."""
    diagonal = matrix.diagonal()
    return float((diagonal - (abs(matrix).sum(1) - np.abs(diagonal))).min())
