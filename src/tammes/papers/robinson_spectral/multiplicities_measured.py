"""The multiplicities of the eigenvalues of some graphs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tammes.spectral import RelativeGap, eigenpairs, eigenvector_mask

AT_ONCE = 2**15
"""Nodes of the graphs that are decomposed together."""
Graph = tuple[Tensor, int]
"""Edges, both ways, and how many nodes."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Eigenspaces of some graphs; percentages are of graphs with a repeated one, and of vectors in such."""

    graphs: int
    least_nodes: int
    most_nodes: int
    multiplicity: int
    percent_graphs: float
    distinct: int
    multiplicities: int
    percent_vectors: float
    decades: float


def measure(graphs: Sequence[Graph]) -> Measured:
    """The eigenspaces of some graphs.

    >>> triangle = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
    >>> measured = measure([(triangle, 3)])
    >>> measured.multiplicity, measured.distinct, round(measured.percent_vectors, 1)
    (2, 2, 66.7)
    """
    dimensions: list[Tensor] = []
    repeated, decades = 0, torch.inf
    for part in _parts(sorted(graphs, key=lambda graph: graph[1])):
        sizes = torch.tensor([size for _, size in part])
        starts = sizes.cumsum(0) - sizes
        batch = torch.arange(len(part)).repeat_interleave(sizes)
        edges = torch.cat([edges + start for (edges, _), start in zip(part, starts, strict=True)], dim=1)
        pairs = eigenpairs(edges, batch)
        there = eigenvector_mask(pairs.vectors, batch, len(part))
        spaces = RelativeGap(warn=False)(pairs.values, there)
        first = torch.nn.functional.pad(spaces.number.diff(dim=1) > 0, (1, 0), value=True) & there
        dimensions.append(spaces.dimension[first])
        repeated += int((spaces.dimension > 1).any(dim=1).sum())
        decades = min(decades, float(spaces.margin.min()))
    found = torch.cat(dimensions)
    return Measured(
        graphs=len(graphs),
        least_nodes=min(size for _, size in graphs),
        most_nodes=max(size for _, size in graphs),
        multiplicity=int(found.max()),
        percent_graphs=100 * repeated / len(graphs),
        distinct=len(found),
        multiplicities=len(found.unique()),
        percent_vectors=100 * float(found[found > 1].sum() / found.sum()),
        decades=decades,
    )


def _parts(graphs: Sequence[Graph]) -> Iterator[list[Graph]]:
    """Graphs of ascending size in parts of about equal work."""
    part: list[Graph] = []
    for graph in graphs:
        if part and (len(part) + 1) * graph[1] > AT_ONCE:
            yield part
            part = []
        part.append(graph)
    yield part
