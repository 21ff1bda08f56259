"""Random graphs whose small subgraphs have been counted."""

from __future__ import annotations

from pathlib import Path

import torch

from tammes.data.archive import read_archive
from tammes.data.labelled_graphs import LabelledGraphs
from tammes.data.numeric import real_numbers, whole_numbers
from tammes.data.split import Part, check_part

COUNTED = ("triangle", "tailed_triangle", "star", "chordal_cycle")
"""The patterns whose counts are the targets, in this order."""
ARCHIVE, SPLITS = "*_parsed.npz", "*_{}.txt"


def substructures(path: str | Path, part: Part) -> LabelledGraphs:
    """A part of the random graphs: 1,500 to train on, 1,000 to validate and 2,500 to test on.

    Args:
        path: a folder with a NumPy archive `NAME_parsed.npz` of `num_nodes`, `edge_ptr`, `edge_index`
            (numbered within each graph) and `y_triangle`, `y_tailed_triangle`, `y_star`,
            `y_chordal_cycle`; and with the published `NAME_train.txt`, `NAME_val.txt`, `NAME_test.txt` of
            graph numbers, one a line.
        part: "train", "val" or "test".

    Raises:
        ValueError: If the part is none of them, or files are missing, double or do not fit together.

    Source: Chen et al., Can Graph Neural Networks Count Substructures?, 2020.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> with tempfile.TemporaryDirectory() as root:
        ...     counts = {f"y_{name}": [0.0, 1.0] for name in COUNTED}
        ...     np.savez(Path(root) / "a_parsed.npz", num_nodes=[1, 2], edge_ptr=[0, 0, 2],
        ...              edge_index=[[0, 1], [1, 0]], **counts)
        ...     _ = (Path(root) / "a_test.txt").write_text("1\\n")
        ...     substructures(root, "test").targets.tolist()
        [[1.0, 1.0, 1.0, 1.0]]
    """
    check_part(part)
    archive, split = _only(Path(path), ARCHIVE), _only(Path(path), SPLITS.format(part))
    arrays = read_archive(
        archive, ["num_nodes", "edge_ptr", "edge_index", *(f"y_{name}" for name in COUNTED)]
    )

    def whole(name: str, dimensions: int = 1) -> torch.Tensor:
        return whole_numbers(arrays[name], name=name, file=archive, dimensions=dimensions)

    sizes, edges, edge_starts = whole("num_nodes"), whole("edge_index", 2), whole("edge_ptr")
    counts = [
        real_numbers(arrays[name], name=name, file=archive, dimensions=1).float()
        for name in (f"y_{pattern}" for pattern in COUNTED)
    ]
    lengths = {len(each) for each in counts}
    if lengths != {len(sizes)} or bool((sizes < 0).any()):
        raise ValueError(
            f"expected a size of each graph and as many counts in {archive}, got {len(sizes)} sizes and "
            f"{sorted(lengths)} counts, or a size below 0"
        )
    try:
        graphs = LabelledGraphs(
            nodes=sizes.new_zeros(int(sizes.sum())),
            edges=edges,
            bonds=edges.new_zeros(edges.shape[1]),
            node_starts=torch.cat([sizes.new_zeros(1), sizes.cumsum(0)]),
            edge_starts=edge_starts,
            targets=torch.stack(counts, dim=1),
        )
    except ValueError as error:
        raise ValueError(f"expected graphs in {archive}, but its arrays do not fit: {error}") from error
    return _chosen(graphs, split)


def _chosen(graphs: LabelledGraphs, split: Path) -> LabelledGraphs:
    """The graphs that a file of numbers names."""
    try:
        chosen = [int(line) for line in split.read_text().split()]
        if not chosen:
            raise ValueError("there is none")
        return graphs.subset(chosen)
    except (ValueError, IndexError, OverflowError) as error:
        raise ValueError(
            f"expected in {split} a number from 0 to {len(graphs) - 1} in each line ({error})"
        ) from error


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise ValueError(f"expected one file {pattern} in {folder}, found {len(found)}")
    return found[0]
