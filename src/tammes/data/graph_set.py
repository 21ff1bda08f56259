"""Sets of graphs with features of their nodes and a label for each graph."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.utils.data import Dataset

from tammes.checks import check_shape
from tammes.data.graph_batch import GraphBatch
from tammes.data.labeled_graphs import rows_within
from tammes.data.labels import Rows, at_least_two_classes, check_names_and_labels, row_of, rows_of

CONSTANT = "one"
"""Name of the only feature of nodes without features: the number 1, as in InfoGraph."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GraphSet(Dataset[tuple[GraphBatch, int]]):
    """Set of n undirected graphs, packed into a few tensors; item i is `(graph, i)`.

    The index of a graph is its id: it tells a node's own graph, its positive, from all others.

    Args:
        features: (nodes, width) features of the nodes of all graphs, one graph after the other.
        columns: names of the features, without repetition.
        edges: (2, edges) nodes that an edge joins, in both directions, numbered from 0 *within* each graph.
        node_starts: (n + 1,) index of each graph's first node, and the number of all nodes at the end.
        edge_starts: (n + 1,) the same for edges.
        names: n names, which say where each graph was found.
        labels: (n,) class of each graph, an index into `classes`; None without labels.
        classes: names of the classes; None without labels.
        skipped: names of what was found beside the graphs and left out.

    Raises:
        ValueError: If the numbers of graphs, names and labels differ, lengths do not match, an edge leaves
            its graph, two features have one name, a feature is not finite, or a graph has no nodes or no
            edges.

    Example:
        >>> of = torch.tensor
        >>> graphs = GraphSet(
        ...     features=torch.ones(5, 1), columns=("one",), edges=of([[0, 1, 0, 2], [1, 0, 2, 0]]),
        ...     node_starts=of([0, 2, 5]), edge_starts=of([0, 2, 4]), names=("a", "b"),
        ... )
        >>> graphs, graphs.batch([1, 0])
        (GraphSet(2 graphs, 5 nodes, no labels), GraphBatch(2 graphs, 5 nodes, 4 edges))
    """

    features: Float[Tensor, "nodes width"]
    columns: tuple[str, ...]
    edges: Int64[Tensor, "2 edges"]
    node_starts: Int64[Tensor, " graphs_and_one"]
    edge_starts: Int64[Tensor, " graphs_and_one"]
    names: tuple[str, ...]
    labels: Int64[Tensor, " n"] | None = None
    classes: tuple[str, ...] | None = None
    skipped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.node_starts) - 1
        check_names_and_labels(n, item="graph", names=self.names, labels=self.labels, classes=self.classes)
        check_shape("edges", self.edges.shape, (2, None))
        check_shape("features", self.features.shape, (None, len(self.columns)))
        check_columns(self.columns)
        for name, starts, end in (
            ("node_starts", self.node_starts, len(self.features)),
            ("edge_starts", self.edge_starts, self.edges.shape[1]),
        ):
            if len(starts) != n + 1 or int(starts[0]) != 0 or int(starts[-1]) != end:
                raise ValueError(f"expected {n + 1} {name} from 0 to {end} for {n} graphs, got {len(starts)}")
        for what, sizes in (("nodes", self.sizes), ("edges", self.edge_starts.diff())):
            if bool((sizes < 1).any()):
                name = self.names[int((sizes < 1).nonzero()[0])]
                raise ValueError(f"expected {what} in every graph, got none in {name}: leave it out")
        outside = (self.edges < 0) | (self.edges >= self.sizes.repeat_interleave(self.edge_starts.diff()))
        if bool(outside.any()):
            edge = int(outside.any(0).nonzero()[0])
            graph = int(torch.searchsorted(self.edge_starts, edge, right=True)) - 1
            raise ValueError(
                f"expected edges between the {int(self.sizes[graph])} nodes of {self.names[graph]}, got one "
                f"of node {int(self.edges[:, edge].max())}, counted from 0"
            )
        finite = self.features.isfinite().all(1)
        if not bool(finite.all()):
            node = int((~finite).nonzero()[0])
            graph = int(torch.searchsorted(self.node_starts, node, right=True)) - 1
            raise ValueError(f"expected finite features, got NaN or infinity in {self.names[graph]}")

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> tuple[GraphBatch, int]:
        row = row_of(index, len(self))
        return self.batch([row]), row

    @property
    def sizes(self) -> Int64[Tensor, " n"]:
        """Number of nodes of each graph."""
        return self.node_starts.diff()

    @property
    def digest(self) -> str:
        """Checksum of nodes, edges and features."""
        digest = hashlib.sha256("\0".join(self.columns).encode(errors="surrogatepass"))
        for tensor in (self.features, self.edges, self.node_starts, self.edge_starts):
            digest.update(tensor.contiguous().numpy().tobytes())
        return digest.hexdigest()[:12]

    def batch(self, rows: Rows) -> GraphBatch:
        """Return the disjoint union of the graphs with these indices, in this order.

        Raises:
            IndexError: If an index is out of range; -1 is the last graph.
        """
        chosen = rows_of(rows, len(self))
        node_rows, node_starts = rows_within(self.node_starts, chosen)
        edge_rows, edge_starts = rows_within(self.edge_starts, chosen)
        shifts = node_starts[:-1].repeat_interleave(edge_starts.diff())
        return GraphBatch(
            features=self.features[node_rows],
            edges=self.edges[:, edge_rows] + shifts,
            owner=torch.arange(len(chosen)).repeat_interleave(node_starts.diff()),
            count=len(chosen),
        )

    def subset(self, indices: Rows) -> GraphSet:
        """Return the graphs with these indices, in this order, renumbered from 0.

        Raises:
            IndexError: If an index is out of range; -1 is the last graph.
        """
        chosen = rows_of(indices, len(self))
        node_rows, node_starts = rows_within(self.node_starts, chosen)
        edge_rows, edge_starts = rows_within(self.edge_starts, chosen)
        return replace(
            self,
            features=self.features[node_rows],
            edges=self.edges[:, edge_rows],
            node_starts=node_starts,
            edge_starts=edge_starts,
            names=tuple(self.names[row] for row in chosen.tolist()),
            labels=None if self.labels is None else self.labels[chosen],
        )

    def with_columns(self, columns: Sequence[str]) -> GraphSet:
        """Return the same graphs with these features in this order; a feature that no node has is 0.

        Raises:
            ValueError: If a node has a feature that is not among them.

        Example:
            >>> graphs = GraphSet(
            ...     features=torch.ones(2, 1), columns=("label 6",), edges=torch.tensor([[0, 1], [1, 0]]),
            ...     node_starts=torch.tensor([0, 2]), edge_starts=torch.tensor([0, 2]), names=("a",),
            ... )
            >>> graphs.with_columns(["label 1", "label 6"]).features.tolist()
            [[0.0, 1.0], [0.0, 1.0]]
        """
        features = with_named_columns(self.features, self.columns, columns)
        return replace(self, features=features, columns=tuple(columns))

    def required_labels(self) -> Int64[Tensor, " n"]:
        """Return the labels, for uses that need them.

        Raises:
            ValueError: If the graphs have no labels, or all the same.
        """
        return required_graph_labels(self.labels, self.classes)

    def __repr__(self) -> str:
        labels = "no labels" if self.classes is None else f"{len(self.classes)} classes"
        return f"GraphSet({len(self)} graphs, {len(self.features)} nodes, {labels})"


def check_columns(columns: Sequence[str]) -> None:
    """Raise ValueError if two features have one name.

    Example:
        >>> check_columns(["size", "age", "size"])
        Traceback (most recent call last):
            ...
        ValueError: expected each feature once among the columns, got 'size' twice: rename one of them
    """
    if len(set(columns)) < len(columns):
        twice = next(name for name, count in Counter(columns).items() if count > 1)
        raise ValueError(
            f"expected each feature once among the columns, got {twice!r} twice: rename one of them"
        )


def required_graph_labels(
    labels: Int64[Tensor, " n"] | None, classes: tuple[str, ...] | None
) -> Int64[Tensor, " n"]:
    """Return the labels of graphs, for uses that need them.

    Raises:
        ValueError: If there are none, or all are the same.
    """
    if labels is None:
        raise ValueError(
            "expected graphs with labels, got graphs without: name a file labels.csv with the columns graph "
            "and label, a data set of the TU collection, or a table with the column y"
        )
    return at_least_two_classes(labels, classes, item="graph")


def with_named_columns(
    features: Float[Tensor, "nodes width"], names: Sequence[str], wanted: Sequence[str]
) -> Float[Tensor, "nodes wanted"]:
    """Return the features in another order, with zeros for those that are wanted and not there.

    Args:
        features: features of the nodes.
        names: name of each feature.
        wanted: names of the features in the wanted order.

    Raises:
        ValueError: If there is a feature that is not wanted.

    Example:
        >>> with_named_columns(torch.ones(1, 1), ["b"], ["a", "b"])
        tensor([[0., 1.]])
    """
    unknown = [name for name in names if name not in wanted]
    if unknown:
        raise ValueError(
            f"expected node features among {', '.join(wanted)}, got {', '.join(unknown)}: the encoder was "
            "trained without them"
        )
    found = features.new_zeros(len(features), len(wanted))
    found[:, [list(wanted).index(name) for name in names]] = features
    return found
