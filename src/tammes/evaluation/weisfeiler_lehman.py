"""Color refinement (Weisfeiler and Lehman): a kernel of graphs, and graphs that it cannot tell apart.

Both cost no training. Message passing distinguishes no more than color refinement does, so graphs of equal
colors, isomorphic ones among them, have equal features under every such encoder.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from tammes.checks import check_integer
from tammes.data.graph_batch import GraphBatch
from tammes.data.graph_set import GraphSet
from tammes.evaluation.cross_validation import CrossValidation

MOST_DEGREE = 63
"""Degree that the last bin of `degree_histograms` counts, with all larger ones."""
_FACTORS = (-7046029254386353131, -4658895280553007687)


def refined(colors: Int64[Tensor, " nodes"], batch: GraphBatch) -> Int64[Tensor, " nodes"]:
    """Return the colors after one step: those of a node and of its neighbors, numbered from 0.

    A multiset of colors is identified by the sum of 64-bit hashes, which takes no sorting. Different
    multisets have equal sums with a probability of about 1e-19 a pair.

    Args:
        colors: color of each node, from 0.
        batch: graphs.

    Example:
        >>> batch = GraphBatch(
        ...     features=torch.ones(3, 1), edges=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        ...     owner=torch.zeros(3, dtype=torch.long), count=1,
        ... )
        >>> a, b, c = refined(torch.zeros(3, dtype=torch.long), batch).tolist()
        >>> a == c, a == b
        (True, False)
    """
    hashes = _hashed(colors)
    sums = torch.zeros_like(hashes).index_add_(0, batch.edges[1], hashes[batch.edges[0]])
    return (_hashed(colors + 1) * _FACTORS[1] + sums).unique(return_inverse=True)[1]


def first_colors(batch: GraphBatch) -> Int64[Tensor, " nodes"]:
    """Return a color for each different row of node features."""
    return batch.features.unique(dim=0, return_inverse=True)[1]


def _hashed(numbers: Tensor) -> Tensor:
    mixed = (numbers + 1) * _FACTORS[0]
    mixed = (mixed ^ ((mixed >> 29) & (2**35 - 1))) * _FACTORS[1]
    return mixed ^ ((mixed >> 32) & (2**32 - 1))


def wl_features(graphs: GraphSet, *, iterations: int = 5) -> Float[Tensor, "n n"]:
    """Return features whose inner products are the normalized Weisfeiler-Lehman subtree kernel.

        k(G, G') = <c(G), c(G')> ,    c the counts of all colors after 0, ..., h steps,    K = k / sqrt(k k')

    The features are K^(1/2); with a linear classifier on them its kernel is K. K is dense, and takes memory
    of n^2 and a time of n^3.

    Args:
        graphs: n graphs.
        iterations: number h of steps.

    Source: Shervashidze et al., Weisfeiler-Lehman Graph Kernels, 2011.

    Example:
        >>> graphs = GraphSet(
        ...     features=torch.ones(4, 1), columns=("one",), edges=torch.tensor([[0, 1, 0, 1], [1, 0, 1, 0]]),
        ...     node_starts=torch.tensor([0, 2, 4]), edge_starts=torch.tensor([0, 2, 4]), names=("a", "b"),
        ... )
        >>> features = wl_features(graphs)
        >>> (features @ features.T).round(decimals=4).tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    from scipy import sparse

    check_integer("iterations", iterations, minimum=0)
    batch = graphs.batch(range(len(graphs)))
    colors, owner = first_colors(batch), batch.owner.numpy()
    kernel = np.zeros((len(graphs), len(graphs)))
    for step in range(iterations + 1):
        if step:
            colors = refined(colors, batch)
        ones = np.ones(len(owner))
        counts = sparse.csr_matrix(
            (ones, (owner, colors.numpy())), shape=(len(graphs), int(colors.max()) + 1)
        )
        kernel += (counts @ counts.T).toarray()
    length = np.sqrt(np.diag(kernel))
    values, vectors = np.linalg.eigh(kernel / np.outer(length, length))
    root = vectors * np.sqrt(np.clip(values, 0, None)) @ vectors.T
    return torch.from_numpy(root)


def degree_histograms(graphs: GraphSet) -> Float[Tensor, "n bins"]:
    """Return the number of nodes of each degree, and the sum of the features of the nodes.

    The last bin counts all degrees from 63 on.

    Example:
        >>> graphs = GraphSet(
        ...     features=torch.ones(3, 1), columns=("one",), edges=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        ...     node_starts=torch.tensor([0, 3]), edge_starts=torch.tensor([0, 4]), names=("a",),
        ... )
        >>> degree_histograms(graphs)[0, :3].tolist(), degree_histograms(graphs)[0, -1].item()
        ([0.0, 2.0, 1.0], 3.0)
    """
    batch = graphs.batch(range(len(graphs)))
    place = batch.owner * (MOST_DEGREE + 1) + batch.degrees.clamp(max=MOST_DEGREE)
    counts = torch.bincount(place, minlength=len(graphs) * (MOST_DEGREE + 1)).float()
    return torch.cat([counts.view(len(graphs), -1), batch.sums(batch.features)], dim=1)


def equal_graphs(graphs: GraphSet) -> Int64[Tensor, " n"]:
    """Return a number for each graph, the same for graphs that color refinement cannot tell apart.

    Isomorphic graphs with the same node features have the same number. A test graph whose double was in the
    training folds is no test.

    Example:
        >>> graphs = GraphSet(
        ...     features=torch.ones(4, 1), columns=("one",), edges=torch.tensor([[0, 1, 0, 1], [1, 0, 1, 0]]),
        ...     node_starts=torch.tensor([0, 2, 4]), edge_starts=torch.tensor([0, 2, 4]), names=("a", "b"),
        ... )
        >>> equal_graphs(graphs).tolist()
        [0, 0]
    """
    batch = graphs.batch(range(len(graphs)))
    colors, count = first_colors(batch), 0
    while count != int(colors.max()) + 1:  # until no color is split any more
        count = int(colors.max()) + 1
        colors = refined(colors, batch)
    prints = torch.zeros(len(graphs), dtype=torch.int64).index_add_(0, batch.owner, _hashed(colors))
    return prints.unique(return_inverse=True)[1]


def distinct(graphs: GraphSet) -> GraphSet:
    """Return the graphs without those that equal an earlier one by `equal_graphs`.

    Example:
        >>> graphs = GraphSet(
        ...     features=torch.ones(4, 1), columns=("one",), edges=torch.tensor([[0, 1, 0, 1], [1, 0, 1, 0]]),
        ...     node_starts=torch.tensor([0, 2, 4]), edge_starts=torch.tensor([0, 2, 4]), names=("a", "b"),
        ... )
        >>> distinct(graphs).names
        ('a',)
    """
    return graphs.subset(first_of_each(equal_graphs(graphs)))


def first_of_each(numbers: Int64[Tensor, " n"]) -> list[int]:
    """Return the first row of each number, in order.

    Example:
        >>> first_of_each(torch.tensor([4, 2, 4]))
        [0, 1]
    """
    rows: dict[int, int] = {}
    for row, number in enumerate(numbers.tolist()):
        rows.setdefault(number, row)
    return list(rows.values())


def leaked(numbers: Int64[Tensor, " n"], train: Int64[Tensor, " a"], test: Int64[Tensor, " b"]) -> int:
    """Return how many test graphs have an equal one among the training graphs.

    Args:
        numbers: number of each graph by `equal_graphs`.
        train: rows to learn from.
        test: rows to classify.

    Example:
        >>> leaked(torch.tensor([0, 1, 0]), torch.tensor([0, 1]), torch.tensor([2]))
        1
    """
    return int(torch.isin(numbers[test], numbers[train]).sum())


def leaked_share(
    numbers: Int64[Tensor, " n"], labels: Int64[Tensor, " n"], validation: CrossValidation
) -> float:
    """Return the share of test graphs with an equal one among the training graphs, over all folds."""
    splits = list(validation.splits(labels))
    return sum(leaked(numbers, train, test) for train, test in splits) / sum(len(test) for _, test in splits)
