"""Positional encodings of nodes by formulas: eigenvectors, random walks, heat, and eigenspaces."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.checks import check_integer, check_number
from tammes.spectral.batches import check_eigenpairs
from tammes.spectral.eigen.eigenpairs import Eigenpairs, eigenvector_mask
from tammes.spectral.eigen.eigenspaces import RelativeGap

ROUNDING = 0.01
"""Largest rounding error of a sum of squares, as of eigenvectors in bfloat16."""


def laplacian_encoding(
    pairs: Eigenpairs, batch: Int[Tensor, " nodes"], *, count: int
) -> Float[Tensor, "nodes count"]:
    """Return the eigenvectors v_2, ..., v_{count+1} of each node (LapPE); signs and bases are the solver's.

    The first eigenvector, constant up to degrees on a connected graph, is left out. A graph with fewer
    eigenvectors has zeros in its last columns. A network behind this encoding needs random signs in training
    (`tammes.spectral.baselines.RandomFlips`), or a SignNet in between.

    Args:
        pairs: the `count + 1` smallest eigenpairs, or more.
        batch: graph of each node.
        count: number of columns.

    Raises:
        ValueError: for a count below 1, fewer eigenpairs, or eigenpairs that do not fit the batch.

    Source: Dwivedi et al., Benchmarking Graph Neural Networks, 2020.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> edge, batch = torch.tensor([[0, 1], [1, 0]]), torch.zeros(2, dtype=torch.long)
        >>> laplacian_encoding(eigenpairs(edge, batch), batch, count=1).abs().round(decimals=4).tolist()
        [[0.7071], [0.7071]]
    """
    check_integer("count", count)
    check_eigenpairs(batch, pairs.vectors, pairs.values)
    missing = count + 1 - pairs.vectors.shape[1]
    if missing > 0 and not _are_all(pairs, batch):
        raise ValueError(f"expected at least {count + 1} eigenpairs, got {pairs.vectors.shape[1]}")
    return torch.nn.functional.pad(pairs.vectors[:, 1 : count + 1], (0, max(0, missing)))


def random_walk_encoding(
    pairs: Eigenpairs, batch: Int[Tensor, " nodes"], *, steps: int
) -> Float[Tensor, "nodes steps"]:
    """Return the probability that a random walk from a node is back after 1, ..., `steps` steps (RWSE).

        (D^{-1} A)^t_uu = sum_i (1 - lambda_i)^t v_i(u)^2

    A node without neighbors, from which no walk leaves, has zeros.

    Args:
        pairs: all eigenpairs of `Symmetric()`.
        batch: graph of each node.
        steps: number of columns.

    Raises:
        ValueError: for fewer than one step, or eigenpairs that are not all, do not fit the batch, or are of
            another Laplacian.

    Source: Dwivedi et al., Graph Neural Networks with Learnable Structural and Positional Representations,
    2022.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> batch = torch.zeros(3, dtype=torch.long)
        >>> random_walk_encoding(eigenpairs(path, batch), batch, steps=2).round(decimals=6).abs().tolist()
        [[0.0, 0.5], [0.0, 1.0], [0.0, 0.5]]
    """
    check_integer("steps", steps)
    check_eigenpairs(batch, pairs.vectors, pairs.values)
    if not _are_all(pairs, batch):
        raise ValueError("expected all eigenpairs of every graph, got fewer; leave count out of eigenpairs")
    squares = pairs.vectors.square()
    # The rows of n orthonormal columns have unit length. Eigenvalues of diag(d) - A are above 2, but where it
    # equals the normalized Laplacian.
    if bool(((squares.sum(1) - 1).abs() > ROUNDING).any()) or bool((pairs.values > 2 + ROUNDING).any()):
        raise ValueError("expected eigenpairs of Symmetric(), got others; leave laplacian out of eigenpairs")
    # L_uu is 0 at a node without neighbors, and 1 elsewhere.
    has_neighbors = (squares * pairs.values[batch]).sum(1, keepdim=True) > 0.5
    columns = [(squares * (1 - pairs.values).pow(t)[batch]).sum(1) for t in range(1, steps + 1)]
    return torch.stack(columns, dim=1).where(has_neighbors, 0.0)


def heat_kernel_encoding(
    pairs: Eigenpairs, batch: Int[Tensor, " nodes"], *, times: Sequence[float]
) -> Float[Tensor, "nodes times"]:
    """Return the share of heat that is still at a node after each time.

        (exp(-t L))_uu = sum_i exp(-t lambda_i) v_i(u)^2

    With the smallest eigenpairs only, the result is too small by at most exp(-t lambda), where lambda is the
    largest eigenvalue given.

    Args:
        pairs: eigenpairs of a symmetric Laplacian, or of a mesh.
        batch: graph of each node.
        times: times in the unit of one over the eigenvalues, each at least 0.

    Raises:
        ValueError: for no times, a negative one, eigenpairs that do not fit the batch, or such columns of
            unit length that they cannot be orthonormal (as those of `RandomWalk()`).

    Source: Sun et al., A Concise and Provably Informative Multi-Scale Signature Based on Heat Diffusion,
    2009.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> edge, batch = torch.tensor([[0, 1], [1, 0]]), torch.zeros(2, dtype=torch.long)
        >>> heat_kernel_encoding(eigenpairs(edge, batch), batch, times=(0.0, 9.0)).round(decimals=4).tolist()
        [[1.0, 0.5], [1.0, 0.5]]
    """
    if not len(times):
        raise ValueError("expected at least one of times, got none")
    for each in times:
        check_number("each of times", each, minimum=0)
    check_eigenpairs(batch, pairs.vectors, pairs.values)
    squares, size = pairs.vectors.square(), pairs.values.abs()
    lengths = squares.new_zeros(pairs.values.shape).index_add(0, batch, squares)
    # The columns of a mesh have other lengths; of orthonormal ones the rows are at most 1 long.
    are_unit = ((lengths - 1).abs().minimum(lengths) < ROUNDING).all(1)
    if bool((are_unit[batch] & (squares.sum(1) > 1 + ROUNDING)).any()):
        raise ValueError("expected eigenpairs of Symmetric(), Combinatorial() or a mesh, got others")
    # Eigenvalues that are 0 up to rounding, of either sign, are 0 after any time.
    values = pairs.values.where(size > 64 * torch.finfo(torch.float64).eps * size.amax(1, keepdim=True), 0.0)
    return torch.stack([(squares * (-t * values).exp()[batch]).sum(1) for t in times], dim=1)


def graph_angles(
    pairs: Eigenpairs, batch: Int[Tensor, " nodes"], *, count: int, gap: RelativeGap | None = None
) -> Float[Tensor, "nodes count"]:
    """Return the cosines of the angles between a node's axis and each of the first eigenspaces.

        alpha_ju = |V_j V_j^T e_u| = sqrt((V_j V_j^T)_uu)

    They depend neither on signs nor on bases. A graph with fewer eigenspaces has zeros in its last columns.

    Args:
        pairs: eigenpairs with orthonormal vectors whose last eigenspace is not cut
            (`eigenpairs(whole_eigenspaces=True)`).
        batch: graph of each node.
        count: number of eigenspaces, in ascending order of their eigenvalues.
        gap: rule for equal eigenvalues; left out, `RelativeGap()`.

    Raises:
        ValueError: for a count below 1, or eigenpairs that do not fit the batch.

    Source: Robinson (2023), eq. E.41; Cvetkovic, Rowlinson and Simic, Eigenspaces of Graphs, 1997.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> star = torch.tensor([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]])
        >>> batch = torch.zeros(4, dtype=torch.long)
        >>> graph_angles(eigenpairs(star, batch), batch, count=2).round(decimals=4).abs()[:2].tolist()
        [[0.7071, 0.0], [0.4082, 0.8165]]
    """
    return _summed_within(pairs, batch, pairs.vectors.square(), count, gap).clamp(min=0).sqrt()


def projected_ones(
    pairs: Eigenpairs, batch: Int[Tensor, " nodes"], *, count: int, gap: RelativeGap | None = None
) -> Float[Tensor, "nodes count"]:
    """Return the projection of the vector of ones onto each of the first eigenspaces, V_j V_j^T 1.

    They are the row sums of the projectors, which a BasisNet sees beside their diagonals (`graph_angles`).
    They sum to 1 over all eigenspaces. With `Combinatorial()` on a connected graph only the first is not 0.

    Args:
        pairs: as for `graph_angles`.
        batch: graph of each node.
        count: number of eigenspaces, in ascending order of their eigenvalues.
        gap: rule for equal eigenvalues; left out, `RelativeGap()`.

    Raises:
        ValueError: for a count below 1, or eigenpairs that do not fit the batch.

    Source: Robinson (2023), section 7.1.2, the maps of an IGN on V_j V_j^T.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> batch = torch.zeros(3, dtype=torch.long)
        >>> projected_ones(eigenpairs(path, batch), batch, count=3).sum(1).round(decimals=6).tolist()
        [1.0, 1.0, 1.0]
    """
    check_eigenpairs(batch, pairs.vectors, pairs.values)
    sums = torch.zeros_like(pairs.values, dtype=pairs.vectors.dtype).index_add(0, batch, pairs.vectors)
    return _summed_within(pairs, batch, pairs.vectors * sums[batch], count, gap)


def _summed_within(
    pairs: Eigenpairs, batch: Tensor, columns: Tensor, count: int, gap: RelativeGap | None
) -> Float[Tensor, "nodes count"]:
    """Return the sum of the columns of each of the first eigenspaces."""
    check_integer("count", count)
    check_eigenpairs(batch, pairs.vectors, pairs.values)
    mask = eigenvector_mask(pairs.vectors, batch, len(pairs.values))
    number = (gap or RelativeGap())(pairs.values, mask).number
    # A last column takes what is not asked for: padding, and eigenspaces after the first `count`.
    place = number.where((number >= 0) & (number < count), count)
    found = columns.new_zeros(len(columns), count + 1).scatter_add(1, place[batch], columns)
    return found[:, :count]


def _are_all(pairs: Eigenpairs, batch: Tensor) -> bool:
    """Return whether every graph has as many eigenvectors as nodes."""
    found = eigenvector_mask(pairs.vectors, batch, len(pairs.values)).sum(1)
    return bool((found == torch.bincount(batch, minlength=len(pairs.values))).all())
