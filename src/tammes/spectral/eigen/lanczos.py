"""The smallest eigenpairs of a large sparse symmetric matrix, by Lanczos iterations that miss none."""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

DENSE_COMPONENT = 256
"""Largest number of nodes for which a connected component is decomposed as a dense matrix."""

SHIFTS = (1e-4, 1e-8, 1e-12)
"""Distances of the shift below the lower bound, relative to the mean sum of |entries| in a row, to try."""

RESTARTS, MOST_DENSE = 500, 2**14
"""Restarts of the iterations for a shift; most nodes that are decomposed as a matrix if none converges."""


Arrays = tuple[NDArray[Any], NDArray[Any]]
"""Eigenvalues, ascending, and orthonormal eigenvectors as columns."""


def smallest_eigenpairs(matrix: scipy.sparse.csr_array, count: int, *, lower: float = 0.0) -> Arrays:
    """Return the smallest eigenvalues, ascending, and orthonormal eigenvectors; the result is deterministic.

    A Krylov space contains one vector of each eigenspace, so Lanczos iterations may find a single one of
    several equal eigenvalues. Two remedies: connected components, the usual cause of equal eigenvalues, are
    decomposed one by one, and the iterations are repeated on the orthogonal complement of the vectors found
    until it holds no smaller eigenvalue.

    Args:
        matrix: symmetric and finite.
        count: number of eigenpairs, at most the size of the matrix.
        lower: lower bound of all eigenvalues.

    Raises:
        ValueError: where the iterations do not converge, and the matrix is too large for a dense one.

    Example:
        >>> values, vectors = smallest_eigenpairs(scipy.sparse.csr_array(np.diag([3.0, 1.0, 2.0])), 2)
        >>> values.tolist(), np.abs(vectors).tolist()
        ([1.0, 2.0], [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    """
    parts, part_of = connected_components(matrix, directed=False)
    ends = np.cumsum(np.bincount(part_of, minlength=parts))
    pairs: list[tuple[float, NDArray[Any], NDArray[Any]]] = []  # eigenvalue, nodes of the component, vector
    for nodes in np.split(np.argsort(part_of, kind="stable"), ends[:-1]):
        own = matrix[nodes][:, nodes] if parts > 1 else matrix
        wanted = min(count, len(nodes))
        small = len(nodes) <= max(DENSE_COMPONENT, 4 * wanted)
        found, columns = np.linalg.eigh(own.toarray()) if small else _by_lanczos(own, wanted, lower)
        pairs += zip(found[:wanted], itertools.repeat(nodes), columns.T, strict=False)
    pairs.sort(key=lambda pair: pair[0])
    values, vectors = np.array([value for value, _, _ in pairs[:count]]), np.zeros((matrix.shape[0], count))
    for column, (_, nodes, vector) in enumerate(pairs[:count]):
        vectors[nodes, column] = vector
    return values, vectors


def _by_lanczos(matrix: scipy.sparse.csr_array, count: int, lower: float) -> Arrays:
    """Return the smallest eigenpairs of a connected component."""
    for share in SHIFTS:
        # Where weights have many magnitudes, eigenvalues crowd closer to 0 than to the first shift.
        with suppress(ArpackNoConvergence):
            return _shifted(matrix, count, lower, share)
    if matrix.shape[0] > MOST_DENSE:
        raise ValueError(f"eigenvalues of {matrix.shape[0]:,} nodes are too close: leave tiny weights out")
    return np.linalg.eigh(matrix.toarray())


def _shifted(matrix: scipy.sparse.csr_array, count: int, lower: float, share: float) -> Arrays:
    """Return the smallest eigenpairs by iterations on (A - shift)^{-1}."""
    size, norm = matrix.shape[0], abs(matrix).sum(1).mean()
    # Shift and invert: the smallest eigenvalues of A are the largest of (A - shift)^{-1}, well separated
    # where those of A crowd at 0, so few iterations find them.
    shift = lower - share * norm
    shifted = (matrix - shift * scipy.sparse.eye_array(size)).tocsc()
    # A - shift is positive definite: LU needs no pivoting, and a symmetric order keeps its factors sparse.
    inverse = splu(
        shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    start = np.random.default_rng(0).standard_normal(size)
    values, vectors, wanted = np.zeros(0), np.zeros((size, 0)), count
    while wanted:
        # (1 - K K^T) (A - shift)^{-1} (1 - K K^T): the inverse on the complement of the vectors K found.
        def apply(x: NDArray[Any], known: NDArray[Any] = vectors) -> NDArray[Any]:
            y = inverse.solve(x - known @ (known.T @ x))
            return y - known @ (known.T @ y)

        operator = LinearOperator((size, size), matvec=apply, dtype=np.float64)
        first = start - vectors @ (vectors.T @ start)
        inverted, more = eigsh(operator, k=wanted, which="LM", v0=first, maxiter=RESTARTS)
        found = shift + 1 / inverted
        last = values[count - 1] if len(values) >= count else np.inf
        values = np.r_[values, found]
        order = np.argsort(values, kind="stable")
        values, vectors = values[order], np.c_[vectors, more][:, order]
        # Search once more, for one pair at a time, while the complement holds something smaller.
        wanted = 1 if found.min() < last - 1e-9 * norm else 0
    return values[:count], vectors[:, :count]


def lower_bound(matrix: scipy.sparse.csr_array) -> float:
    """Return a lower bound of all eigenvalues, by Gershgorin's circles."""
    diagonal = matrix.diagonal()
    return float((diagonal - (abs(matrix).sum(1) - np.abs(diagonal))).min())
