"""Projectors onto the eigenspaces of any diagonalizable matrix, symmetric or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
import torch
from jaxtyping import Complex, Int, Shaped
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from tammes.checks import is_finite

INDEPENDENT = 1e-7
"""The least singular value of all eigenvectors together: below, they do not span the space."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Projectors:
    """The eigenspaces of a matrix. `EigenspaceProjectors` finds them.

    Args:
        values: the eigenvalue of each eigenspace, by real and then imaginary part.
        dimensions: of each eigenspace, d_i.
        matrices: P_i, the orthogonal projector onto it: Hermitian, of rank d_i, the same for every basis. Of
            a real matrix, those of real eigenvalues are real, and those of conjugate ones conjugate.
    """

    values: Complex[Tensor, " spaces"]
    dimensions: Int[Tensor, " spaces"]
    matrices: Complex[Tensor, "spaces n n"]


@dataclass(frozen=True, kw_only=True)
class EigenspaceProjectors:
    """P_i = V_i (V_i^* V_i)^{-1} V_i^* for each eigenspace of A = V Lambda V^{-1}, with columns V_i.

    Eigenvectors of a matrix that is not symmetric are neither orthogonal nor real; scaling them by complex
    numbers, or mixing those of equal eigenvalues by any invertible matrix, changes no P_i.

    Args:
        tolerance: eigenvalues that are closer than this times the largest |lambda|, directly or through
            others between them, belong to one eigenspace.

    Raises:
        ValueError: for a tolerance that is not positive.

    Source: Robinson (2023), eq. E.6 and E.9.

    Example:
        >>> cycle = torch.tensor([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])  # directed
        >>> spaces = EigenspaceProjectors()(cycle)
        >>> [f"{value:.3f}" for value in spaces.values.tolist()]
        ['-0.500-0.866j', '-0.500+0.866j', '1.000+0.000j']
        >>> bool(torch.allclose(spaces.matrices.sum(0), torch.eye(3, dtype=torch.complex128)))
        True
    """

    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        if not (is_finite(self.tolerance) and self.tolerance > 0):
            raise ValueError(f"tolerance must be a positive number, got {self.tolerance!r}")

    def __call__(self, matrix: Shaped[Tensor, "n n"]) -> Projectors:
        """The eigenspaces of one matrix, real or complex.

        Raises:
            ValueError: for a matrix that is not square, not finite, or not diagonalizable.
        """
        if matrix.dim() != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
            raise ValueError(f"expected a square matrix, got shape {tuple(matrix.shape)}")
        if not bool(matrix.isfinite().all()):
            raise ValueError("expected a finite matrix, got infinities or NaN")
        full = torch.complex128 if matrix.is_complex() else torch.float64
        values, vectors = torch.linalg.eig(matrix.detach().to(full))
        least = float(torch.linalg.svdvals(vectors)[-1])
        if least < INDEPENDENT:
            raise ValueError(
                "expected a diagonalizable matrix, got one whose eigenvectors are dependent (their least "
                f"singular value is {least:.1e})"
            )
        members = self._groups(values)
        bases = [torch.linalg.qr(vectors[:, some]).Q for some in members]
        return Projectors(
            values=torch.stack([values[some].mean() for some in members]),
            dimensions=torch.tensor([len(some) for some in members], device=matrix.device),
            matrices=torch.stack([basis @ basis.mH for basis in bases]),
        )

    def _groups(self, values: Complex[Tensor, " n"]) -> list[Int[Tensor, " some"]]:
        """The columns of each eigenspace, ordered by eigenvalue."""
        near = (values[:, None] - values).abs() <= self.tolerance * values.abs().max()
        count, of = connected_components(scipy.sparse.csr_array(near.cpu().numpy()), directed=False)
        groups = [torch.from_numpy(np.flatnonzero(of == number)) for number in range(count)]
        means = np.array([complex(values[group].mean()) for group in groups])
        unit = self.tolerance * max(float(values.abs().max()), np.finfo(float).tiny)
        real = np.round(means.real / unit)  # conjugates keep their order whatever the last digits are
        return [groups[number] for number in np.lexsort((means.imag, real))]
