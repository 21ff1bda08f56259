"""Random graphs of ten kinds, with three properties of each graph as targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path

from tammes.checks import check_integer
from tammes.data.labeled_graphs import LabeledGraphs

PROPERTIES = ("connected", "diameter", "spectral radius")
"""Targets, in this order; the diameter of a disconnected graph is the largest of its components'."""
LEAST, MOST = 15, 24  # nodes
Adjacency = NDArray[np.bool_]


def graph_properties(count: int, *, generator: np.random.Generator) -> LabeledGraphs:
    """Draw graphs of ten kinds with 15 to 24 nodes, and compute their properties.

    Each pair of nodes is toggled with a small probability, drawn for each graph uniformly between 0 and 0.05,
    so that the kind alone does not determine the properties.

    Args:
        count: number of graphs, at least 1.
        generator: source of all randomness.

    Raises:
        ValueError: If `count` is not an integer of at least 1.

    Source: after Corso et al., Principal Neighbourhood Aggregation, 2020, section 4 and its appendix.
    Differs: nodes have no features, and the graphs come from this generator, not from the paper's.

    Example:
        >>> drawn = graph_properties(5, generator=np.random.default_rng(0))
        >>> len(drawn), drawn.targets.shape
        (5, torch.Size([5, 3]))
    """
    check_integer("count", count)
    shares = [share for share, _ in KINDS.values()]
    kinds = generator.choice(list(KINDS), size=count, p=shares)
    drawn = [_toggled(KINDS[kind][1](_size(generator), generator), generator) for kind in kinds]
    edges = [np.stack(np.nonzero(adjacency)) for adjacency in drawn]
    nodes, pairs = [len(adjacency) for adjacency in drawn], [part.shape[1] for part in edges]
    return LabeledGraphs(
        nodes=torch.zeros(sum(nodes), dtype=torch.long),
        edges=torch.from_numpy(np.concatenate(edges, axis=1)),
        bonds=torch.zeros(sum(pairs), dtype=torch.long),
        node_starts=torch.tensor([0, *nodes]).cumsum(0),
        edge_starts=torch.tensor([0, *pairs]).cumsum(0),
        targets=torch.tensor([properties(adjacency) for adjacency in drawn]),
    )


def properties(adjacency: Adjacency) -> tuple[float, float, float]:
    """Return whether a graph is connected (1 or 0), its diameter and its spectral radius.

    Example:
        >>> tuple(round(value, 3) for value in properties(np.eye(3, k=1) + np.eye(3, k=-1) > 0))
        (1.0, 2.0, 1.414)
    """
    distances = shortest_path(adjacency, unweighted=True)
    reached = np.isfinite(distances)
    radius = np.abs(np.linalg.eigvalsh(adjacency.astype(np.float64))).max()
    return float(reached.all()), float(distances[reached].max()), float(radius)


def _size(generator: np.random.Generator) -> int:
    return int(generator.integers(LEAST, MOST, endpoint=True))


def _toggled(adjacency: Adjacency, generator: np.random.Generator) -> Adjacency:
    n = len(adjacency)
    toggled = np.triu(generator.random((n, n)) < generator.uniform(0, 0.05), k=1)
    return adjacency ^ toggled ^ toggled.T


def _graph(n: int, pairs: list[tuple[int, int]]) -> Adjacency:
    adjacency = np.zeros((n, n), dtype=bool)
    for u, v in pairs:
        adjacency[u, v] = adjacency[v, u] = True
    return adjacency


def _random(n: int, generator: np.random.Generator) -> Adjacency:
    """Draw an Erdős–Rényi graph with a random density."""
    upper = np.triu(generator.random((n, n)) < generator.random(), k=1)
    return upper | upper.T


def _preferential(n: int, generator: np.random.Generator) -> Adjacency:
    """Draw a Barabási–Albert graph: each node is tied to earlier ones with probability by degree."""
    ties = int(generator.integers(1, n // 2))
    adjacency = _graph(n, [(0, v) for v in range(1, ties + 1)])
    for node in range(ties + 1, n):
        degree = adjacency[:node].sum(axis=1).astype(float)
        for other in generator.choice(node, size=ties, replace=False, p=degree / degree.sum()):
            adjacency[node, other] = adjacency[other, node] = True
    return adjacency


def _grid(n: int, generator: np.random.Generator) -> Adjacency:
    rows = int(generator.integers(2, 5))
    columns = n // rows
    across = [(r * columns + c, r * columns + c + 1) for r in range(rows) for c in range(columns - 1)]
    down = [(r * columns + c, (r + 1) * columns + c) for r in range(rows - 1) for c in range(columns)]
    return _graph(rows * columns, across + down)


def _caves(n: int, generator: np.random.Generator) -> Adjacency:
    """Draw a ring of cliques, with one edge between neighbors."""
    size = int(generator.integers(3, 7))
    caves = n // size
    within = [
        (c * size + u, c * size + v) for c in range(caves) for u in range(size) for v in range(u + 1, size)
    ]
    return _graph(caves * size, within + [(c * size, ((c + 1) % caves) * size + 1) for c in range(caves)])


def _tree(n: int, generator: np.random.Generator) -> Adjacency:
    return _graph(n, [(int(generator.integers(node)), node) for node in range(1, n)])


def _ladder(n: int, generator: np.random.Generator) -> Adjacency:
    half = n // 2
    sides = [(node, node + 1) for start in (0, half) for node in range(start, start + half - 1)]
    return _graph(2 * half, sides + [(node, node + half) for node in range(half)])


def _line(n: int, generator: np.random.Generator) -> Adjacency:
    return _graph(n, [(node, node + 1) for node in range(n - 1)])


def _star(n: int, generator: np.random.Generator) -> Adjacency:
    return _graph(n, [(0, node) for node in range(1, n)])


def _caterpillar(n: int, generator: np.random.Generator) -> Adjacency:
    """Draw a path with leaves attached to it."""
    spine = int(generator.integers(2, n))
    hung = [(int(generator.integers(spine)), node) for node in range(spine, n)]
    return _graph(n, [(node, node + 1) for node in range(spine - 1)] + hung)


def _lobster(n: int, generator: np.random.Generator) -> Adjacency:
    """Draw a caterpillar with leaves attached to its leaves."""
    spine = int(generator.integers(2, n - 1))
    middle = int(generator.integers(spine + 1, n))
    hung = [(int(generator.integers(spine)), node) for node in range(spine, middle)]
    outer = [(int(generator.integers(spine, middle)), node) for node in range(middle, n)]
    return _graph(n, [(node, node + 1) for node in range(spine - 1)] + hung + outer)


KINDS: Mapping[str, tuple[float, Callable[[int, np.random.Generator], Adjacency]]] = {
    "random": (0.2, _random),
    "preferential": (0.2, _preferential),
    "grid": (0.05, _grid),
    "caves": (0.05, _caves),
    "tree": (0.15, _tree),
    "ladder": (0.05, _ladder),
    "line": (0.05, _line),
    "star": (0.05, _star),
    "caterpillar": (0.1, _caterpillar),
    "lobster": (0.1, _lobster),
}
"""Share of each kind of graph, as in the paper, and the function that draws one with n nodes."""
