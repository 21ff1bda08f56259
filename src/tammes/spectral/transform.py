"""The torch_geometric transform that adds Laplacian eigenpairs to graphs, with a cache on disk."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from rich.progress import track
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_integer
from tammes.spectral.eigen.eigenpairs import (
    Eigenpairs,
    content_key,
    eigenpairs,
    load_eigenpairs,
    save_eigenpairs,
)
from tammes.spectral.eigen.laplacian import Laplacian, Symmetric

try:
    from torch_geometric.data import Batch, Data, HeteroData
    from torch_geometric.transforms import BaseTransform
except ImportError as error:
    raise ImportError('AddEigenpairs needs torch_geometric: pip install "tammes[graphs]"') from error

GRAPHS_OF_A_CHUNK = 8192
"""Largest number of graphs that are decomposed, and saved in a file, together."""

ADVICE = "; call AddEigenpairs once on the list of all graphs, or with equal settings"
"""End of the settings of eigenpairs: it stands in the error for graphs with other ones."""

ENTRIES_OF_A_CHUNK = 2**24
"""Largest number of entries of their eigenvectors, padded to the largest graph: 128 MiB of float64."""


@dataclass(frozen=True, kw_only=True)
class AddEigenpairs(BaseTransform):
    """Transform that sets `eigenvectors`, (nodes, k), and `eigenvalues`, (1, k), of torch_geometric graphs.

    Columns beyond a graph's own number of eigenpairs are 0, so graphs batch as usual: the batch has
    `eigenvectors` (nodes, k) and `eigenvalues` (graphs, k). Call it on a list of graphs: those of equal size
    are decomposed together. As `pre_transform` or `transform` of a data set it gets one graph at a time,
    and needs a `count` for the graphs to batch.

    Eigenvalues stay float64, which separates close eigenvalues from equal ones. A third attribute,
    `eigenpairs`, names the settings, so that graphs with other ones do not batch. torch_geometric batches the
    attributes of the first graph: behind one with eigenpairs a graph without them is a `KeyError`, and behind
    one without them the eigenpairs of the others are dropped.

    Args:
        count: number of eigenpairs, k; left out, the number of nodes of the largest graph, which gives all.
        whole_eigenspaces: whether the last eigenspace is left out where `count` cuts it, as BasisNet needs.
        laplacian: matrix to decompose; graphs with `edge_weight` are weighted.
        dtype: float type of the eigenvectors.
        folder: cache of eigenpairs, in files named by a hash of the graphs and settings; left out, no cache.
        progress: whether to show a progress bar for a list.

    Raises:
        ImportError: where torch_geometric is missing.
        ValueError: for a count below 1, a dtype that is no float type, and, when called, for a batch, graphs
            with several kinds of nodes, graphs without nodes, and graphs that `eigenpairs` rejects; and when
            graphs are batched whose eigenpairs have other settings or another number of columns (`KeyError`
            after `Data.clone` and the like); and for a folder that is a file.

    Example:
        >>> from torch_geometric.data import Batch, Data
        >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> edge = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
        >>> batch = Batch.from_data_list(AddEigenpairs()([path, edge]))
        >>> batch.eigenvectors.shape, batch.eigenvalues.round(decimals=6).abs().tolist()
        (torch.Size([5, 3]), [[0.0, 1.0, 2.0], [0.0, 2.0, 0.0]])
    """

    count: int | None = None
    whole_eigenspaces: bool = False
    laplacian: Laplacian = field(default_factory=Symmetric)
    dtype: torch.dtype = torch.float32
    folder: str | Path | None = field(default=None, repr=False)
    progress: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        if self.count is not None:
            check_integer("count", self.count)
        if self.folder is not None and Path(self.folder).is_file():
            raise ValueError(f"folder must be a folder, got the file {self.folder}; name another path")
        if not isinstance(self.dtype, torch.dtype) or not self.dtype.is_floating_point:
            raise ValueError(f"dtype must be a float type, such as torch.float32, got {self.dtype!r}")

    def __call__(self, data: Data | Sequence[Data]) -> Data | list[Data]:
        """Return copies of a graph or of a list of graphs, with eigenpairs."""
        if isinstance(data, Data | HeteroData):
            return self.forward(data)
        graphs = list(data)
        if strange := [graph for graph in graphs if not isinstance(graph, Data | HeteroData)]:
            raise ValueError(f"expected a graph of torch_geometric (Data), or a list, got {strange[0]!r}")
        sizes = [graph.num_nodes or 0 for graph in graphs]  # num_nodes is None where no attribute implies it
        parts = list(_chunks(sizes))
        shown = track(parts, "eigenpairs", disable=not self.progress or len(parts) < 2)
        found = [self._of(graphs[begin:end], sizes[begin:end]) for begin, end in shown]
        width = max((pairs.values.shape[1] for pairs in found), default=0)
        added: list[Data] = []
        for (begin, end), pairs in zip(parts, found, strict=True):
            missing = (0, width - pairs.values.shape[1])
            vectors = torch.nn.functional.pad(pairs.vectors, missing).split(sizes[begin:end])
            values = torch.nn.functional.pad(pairs.values, missing).split(1)
            added += map(self._with, graphs[begin:end], vectors, values)
        return added

    @override
    def forward(self, data: Data) -> Data:
        return self([data])[0]

    def _of(self, graphs: Sequence[Data], sizes: Sequence[int]) -> Eigenpairs:
        edges, batch, weights = _joined(graphs, sizes)
        settings = f"{self.laplacian!r} {self.count} {self.whole_eigenspaces} {self.dtype}"
        path = None
        if self.folder is not None:
            path = Path(self.folder) / f"{content_key(settings, edges, batch, weights)}.safetensors"
            if path.exists():
                return load_eigenpairs(path, nodes=len(batch), graphs=len(graphs))
        pairs = eigenpairs(
            edges,
            batch,
            laplacian=self.laplacian,
            count=self.count,
            whole_eigenspaces=self.whole_eigenspaces,
            edge_weight=weights,
        )
        pairs = Eigenpairs(vectors=pairs.vectors.to(self.dtype), values=pairs.values)
        if path is not None:
            save_eigenpairs(pairs, path)
        return pairs

    def _with(self, graph: Data, vectors: Tensor, values: Tensor) -> Data:
        added = copy.copy(graph)
        # Before the tensors: a batch is made in the order of attributes.
        cut = ", whole eigenspaces" if self.whole_eigenspaces else ""
        settings = f"{values.shape[1]} columns of {self.laplacian!r}{cut}{ADVICE}"
        added.eigenpairs = EigenpairSettings({settings: None})
        added.eigenvectors = vectors
        added.eigenvalues = values
        return added


class EigenpairSettings(dict[str, None]):
    """Settings of a graph's eigenpairs, as the only key of a dictionary.

    torch_geometric batches dictionaries key by key, and takes the keys of the first graph. So a graph with
    other settings is found there. After `Data.clone`, `Data.to` or an `InMemoryDataset` it is a plain
    dictionary, and the error a `KeyError` of the settings, which say themselves what to do.

    Raises:
        ValueError: when asked for other settings.

    Example:
        >>> settings = EigenpairSettings({f"8 columns of Symmetric(){ADVICE}": None})
        >>> settings[f"8 columns of RandomWalk(){ADVICE}"]  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ValueError: expected graphs with equal eigenpairs in a batch, got 8 columns of Symmetric() and 8 ...
    """

    def __missing__(self, other: str) -> None:
        (own,) = (each.removesuffix(ADVICE) for each in self)
        raise ValueError(f"expected graphs with equal eigenpairs in a batch, got {own} and {other}")


def _chunks(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield ranges of graphs that fit the memory together."""
    begin = nodes = widest = 0
    for number, size in enumerate(sizes):
        nodes, widest = nodes + size, max(widest, size)
        if number > begin and (number - begin >= GRAPHS_OF_A_CHUNK or nodes * widest > ENTRIES_OF_A_CHUNK):
            yield begin, number
            begin, nodes, widest = number, size, size
    if begin < len(sizes):
        yield begin, len(sizes)


def _joined(graphs: Sequence[Data], sizes: Sequence[int]) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return the edges, the graph of each node, and the weights, or None where graphs have none."""
    if any(isinstance(graph, HeteroData) for graph in graphs):
        raise ValueError(
            "expected graphs with one kind of node, got HeteroData, which has no single Laplacian; give "
            "data.to_homogeneous(), or the subgraph of one kind of node and edge"
        )
    if any(isinstance(graph, Batch) for graph in graphs):
        raise ValueError("expected graphs, got a Batch of several; give the list, batch.to_data_list()")
    empty = [number for number, size in enumerate(sizes) if not size]
    if empty:
        raise ValueError(
            f"expected graphs with nodes, got none in graph {empty[0]}; leave it out, or set its num_nodes"
        )
    none = torch.zeros(2, 0, dtype=torch.long)
    parts = [none if graph.edge_index is None else graph.edge_index for graph in graphs]
    if any(part.dim() != 2 or len(part) != 2 for part in parts):
        raise ValueError("expected edge_index of shape (2, m) in all graphs, got another shape")
    edges = torch.cat(parts, dim=1)
    nodes = torch.tensor(sizes, device=edges.device)
    counts = torch.tensor([part.shape[1] for part in parts], device=edges.device)
    owner = torch.arange(len(sizes), device=edges.device)
    graph = owner.repeat_interleave(counts)
    outside = ((edges < 0) | (edges >= nodes[graph])).any(0)
    if bool(outside.any()):
        number = int(graph[outside][0])
        raise ValueError(f"expected edges between nodes 0 to {sizes[number] - 1} in graph {number}")
    if any(_has_weights_elsewhere(graph) for graph in graphs):
        warnings.warn(
            "graphs have one number for each edge in edge_attr, which the Laplacian does not see; if these "
            "are weights, call them edge_weight",
            stacklevel=4,
        )
    weights = [graph.edge_weight for graph in graphs]
    missing = sum(weight is None for weight in weights)
    if missing not in (0, len(graphs)):
        raise ValueError(f"expected an edge_weight in all graphs or in none, got none in {missing}")
    for number, (weight, part) in enumerate(zip(weights, parts, strict=True)):
        if weight is not None and weight.shape != part.shape[1:]:
            shapes = f"({part.shape[1]},), one for each edge, got {tuple(weight.shape)}"
            raise ValueError(f"expected edge_weight of graph {number} in the shape {shapes}")
    starts = nodes.cumsum(0) - nodes
    return edges + starts[graph], owner.repeat_interleave(nodes), None if missing else torch.cat(weights)


def _has_weights_elsewhere(graph: Data) -> bool:
    """Return whether `edge_attr` looks like weights: floats, one for each edge, and no `edge_weight`."""
    given = graph.edge_attr if graph.edge_weight is None else None
    return isinstance(given, Tensor) and given.is_floating_point() and given.numel() == graph.num_edges > 0
