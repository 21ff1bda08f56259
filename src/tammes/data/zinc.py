"""ZINC 12k: small molecules, and a number for each that a chemist would call its penalized solubility."""

from __future__ import annotations

import pickle
from pathlib import Path

import torch

from tammes.data.archive import read_archive
from tammes.data.labelled_graphs import LabelledGraphs
from tammes.data.numeric import real_numbers, whole_numbers
from tammes.data.split import Part, check_part

ATOMS, BONDS = 28, 4
"""Kinds of atoms and of bonds that the set counts; bonds are 1 to 3."""
_ARRAYS = ("x", "edge_index", "edge_attr", "node_ptr", "edge_ptr", "y")


def zinc(path: str | Path, part: Part) -> LabelledGraphs:
    """A part of ZINC 12k: 10,000 molecules to train on, 1,000 to validate and 1,000 to test on.

    Nothing is downloaded, and PyG's files are read as tensors alone.

    Args:
        path: the folder that `torch_geometric.datasets.ZINC(path, subset=True)` has filled, with
            `subset/processed/train.pt` and so on in it; or a folder with one NumPy archive a part,
            `zinc_train*.npz`, `zinc_val*.npz`, `zinc_test*.npz`, of `x`, `edge_index` (numbered within
            each molecule), `edge_attr`, `node_ptr`, `edge_ptr` and `y`.
        part: "train", "val" or "test".

    Raises:
        ValueError: If the part is none of them, or its file is missing, double or damaged.
        ImportError: Where PyG's folder is given and torch_geometric is missing.

    Source: Dwivedi et al., Benchmarking Graph Neural Networks, 2020, after Irwin et al., 2012.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> with tempfile.TemporaryDirectory() as root:
        ...     np.savez(Path(root) / "zinc_val.npz", x=[0, 2], edge_index=[[0, 1], [1, 0]], edge_attr=[1, 1],
        ...              node_ptr=[0, 2], edge_ptr=[0, 2], y=[0.5])
        ...     zinc(root, "val").targets.tolist()
        [[0.5]]
    """
    check_part(part)
    folder = Path(path)
    processed = folder / "subset" / "processed" / f"{part}.pt"
    if processed.is_file():
        return _from_geometric(processed)
    file = part_of_zinc(folder, part)
    if file is None:
        raise ValueError(
            f"expected ZINC 12k at {path}: subset/processed/{part}.pt, as torch_geometric.datasets.ZINC"
            f"(path, subset=True) writes it when run once, or zinc_{part}*.npz; found neither"
        )
    arrays = read_archive(file, _ARRAYS)

    def whole(name: str, dimensions: int = 1) -> torch.Tensor:
        return whole_numbers(arrays[name], name=name, file=file, dimensions=dimensions)

    nodes, edges, bonds = whole("x"), whole("edge_index", 2), whole("edge_attr")
    node_starts, edge_starts = whole("node_ptr"), whole("edge_ptr")
    targets = real_numbers(arrays["y"], name="y", file=file, dimensions=1)
    try:
        return LabelledGraphs(
            nodes=nodes,
            edges=edges,
            bonds=bonds,
            node_starts=node_starts,
            edge_starts=edge_starts,
            targets=targets.float()[:, None],
        )
    except ValueError as error:
        raise ValueError(f"expected molecules in {file}, but its arrays do not fit: {error}") from error


def part_of_zinc(folder: Path, part: Part) -> Path | None:
    """The archive of a part, or None where there is none; contents are not read.

    Raises:
        ValueError: If there are several.
    """
    found = sorted(folder.glob(f"zinc_{part}*.npz"))
    if len(found) > 1:
        raise ValueError(
            f"expected one zinc_{part}*.npz in {folder}, found {len(found)}: take all but one away"
        )
    return found[0] if found else None


def _from_geometric(file: Path) -> LabelledGraphs:
    """PyG's own form: a dictionary of all molecules' tensors, where each begins in them, and a class."""
    try:
        from torch_geometric.data import Data
    except ImportError as error:
        raise ImportError(f'reading {file} needs torch_geometric: pip install "tammes[graphs]"') from error
    try:
        with torch.serialization.safe_globals([Data]):
            tensors, starts, *_ = torch.load(file, weights_only=True)
        return LabelledGraphs(
            nodes=tensors["x"].flatten().long(),
            edges=tensors["edge_index"].long(),
            bonds=tensors["edge_attr"].flatten().long(),
            node_starts=starts["x"].long(),
            edge_starts=starts["edge_index"].long(),
            targets=tensors["y"].float().reshape(-1, 1),
        )
    except pickle.UnpicklingError as error:  # whose words are many, and tell how to open it unsafely
        raise ValueError(
            f"expected {file} as torch_geometric.datasets.ZINC writes it, got a damaged file, or more than "
            "tensors, which is not opened"
        ) from error
    except (OSError, EOFError, RuntimeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"expected {file} as torch_geometric.datasets.ZINC writes it, got something else ({error!r})"
        ) from error
