"""Random graphs: Erdős–Rényi graphs, trees, regular graphs, and graphs with a given number of edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

Edges = NDArray[np.int64]
"""Edges of a graph without loops, (m, 2), each once."""


def erdos_renyi(nodes: int, generator: np.random.Generator, *, chance: float) -> Edges:
    """Draw G(n, p): each pair of nodes is an edge with probability `chance`, independently.

    Example:
        >>> erdos_renyi(3, np.random.default_rng(0), chance=1.0).tolist()
        [[0, 1], [0, 2], [1, 2]]
    """
    pairs = _all_pairs(nodes)
    return pairs[generator.random(len(pairs)) < chance]


def sparse(nodes: int, generator: np.random.Generator, *, degree: float) -> Edges:
    """Draw G(n, degree / n), in which the expected degree does not grow with n.

    Example:
        >>> sparse(3, np.random.default_rng(0), degree=0.0).tolist()
        []
    """
    return erdos_renyi(nodes, generator, chance=min(1.0, degree / nodes))


def labeled_tree(nodes: int, generator: np.random.Generator) -> Edges:
    """Draw one of the n^(n - 2) trees on n labeled nodes, all with the same probability.

    Source: Prüfer (1918): the trees correspond to the sequences of n - 2 nodes.

    Example:
        >>> labeled_tree(2, np.random.default_rng(0)).tolist()
        [[0, 1]]
    """
    code = generator.integers(nodes, size=max(0, nodes - 2)).tolist()
    missing = np.bincount(code, minlength=nodes)  # neighbors that a node still gets before it is a leaf
    leaves = [node for node in range(nodes) if not missing[node]]  # sorted, so a heap
    edges = []
    for node in code:
        edges.append((heappop(leaves), node))
        missing[node] -= 1
        if not missing[node]:
            heappush(leaves, node)
    if nodes > 1:
        edges.append((heappop(leaves), heappop(leaves)))
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def regular(nodes: int, generator: np.random.Generator, *, degree: int) -> Edges:
    """Draw a graph in which all nodes have the same degree, all such graphs with the same probability.

    The ends of the edges are paired at random until there is neither a loop nor a double edge, which takes
    about exp((d^2 - 1) / 4) trials: so the degree must be small.

    Raises:
        ValueError: for an odd number of ends, or a degree that n nodes cannot have.

    Source: Bollobás (1980).

    Example:
        >>> np.bincount(regular(6, np.random.default_rng(0), degree=3).flatten()).tolist()
        [3, 3, 3, 3, 3, 3]
    """
    if not 0 <= degree < nodes or nodes * degree % 2:
        raise ValueError(
            f"expected a degree below the number of nodes and an even product of both, got degree {degree} "
            f"and {nodes} nodes"
        )
    ends = np.arange(nodes).repeat(degree)
    while True:
        pairs = np.sort(generator.permutation(ends).reshape(-1, 2), axis=1)
        numbers = pairs[:, 0] * nodes + pairs[:, 1]
        if (pairs[:, 0] < pairs[:, 1]).all() and len(np.unique(numbers)) == len(numbers):
            return pairs


def with_edges(nodes: int, edges: int, generator: np.random.Generator) -> Edges:
    """Draw G(n, m): one of the graphs with n nodes and m edges, all with the same probability.

    Example:
        >>> with_edges(3, 3, np.random.default_rng(0)).tolist()
        [[0, 1], [0, 2], [1, 2]]
    """
    pairs = _all_pairs(nodes)
    return pairs[np.sort(generator.choice(len(pairs), size=edges, replace=False))]


def connected_with_edges(nodes: int, edges: int, generator: np.random.Generator) -> Edges:
    """Draw a connected graph with n nodes and m edges: a tree, and m - n + 1 of the other pairs.

    Not all connected graphs have the same probability: it grows with the number of spanning trees. With fewer
    than n - 1 edges no graph is connected, and some edges of a tree are drawn.

    Example:
        >>> with_more = connected_with_edges(5, 6, np.random.default_rng(0))
        >>> len(with_more), np.unique(with_more).tolist()
        (6, [0, 1, 2, 3, 4])
    """
    tree = np.sort(labeled_tree(nodes, generator), axis=1)
    if edges < len(tree):
        return tree[generator.permutation(len(tree))[:edges]]
    pairs = _all_pairs(nodes)
    in_tree = np.isin(pairs @ [nodes, 1], tree @ [nodes, 1])
    return np.concatenate([tree, generator.permutation(pairs[~in_tree])[: edges - len(tree)]])


def _all_pairs(nodes: int) -> Edges:
    return np.stack(np.triu_indices(nodes, k=1), axis=1)


HALF, FIFTH, TENTH, SPARSE = "G(n, 1/2)", "G(n, 1/5)", "G(n, 1/10)", "G(n, 2/n)"
TREES, REGULAR = "trees", "3-regular graphs"
KINDS: Mapping[str, Callable[[int, np.random.Generator], Edges]] = {
    HALF: partial(erdos_renyi, chance=0.5),
    FIFTH: partial(erdos_renyi, chance=0.2),
    TENTH: partial(erdos_renyi, chance=0.1),
    SPARSE: partial(sparse, degree=2.0),
    TREES: labeled_tree,
    REGULAR: partial(regular, degree=3),
}
"""Kinds of random graphs, and the function that draws one with n nodes."""
