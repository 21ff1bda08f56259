"""ZINC: small molecules, with the penalized logP (a measure of solubility) of each as the target."""

from __future__ import annotations

import pickle
from pathlib import Path

import torch

from tammes.data.labeled_graphs import LabeledGraphs
from tammes.data.published_files import Part, check_part, read_tensors

ATOMS, BONDS = 28, 4
"""Number of atom types, 0 to 27, and of bond types; bonds in the set are 1 to 3."""
FULL = "full/processed"
"""Folder of the whole ZINC within the one that torch_geometric fills."""
_WRITER = "torch_geometric.datasets.ZINC"
_INTEGERS = {"x": 1, "edge_index": 2, "edge_attr": 1, "node_ptr": 1, "edge_ptr": 1}


def zinc(path: str | Path, part: Part) -> LabeledGraphs:
    """Load a part of ZINC 12k: 10,000 molecules for training, 1,000 for validation and 1,000 for testing.

    Nothing is downloaded, and nothing but tensors is unpickled from PyG's files.

    Args:
        path: path of the folder that `torch_geometric.datasets.ZINC(path, subset=True)` has filled, with
            `subset/processed/train.pt` and so on in it; or of a folder with one NumPy archive for each part,
            `zinc_train*.npz`, `zinc_val*.npz`, `zinc_test*.npz`, with `x`, `edge_index` (numbered within
            each molecule), `edge_attr`, `node_ptr`, `edge_ptr` and `y`.
        part: part of the set, "train", "val" or "test".

    Raises:
        ValueError: If `part` is none of them, or its file is missing, ambiguous or damaged.
        ImportError: If the folder is PyG's and torch_geometric is not installed.

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
    check_part("part", part, Part)
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
    arrays = read_tensors(file, integers=_INTEGERS, floats={"y": 1})
    try:
        molecules = LabeledGraphs(
            nodes=arrays["x"],
            edges=arrays["edge_index"],
            bonds=arrays["edge_attr"],
            node_starts=arrays["node_ptr"],
            edge_starts=arrays["edge_ptr"],
            targets=arrays["y"].float()[:, None],
        )
    except ValueError as error:
        raise ValueError(f"expected molecules in {file}, but its arrays do not match: {error}") from error
    return _of_known_kinds(molecules, file)


def zinc_full(path: str | Path, part: Part) -> LabeledGraphs:
    """Load a part of the whole ZINC: 220,011 molecules for training, 24,445 for validation, 5,000 for tests.

    Nothing is downloaded, and nothing but tensors is unpickled.

    Args:
        path: path of the folder that `torch_geometric.datasets.ZINC(path, subset=False)` has filled, with
            `full/processed/train.pt` and so on in it.
        part: part of the set, "train", "val" or "test".

    Raises:
        ValueError: If `part` is none of them, or its file is missing, damaged or of another set.
        ImportError: If torch_geometric is not installed.

    Source: Irwin et al., ZINC: A Free Tool to Discover Chemistry for Biology, 2012; the parts are those of
    Dwivedi et al., 2020.

    Example:
        >>> zinc_full("nowhere", "test")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ValueError: expected the whole ZINC at nowhere: full/processed/test.pt, as torch_geometric...
    """
    check_part("part", part, Part)
    processed = Path(path) / FULL / f"{part}.pt"
    if not processed.is_file():
        raise ValueError(
            f"expected the whole ZINC at {path}: {FULL}/{part}.pt, as {_WRITER}(path, subset=False) writes "
            "it when run once; found none"
        )
    return _from_geometric(processed)


def part_of_zinc(folder: Path, part: Part) -> Path | None:
    """Return the path of a part's archive, or None if there is none; no file is opened.

    Raises:
        ValueError: If several archives match.
    """
    found = sorted(folder.glob(f"zinc_{part}*.npz"))
    if len(found) > 1:
        raise ValueError(f"expected one zinc_{part}*.npz in {folder}, found {len(found)}: keep one")
    return found[0] if found else None


def _from_geometric(file: Path) -> LabeledGraphs:
    """Return the graphs in PyG's format: tensors of all molecules, the index of each in them, and a class."""
    try:
        from torch_geometric.data import Data
    except ImportError as error:
        raise ImportError(f'reading {file} needs torch_geometric: pip install "tammes[graphs]"') from error
    try:
        with torch.serialization.safe_globals([Data]):
            tensors, starts, *_ = torch.load(file, weights_only=True)
        molecules = LabeledGraphs(
            nodes=tensors["x"].flatten().long(),
            edges=tensors["edge_index"].long(),
            bonds=tensors["edge_attr"].flatten().long(),
            node_starts=starts["x"].long(),
            edge_starts=starts["edge_index"].long(),
            targets=tensors["y"].float().reshape(-1, 1),
        )
    except pickle.UnpicklingError as error:
        # The error's own message explains at length how to load the file unsafely.
        found = "a damaged file, or one with other objects than tensors, which are not unpickled"
        raise ValueError(f"expected {file} as {_WRITER} writes it, got {found}") from error
    except Exception as error:  # torch raises errors of any kind on damaged files
        raise ValueError(f"expected {file} as {_WRITER} writes it, got something else ({error!r})") from error
    return _of_known_kinds(molecules, file)


def _of_known_kinds(molecules: LabeledGraphs, file: Path) -> LabeledGraphs:
    """Return the molecules, unless an atom or a bond is of a kind that ZINC lacks."""
    for what, kinds, most in (("atoms", molecules.nodes, ATOMS), ("bonds", molecules.bonds, BONDS)):
        if bool((kinds >= most).any()):
            raise ValueError(
                f"expected {what} of the kinds 0 to {most - 1} in {file}, got kind {int(kinds.max())}: this "
                "is another set"
            )
    return molecules
