"""Projectors onto the eigenspaces of any diagonalizable matrix, symmetric or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
import torch
from jaxtyping import Complex, Int, Shaped
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from tammes.checks import check_number

INDEPENDENT = 1e-7
"""Smallest singular value of the matrix of eigenvectors; below, the matrix counts as not diagonalizable."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Projectors:
    """P_i = V_i (V_i^* V_i)^{-1} V_i^* for each eigenspace of A = V Lambda V^{-1}, with columns V_i.

    Eigenvectors of a matrix that is not symmetric are neither orthogonal nor real; scaling them by complex
    numbers, or mixing those of equal eigenvalues by any invertible matrix, changes no P_i. `Projectors.of`
    computes them.

    Args:
        values: eigenvalue of each eigenspace, sorted by real and then imaginary part.
        dimensions: dimension of each eigenspace, d_i.
        matrices: orthogonal projectors P_i, Hermitian of rank d_i. Of a real matrix, the projectors of real
            eigenvalues are real, and those of conjugate ones conjugate.

    Source: Robinson (2023), eq. E.6 and E.9.

    Example:
        >>> cycle = torch.tensor([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])  # directed
        >>> spaces = Projectors.of(cycle)
        >>> [f"{value:.3f}" for value in spaces.values.tolist()]
        ['-0.500-0.866j', '-0.500+0.866j', '1.000+0.000j']
        >>> bool(torch.allclose(spaces.matrices.sum(0), torch.eye(3, dtype=torch.complex128)))
        True
    """

    values: Complex[Tensor, " spaces"]
    dimensions: Int[Tensor, " spaces"]
    matrices: Complex[Tensor, "spaces n n"]

    @classmethod
    def of(cls, matrix: Shaped[Tensor, "n n"], *, tolerance: float = 1e-8) -> Projectors:
        """Return the projectors of one matrix, real or complex.

        Args:
            matrix: square and diagonalizable.
            tolerance: largest distance within an eigenspace, relative to the largest |lambda|; eigenvalues
                further apart still share one where others between them link them.

        Raises:
            ValueError: for a tolerance that is not positive, and for a matrix that is not square, not finite,
                or not diagonalizable.
        """
        check_number("tolerance", tolerance, above=0)
        if matrix.dim() != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
            raise ValueError(f"expected a square matrix, got shape {tuple(matrix.shape)}")
        if not bool(matrix.isfinite().all()):
            raise ValueError("expected a finite matrix, got infinities or NaN")
        full = torch.complex128 if matrix.is_complex() else torch.float64
        values, vectors = torch.linalg.eig(matrix.detach().to(full))
        smallest = float(torch.linalg.svdvals(vectors)[-1])
        if smallest < INDEPENDENT:
            raise ValueError(
                "expected a diagonalizable matrix, got one whose eigenvectors are dependent (their smallest "
                f"singular value is {smallest:.1e})"
            )
        groups = _eigenspaces(values, tolerance)
        bases = [torch.linalg.qr(vectors[:, group]).Q for group in groups]
        return cls(
            values=torch.stack([values[group].mean() for group in groups]),
            dimensions=torch.tensor([len(group) for group in groups], device=matrix.device),
            matrices=torch.stack([basis @ basis.mH for basis in bases]),
        )


def _eigenspaces(values: Complex[Tensor, " n"], tolerance: float) -> list[Int[Tensor, " some"]]:
    """Return the columns of each eigenspace, ordered by eigenvalue."""
    near = (values[:, None] - values).abs() <= tolerance * values.abs().max()
    count, of = connected_components(scipy.sparse.csr_array(near.cpu().numpy()), directed=False)
    groups = [torch.from_numpy(np.flatnonzero(of == number)) for number in range(count)]
    means = np.array([complex(values[group].mean()) for group in groups])
    # Rounding errors in the real parts of conjugates must not decide their order.
    unit = tolerance * max(float(values.abs().max()), np.finfo(float).tiny)
    real = np.round(means.real / unit)
    return [groups[number] for number in np.lexsort((means.imag, real))]
