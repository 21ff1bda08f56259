"""Random graphs with the counts of four small subgraphs."""

from __future__ import annotations

from pathlib import Path

import torch

from tammes.checks import check_file
from tammes.data.labeled_graphs import LabeledGraphs
from tammes.data.published_files import Part, check_part, only_file, read_tensors

COUNTED = ("triangle", "tailed_triangle", "star", "chordal_cycle")
"""Subgraphs whose counts are the targets, in this order."""
ARCHIVE, SPLITS = "*_parsed.npz", "*_{}.txt"


def substructures(path: str | Path, part: Part) -> LabeledGraphs:
    r"""Load a part of the random graphs: 1,500 for training, 1,000 for validation and 2,500 for testing.

    Args:
        path: path of a folder with a NumPy archive `NAME_parsed.npz` of `num_nodes`, `edge_ptr`, `edge_index`
            (numbered within each graph) and `y_triangle`, `y_tailed_triangle`, `y_star`,
            `y_chordal_cycle`; and with the published `NAME_train.txt`, `NAME_val.txt`, `NAME_test.txt`, which
            hold a graph number in each line.
        part: part of the set, "train", "val" or "test".

    Raises:
        ValueError: If `part` is none of them, or files are missing, ambiguous or do not match each other.

    Source: Chen et al., Can Graph Neural Networks Count Substructures?, 2020.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> with tempfile.TemporaryDirectory() as root:
        ...     counts = {f"y_{name}": [0.0, 1.0] for name in COUNTED}
        ...     np.savez(Path(root) / "a_parsed.npz", num_nodes=[1, 2], edge_ptr=[0, 0, 2],
        ...              edge_index=[[0, 1], [1, 0]], **counts)
        ...     _ = (Path(root) / "a_test.txt").write_text("1\n")
        ...     substructures(root, "test").targets.tolist()
        [[1.0, 1.0, 1.0, 1.0]]
    """
    check_part("part", part, Part)
    archive, split = only_file(Path(path), ARCHIVE), only_file(Path(path), SPLITS.format(part))
    names = [f"y_{pattern}" for pattern in COUNTED]
    arrays = read_tensors(
        archive,
        integers={"num_nodes": 1, "edge_index": 2, "edge_ptr": 1},
        floats=dict.fromkeys(names, 1),
    )
    sizes, edges = arrays["num_nodes"], arrays["edge_index"]
    lengths = {len(arrays[name]) for name in names}
    if lengths != {len(sizes)} or bool((sizes < 0).any()):
        raise ValueError(
            f"expected a size of each graph and as many counts in {archive}, got {len(sizes)} sizes and "
            f"{sorted(lengths)} counts, or a size below 0"
        )
    try:
        graphs = LabeledGraphs(
            nodes=sizes.new_zeros(int(sizes.sum())),
            edges=edges,
            bonds=edges.new_zeros(edges.shape[1]),
            node_starts=torch.cat([sizes.new_zeros(1), sizes.cumsum(0)]),
            edge_starts=arrays["edge_ptr"],
            targets=torch.stack([arrays[name].float() for name in names], dim=1),
        )
    except ValueError as error:
        raise ValueError(f"expected graphs in {archive}, but its arrays do not match: {error}") from error
    try:
        chosen = [int(line) for line in check_file(split).read_text().split()]
        if not chosen:
            raise ValueError("it is empty")
        return graphs.subset(chosen)
    except (ValueError, IndexError, OverflowError) as error:
        raise ValueError(
            f"expected in {split} a number from 0 to {len(graphs) - 1} in each line ({error})"
        ) from error
