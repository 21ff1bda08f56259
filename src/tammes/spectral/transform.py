"""The torch_geometric transform that adds Laplacian eigenpairs to graphs, and keeps them on disk."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from rich.progress import track
from torch import Tensor

from tammes.spectral.counts import check_count
from tammes.spectral.eigenpairs import Eigenpairs, eigenpairs
from tammes.spectral.kept_eigenpairs import content_key, keep, kept
from tammes.spectral.laplacian import Laplacian, Symmetric

try:
    from torch_geometric.data import Data
    from torch_geometric.transforms import BaseTransform
except ImportError as error:
    raise ImportError('AddEigenpairs needs torch_geometric: pip install "tammes[graphs]"') from error

TOGETHER = 1024
"""Graphs that are decomposed, and kept in a file, together."""

AT_ONCE = 2**24
"""Entries of their eigenvectors, padded to the largest graph: 128 MiB of float64."""


@dataclass(frozen=True, kw_only=True)
class AddEigenpairs(BaseTransform):
    """Sets `eigenvectors`, (nodes, k), and `eigenvalues`, (1, k), of torch_geometric's graphs.

    What there is beyond a graph's own number of eigenpairs is 0, so that graphs batch as they are: the batch
    has `eigenvectors` (nodes, k) and `eigenvalues` (graphs, k). Call it on a list of graphs: those of equal
    size are decomposed together. As `pre_transform` or `transform` of a data set it sees one graph at a time,
    and needs a `count` for the graphs to batch.

    Eigenvalues stay float64, so that equal ones can be told from close ones.

    Args:
        count: how many eigenpairs, k; left out, all of them, as many as the largest graph has nodes.
        laplacian: of which matrix; `edge_weight` counts where graphs have it.
        dtype: of the eigenvectors.
        folder: where eigenpairs are kept, under a name that is a hash of the graphs and settings; left out,
            nowhere. A file that is there is read instead of computed anew.
        progress: whether a bar is shown for a list.

    Raises:
        ImportError: where torch_geometric is missing.
        ValueError: for a count below 1, and, when called, what `eigenpairs` refuses.

    Example:
        >>> from torch_geometric.data import Batch, Data
        >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> edge = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
        >>> batch = Batch.from_data_list(AddEigenpairs()([path, edge]))
        >>> batch.eigenvectors.shape, batch.eigenvalues.round(decimals=6).abs().tolist()
        (torch.Size([5, 3]), [[0.0, 1.0, 2.0], [0.0, 2.0, 0.0]])
    """

    count: int | None = None
    laplacian: Laplacian = field(default_factory=Symmetric)
    dtype: torch.dtype = torch.float32
    folder: Path | None = field(default=None, repr=False)
    progress: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        if self.count is not None:
            check_count("count", self.count)

    def __call__(self, data: Data | Sequence[Data]) -> Data | list[Data]:
        """The same graph, or graphs, with eigenpairs; what came is not changed."""
        if isinstance(data, Data):
            return self.forward(data)
        graphs = list(data)
        parts = list(_parts(graphs))
        shown = track(parts, "eigenpairs", disable=not self.progress or len(parts) < 2)
        found = [self._of(graphs[begin:end]) for begin, end in shown]
        width = max((pairs.values.shape[1] for pairs in found), default=0)
        added: list[Data] = []
        for (begin, end), pairs in zip(parts, found, strict=True):
            missing = (0, width - pairs.values.shape[1])
            values = torch.nn.functional.pad(pairs.values, missing)
            vectors = torch.nn.functional.pad(pairs.vectors, missing)
            sizes = [graph.num_nodes for graph in graphs[begin:end]]
            rows = zip(graphs[begin:end], vectors.split(sizes), values.split(1), strict=True)
            added += [_with(graph, *pair) for graph, *pair in rows]
        return added

    def forward(self, data: Data) -> Data:
        """One graph with its eigenpairs."""
        pairs = self._of([data])
        return _with(data, pairs.vectors, pairs.values)

    def _of(self, graphs: Sequence[Data]) -> Eigenpairs:
        edges, batch, weights = _joined(graphs)
        settings = f"{self.laplacian!r} {self.count} {self.dtype}"
        path = None
        if self.folder is not None:
            path = self.folder / f"{content_key(settings, edges, batch, weights)}.safetensors"
            if path.exists():
                return kept(path)
        pairs = eigenpairs(edges, batch, laplacian=self.laplacian, count=self.count, edge_weight=weights)
        pairs = Eigenpairs(vectors=pairs.vectors.to(self.dtype), values=pairs.values)
        if path is not None:
            keep(pairs, path)
        return pairs


def _parts(graphs: Sequence[Data]) -> Iterator[tuple[int, int]]:
    """Ranges of graphs that fit the memory together."""
    begin = nodes = widest = 0
    for number, graph in enumerate(graphs):
        nodes, widest = nodes + graph.num_nodes, max(widest, graph.num_nodes)
        if number > begin and (number - begin >= TOGETHER or nodes * widest > AT_ONCE):
            yield begin, number
            begin, nodes, widest = number, graph.num_nodes, graph.num_nodes
    if begin < len(graphs):
        yield begin, len(graphs)


def _joined(graphs: Sequence[Data]) -> tuple[Tensor, Tensor, Tensor | None]:
    """Edges, the graph of each node, and the weights where graphs have them."""
    edges, owners, start = [], [], 0
    weighted = sum(graph.edge_weight is not None for graph in graphs)
    if weighted not in (0, len(graphs)):
        raise ValueError(f"expected an edge_weight in all graphs or in none, got one in {weighted}")
    for number, graph in enumerate(graphs):
        if not graph.num_nodes:
            raise ValueError(f"expected graphs with nodes, got none in graph {number}; leave it out")
        own = graph.edge_index
        if own is None:
            own = torch.zeros(2, 0, dtype=torch.long)
        elif own.numel() and int(own.max()) >= graph.num_nodes:
            raise ValueError(
                f"expected edges between nodes 0 to {graph.num_nodes - 1} in graph {number}, got "
                f"{int(own.max())}"
            )
        edges.append(own + start)
        owners.append(torch.full((graph.num_nodes,), number, device=own.device))
        start += graph.num_nodes
    weights = torch.cat([graph.edge_weight for graph in graphs]) if weighted else None
    return torch.cat(edges, dim=1), torch.cat(owners), weights


def _with(graph: Data, vectors: Tensor, values: Tensor) -> Data:
    added = copy.copy(graph)
    added.eigenvectors = vectors
    added.eigenvalues = values
    return added
