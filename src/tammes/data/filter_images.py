"""Small photographs as signals on a grid, and what five spectral filters make of them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from numpy.typing import NDArray
from scipy.io import loadmat
from scipy.io.matlab import MatReadError
from scipy.sparse import issparse
from torch import Tensor

from tammes.data.numeric import real_numbers

FILTERS: Mapping[str, Callable[[Float[Tensor, " k"]], Float[Tensor, " k"]]] = {
    "low": lambda eigenvalues: torch.exp(-10 * eigenvalues**2),
    "high": lambda eigenvalues: 1 - torch.exp(-10 * eigenvalues**2),
    "band": lambda eigenvalues: torch.exp(-10 * (eigenvalues - 1) ** 2),
    "rejection": lambda eigenvalues: 1 - torch.exp(-10 * (eigenvalues - 1) ** 2),
    "comb": lambda eigenvalues: torch.sin(torch.pi * eigenvalues).abs(),
}
"""h(eigenvalue), of the symmetric normalized Laplacian, by the name of its file of targets."""
GRID, TARGETS = "grid_32x32.mat", "labels"
_UNREADABLE = (OSError, EOFError, ValueError, TypeError, LookupError, zlib.error)
"""What NumPy and SciPy raise on damaged files."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FilterImages:
    """Images on one grid, before and after each filter.

    Args:
        edges: (2, edges), of the grid, both ways.
        signals: (nodes, images), gray between 0 and 1.
        inner: (nodes,), true away from the boundary, where errors are counted.
        targets: for each filter (nodes, images): V h(Lambda) V^T signals.
    """

    edges: Int64[Tensor, "2 e"]
    signals: Float[Tensor, "n i"]
    inner: Bool[Tensor, " n"]
    targets: Mapping[str, Float[Tensor, "n i"]]


def filter_images(path: str | Path) -> FilterImages:
    """The 50 images of the spectral-filter experiment on their grid of 32 by 32, with the published targets.

    Args:
        path: the folder of `grid_32x32.mat` (or another single `.mat` of the same form), with the adjacency
            matrix `A`, the images as columns of `F` and the inner nodes `mask`; and of `labels/y_low.npy`,
            `y_high.npy`, `y_band.npy`, `y_rejection.npy`, `y_comb.npy`.

    Raises:
        ValueError: If files are missing, cannot be read or do not fit together.

    Source: He et al., BernNet, 2021, after Balcilar et al., 2021; resized in Lim et al., 2023, E.10.3.
    """
    folder = Path(path)
    grids = sorted(folder.glob("*.mat"))
    if len(grids) != 1:
        raise ValueError(f"expected one .mat file, as {GRID}, in {folder}, found {len(grids)}")
    try:
        content = loadmat(grids[0])
        adjacency, signals, inner = (_dense(content[name]) for name in ("A", "F", "mask"))
    except (*_UNREADABLE, NotImplementedError, MatReadError) as error:
        raise ValueError(
            f"expected a MATLAB file (version 5) with A, F and mask, got {grids[0]} ({error})"
        ) from error
    edges = real_numbers(adjacency, name="A", file=grids[0], dimensions=2)
    images = real_numbers(signals, name="F", file=grids[0], dimensions=2)
    mask = real_numbers(inner, name="mask", file=grids[0], dimensions=2)
    nodes = len(edges)
    if edges.shape != (nodes, nodes) or len(images) != nodes or mask.numel() != nodes:
        raise ValueError(
            f"expected A (n, n), F (n, images) and mask (n, 1) in {grids[0]}, got {adjacency.shape}, "
            f"{signals.shape} and {inner.shape}"
        )
    if not torch.equal(edges, edges.T):
        raise ValueError(f"expected edges both ways in {grids[0]}, got an A that is not symmetric")
    return FilterImages(
        edges=edges.nonzero().T.contiguous(),
        signals=images,
        inner=mask.flatten().bool(),
        targets={name: _target(folder / TARGETS / f"y_{name}.npy", signals.shape) for name in FILTERS},
    )


def _dense(array: Any) -> NDArray:
    """MATLAB may store a matrix by its entries that are not zero."""
    return array.toarray() if issparse(array) else np.asarray(array)


def _target(file: Path, shape: tuple[int, ...]) -> Float[Tensor, "n i"]:
    try:
        values = np.load(file, allow_pickle=False)
        if not isinstance(values, np.ndarray):
            raise ValueError("it is an archive of several")
    except _UNREADABLE as error:
        raise ValueError(f"expected an array in {file}, got none that can be read ({error})") from error
    target = real_numbers(values, name="the targets", file=file, dimensions=2)
    if target.shape != shape:
        raise ValueError(f"expected {shape} numbers in {file}, one a node and image, got {values.shape}")
    return target
