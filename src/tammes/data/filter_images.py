"""Small photographs as signals on a grid, before and after five spectral filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from tammes.checks import check_file, check_shape
from tammes.data.matlab_files import read_matlab
from tammes.data.published_files import float_tensor, only_file

FILTERS: Mapping[str, Callable[[Float[Tensor, " k"]], Float[Tensor, " k"]]] = {
    "low": lambda eigenvalues: torch.exp(-10 * eigenvalues**2),
    "high": lambda eigenvalues: 1 - torch.exp(-10 * eigenvalues**2),
    "band": lambda eigenvalues: torch.exp(-10 * (eigenvalues - 1) ** 2),
    "rejection": lambda eigenvalues: 1 - torch.exp(-10 * (eigenvalues - 1) ** 2),
    "comb": lambda eigenvalues: torch.sin(torch.pi * eigenvalues).abs(),
}
"""Frequency response h(eigenvalue) of each filter, on the spectrum of the symmetric normalized Laplacian."""
TARGETS = "labels"


@dataclass(frozen=True, kw_only=True, eq=False)
class FilterImages:
    """Images on one grid, before and after each filter: target = V h(Lambda) V^T signal.

    Args:
        edges: (2, edges) edges of the grid, each in both directions.
        signals: (nodes, images) gray values between 0 and 1.
        inner: (nodes,) true away from the boundary, where errors are counted.
        targets: (nodes, images) filtered signals, by the name of the filter.
    """

    edges: Int64[Tensor, "2 e"]
    signals: Float[Tensor, "n i"]
    inner: Bool[Tensor, " n"]
    targets: Mapping[str, Float[Tensor, "n i"]]


def filter_images(path: str | Path) -> FilterImages:
    """Load the 50 images of the spectral-filter experiment on their 32x32 grid, with the published targets.

    Args:
        path: path of the folder of `grid_32x32.mat` (or one other `.mat` file in the same format), with the
            adjacency matrix `A`, the images as columns of `F` and the inner nodes `mask`; and of
            `labels/y_low.npy`, `y_high.npy`, `y_band.npy`, `y_rejection.npy`, `y_comb.npy`.

    Raises:
        ValueError: If files are missing, cannot be read or do not match each other.

    Source: He et al., BernNet, 2021, after Balcilar et al., 2021; resized in Lim et al., 2023, E.10.3.
    """
    folder = Path(path)
    file = only_file(folder, "*.mat")
    try:
        arrays = read_matlab(file, ("A", "F", "mask"))
    except (OSError, ValueError) as error:
        raise ValueError(f"expected a MATLAB file (version 5) with A, F, mask: {file} ({error})") from error
    if len(arrays) < 3:
        raise ValueError(f"expected a MATLAB file (version 5) with A, F, mask: {file}, got {list(arrays)}")
    adjacency, signals, inner = (
        float_tensor(arrays[name], name=name, file=file, dimensions=2) for name in ("A", "F", "mask")
    )
    nodes = len(adjacency)
    if adjacency.shape != (nodes, nodes) or len(signals) != nodes or inner.numel() != nodes:
        got = ", ".join(str(array.shape) for array in arrays.values())
        raise ValueError(f"expected A (n, n), F (n, images) and mask (n, 1) in {file}, got {got}")
    if not torch.equal(adjacency, adjacency.T):
        raise ValueError(f"expected edges in both directions in {file}, got an A that is not symmetric")
    shape = tuple(signals.shape)
    return FilterImages(
        edges=adjacency.nonzero().T.contiguous(),
        signals=signals,
        inner=inner.flatten().bool(),
        targets={name: _target(folder / TARGETS / f"y_{name}.npy", shape) for name in FILTERS},
    )


def _target(file: Path, shape: tuple[int, ...]) -> Float[Tensor, "n i"]:
    try:
        values = np.load(check_file(file), allow_pickle=False)
        if not isinstance(values, np.ndarray):
            raise ValueError("it is an archive of several arrays")
    except Exception as error:  # a damaged file makes NumPy raise errors of any type
        raise ValueError(f"expected an array in {file}, got one that cannot be read ({error})") from error
    target = float_tensor(values, name="the targets", file=file, dimensions=2)
    check_shape(f"the targets of each node and image in {file}", target.shape, shape)
    return target
