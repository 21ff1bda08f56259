"""Eigenspaces: eigenvalues grouped by their relative gaps, and projectors onto them for any matrix."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse
import torch
from jaxtyping import Bool, Complex, Float, Int, Shaped
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from tammes.checks import check_number

DECADE = 1.0
"""Gaps within a factor of 10 of the threshold are ambiguous."""


class AmbiguousEigenspaces(UserWarning):
    """Warning of a gap so close to the threshold that another threshold would group otherwise."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Eigenspaces:
    """The eigenspaces of each graph of a batch, as `RelativeGap` returns them.

    Args:
        number: eigenspace of each column, from 0 within its graph; -1 where there is no column.
        dimension: number of columns of that eigenspace, d_i; 0 where there is no column.
        count: number of eigenspaces of each graph, l.
        margin: smallest |log10(gap / threshold)| over the gaps of each graph, in decades; infinite for a
            graph without gaps above 0.
    """

    number: Int[Tensor, "graphs k"]
    dimension: Int[Tensor, "graphs k"]
    count: Int[Tensor, " graphs"]
    margin: Float[Tensor, " graphs"] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class RelativeGap:
    """Rule that groups neighboring eigenvalues with (lambda_{i+1} - lambda_i) / norm <= tolerance.

    The norm is that of the matrix, as far as it is known: the largest |lambda_i|, or `norm` if that is
    larger. An eigensolver's errors are proportional to it. Rounding eigenvalues to digits instead separates
    equal ones on both sides of a rounding boundary, and large ones whose error exceeds a digit.

    Args:
        tolerance: largest gap within an eigenspace, relative to the norm; left out, 1e-8 for eigenvalues in
            float64 and 1.5e-5 in float32.
        norm: lower bound of the matrix norm, in the unit of the eigenvalues. It matters where only small
            eigenvalues are given. A graph with an edge of weight 1 has a norm of at least 1.
        warn: whether an ambiguous gap raises an `AmbiguousEigenspaces` warning.

    Raises:
        ValueError: for a tolerance or norm that is not positive.

    Source: Robinson (2023), section 7.1.2. Differs: the published code rounds eigenvalues.

    Example:
        >>> values = torch.tensor([[0.0, 1.0, 1.0 + 1e-14, 3.0]], dtype=torch.float64)
        >>> spaces = RelativeGap()(values, torch.ones(1, 4, dtype=torch.bool))
        >>> spaces.number.tolist(), spaces.dimension.tolist(), spaces.count.tolist()
        ([[0, 1, 1, 2]], [[1, 2, 2, 1]], [3])
        >>> round(spaces.margin.item(), 1)  # the gap of 1e-14 / 3 is 6.5 decades below 1e-8
        6.5
    """

    tolerance: float | None = None
    norm: float = 1.0
    warn: bool = True

    def __post_init__(self) -> None:
        if self.tolerance is not None:
            check_number("tolerance", self.tolerance, above=0)
        check_number("norm", self.norm, above=0)

    def __call__(self, eigenvalues: Float[Tensor, "graphs k"], mask: Bool[Tensor, "graphs k"]) -> Eigenspaces:
        """Group the eigenvalues of each graph.

        Args:
            eigenvalues: ascending eigenvalues; padding in the last columns.
            mask: whether a column holds an eigenvector: `eigenvector_mask(eigenvectors, batch)`.

        Raises:
            ValueError: for other shapes, and for eigenvalues that do not ascend or are not finite; in half
                precision, unless a tolerance is given.
        """
        _check(eigenvalues, mask)
        if self.tolerance is None and eigenvalues.dtype.itemsize < 4:
            raise ValueError(
                f"expected eigenvalues in float32 or float64, got {eigenvalues.dtype}, where distinct ones "
                "look equal: keep them in float64, as AddEigenpairs does, or give RelativeGap a tolerance"
            )
        values = eigenvalues.detach()
        tolerance = self.tolerance or max(1e-8, 128 * torch.finfo(values.dtype).eps)
        norm = values.abs().where(mask, 0.0).amax(1, keepdim=True).clamp(min=self.norm)
        gaps = values.diff(dim=1) / norm
        between = mask[:, 1:]
        opens = torch.cat([mask[:, :1], between & (gaps > tolerance)], dim=1)
        number = (opens.cumsum(1) - 1).where(mask, -1)
        sizes = torch.zeros_like(number).scatter_add_(1, number.clamp(min=0), mask.long())
        return Eigenspaces(
            number=number,
            dimension=sizes.gather(1, number.clamp(min=0)).where(mask, 0),
            count=opens.sum(1),
            margin=self._margin(gaps, between, tolerance),
        )

    def _margin(self, gaps: Tensor, between: Tensor, tolerance: float) -> Tensor:
        decades = (gaps.clamp(min=0).log10() - math.log10(tolerance)).abs().where(between, math.inf)
        margin = torch.nn.functional.pad(decades, (0, 1), value=math.inf).amin(1)
        close = int((margin < DECADE).sum())
        if self.warn and close:
            graph = int(margin.argmin())
            gap = float(gaps[graph, decades[graph].argmin()])
            warnings.warn(
                f"eigenvalues of {close} of {len(margin)} graphs are neither equal nor distinct: graph "
                f"{graph} has a relative gap of {gap:.1e}, the threshold is {tolerance:.1e}; give "
                "RelativeGap another tolerance, or compute the eigenvalues in float64",
                AmbiguousEigenspaces,
                stacklevel=3,
            )
        return margin


def orthonormal_within(
    columns: Float[Tensor, "graphs n k"], spaces: Eigenspaces
) -> Float[Tensor, "graphs n k"]:
    """Return an orthonormal basis of the span of the columns of each eigenspace.

    Args:
        columns: eigenvectors, independent within an eigenspace.
        spaces: eigenspace of each column.

    Example:
        >>> spaces = RelativeGap()(torch.zeros(1, 2), torch.ones(1, 2, dtype=torch.bool))
        >>> orthonormal_within(torch.tensor([[[2.0, 2.0], [0.0, 3.0]]]), spaces).tolist()
        [[[1.0, 0.0], [0.0, 1.0]]]
    """
    # With the Gram matrix of each eigenspace G = L L^T, the columns V L^{-T} are orthonormal: Gram-Schmidt,
    # for all eigenspaces of all graphs in one block-diagonal factorization.
    together = spaces.number[:, :, None] == spaces.number[:, None]
    for _ in range(2):  # columns that are nearly dependent leave an error, and the second pass removes it
        gram = (columns.mT @ columns).where(together, 0.0)
        factor = torch.linalg.cholesky(gram)
        columns = torch.linalg.solve_triangular(factor.mT, columns, upper=True, left=False)
    return columns


def _check(values: Tensor, mask: Tensor) -> None:
    real = values.is_floating_point() and mask.dtype == torch.bool
    if not real or values.dim() != 2 or values.shape != mask.shape or values.shape[1] < 1:
        raise ValueError(
            "expected real eigenvalues and a boolean mask of one shape (graphs, k), k at least 1, got "
            f"{values.dtype} {tuple(values.shape)} and {mask.dtype} {tuple(mask.shape)}"
        )
    if not bool(values.isfinite().all()):
        raise ValueError("expected finite eigenvalues, got infinities or NaN")
    if bool((mask[:, 1:] & ~mask[:, :-1]).any()):
        raise ValueError("expected the eigenvectors of a graph in its first columns, got an empty one before")
    if bool(((values.diff(dim=1) < 0) & mask[:, 1:]).any()):
        raise ValueError("expected ascending eigenvalues; sort them, and their eigenvectors with them")


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
        full = matrix.detach().to(torch.complex128 if matrix.is_complex() else torch.float64)
        values, vectors = torch.linalg.eig(full)
        groups = _eigenspaces(values, tolerance)
        for group in groups:
            # LAPACK's eigenvectors of one eigenvalue may be nearly dependent, as on a graph with many leaves.
            # Where A - lambda is 0 on as many orthonormal vectors, up to rounding, these take their place.
            if float(torch.linalg.svdvals(vectors[:, group])[-1]) < 1e-3:
                _, sizes, right = torch.linalg.svd(full - values[group].mean().expand(len(full)).diag())
                if sizes[-len(group)] <= 1e-3 * tolerance * sizes[0]:
                    vectors[:, group] = right[-len(group) :].mH
        smallest = float(torch.linalg.svdvals(vectors)[-1])
        if smallest < INDEPENDENT:
            raise ValueError(
                "expected a diagonalizable matrix, got one whose eigenvectors are dependent (their smallest "
                f"singular value is {smallest:.1e})"
            )
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
    return [groups[number] for number in np.lexsort((means.imag, np.round(means.real / unit)))]
