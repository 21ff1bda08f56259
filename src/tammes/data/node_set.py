"""The nodes of one large graph, with features and a label for each node."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.utils.data import Dataset

from tammes.checks import check_indices, check_shape
from tammes.data.graph_set import check_columns, with_named_columns
from tammes.data.labels import Rows, at_least_two_classes, check_names_and_labels, row_of, rows_of
from tammes.data.neighbor_sampling import neighborhood
from tammes.data.node_batch import NodeBatch


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NodeSet(Dataset[tuple[NodeBatch, int]]):
    """Set of n nodes of one undirected graph; item i is `(batch, i)`, the node within the whole graph.

    A part of the set (`subset`) has fewer rows in the same graph: an encoder sees the neighbors of a row
    whether they are rows or not, without their labels.

    Args:
        features: (nodes, width) features of all nodes of the graph.
        columns: names of the features, without repetition.
        starts: (nodes + 1,) index of each node's first neighbor, and the number of all at the end.
        neighbors: (edges,) neighbors of all nodes, one node after the other; an edge is listed at both ends.
        nodes: (n,) node that each row is.
        names: n names of the rows.
        labels: (n,) class of each row, an index into `classes`; None without labels.
        classes: names of the classes; None without labels.
        skipped: names of what was found beside the nodes and left out.

    Raises:
        ValueError: If the numbers of rows, names and labels differ, lengths do not match, a node is not in
            the graph, two features have one name, a feature is not finite, or the graph has no edges.

    Example:
        >>> of = torch.tensor
        >>> path = NodeSet(
        ...     features=torch.ones(3, 1), columns=("one",), starts=of([0, 1, 3, 4]),
        ...     neighbors=of([1, 0, 2, 1]), nodes=of([0, 1, 2]), names=("a", "b", "c"),
        ... )
        >>> path, path.subset([2]).batch([0]).roots
        (NodeSet(3 nodes of a graph of 3, no labels), tensor([2]))
    """

    features: Float[Tensor, "nodes width"]
    columns: tuple[str, ...]
    starts: Int64[Tensor, " nodes_and_one"]
    neighbors: Int64[Tensor, " edges"]
    nodes: Int64[Tensor, " n"]
    names: tuple[str, ...]
    labels: Int64[Tensor, " n"] | None = None
    classes: tuple[str, ...] | None = None
    skipped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n, size = len(self.nodes), len(self.features)
        check_names_and_labels(n, item="node", names=self.names, labels=self.labels, classes=self.classes)
        check_shape("features", self.features.shape, (None, len(self.columns)))
        check_columns(self.columns)
        edges = len(self.neighbors)
        if len(self.starts) != size + 1 or int(self.starts[0]) != 0 or int(self.starts[-1]) != edges:
            raise ValueError(
                f"expected {size + 1} starts from 0 to {edges} for {size} nodes, got {len(self.starts)}"
            )
        if edges == 0:
            raise ValueError("expected edges between the nodes, got none")
        if bool((self.starts.diff() < 0).any()):
            raise ValueError("expected starts that never fall")
        check_indices("neighbors, nodes of the graph,", self.neighbors, size)
        check_indices("nodes, rows of the graph,", self.nodes, size)
        finite = self.features.isfinite().all(1)
        if not bool(finite.all()):
            raise ValueError(
                f"expected finite features, got NaN or infinity of node {int((~finite).nonzero()[0])}, "
                "counted from 0"
            )

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, index: int) -> tuple[NodeBatch, int]:
        row = row_of(index, len(self))
        return self.batch([row]), row

    @property
    def degrees(self) -> Int64[Tensor, " n"]:
        """Number of neighbors of each row."""
        return self.starts.diff()[self.nodes]

    @property
    def digest(self) -> str:
        """Checksum of the graph, its features and the rows."""
        digest = hashlib.sha256("\0".join(self.columns).encode(errors="surrogatepass"))
        for tensor in (self.features, self.starts, self.neighbors, self.nodes):
            digest.update(tensor.contiguous().numpy().tobytes())
        return digest.hexdigest()[:12]

    def batch(self, rows: Rows) -> NodeBatch:
        """Return the whole graph, with these rows as its roots."""
        size = len(self.features)
        targets = torch.arange(size).repeat_interleave(self.starts.diff())
        return NodeBatch(
            features=self.features,
            edges=torch.stack([self.neighbors, targets]),
            owner=torch.zeros(size, dtype=torch.int64),
            count=1,
            roots=self.nodes[rows_of(rows, len(self))],
        )

    def around(self, rows: Rows, fanouts: Sequence[int]) -> NodeBatch:
        """Return a sample of the neighborhoods of these rows.

        The draws depend on the rows and their order alone: equal batches have equal samples, in any process.

        Args:
            rows: rows of the set.
            fanouts: largest number of neighbors of a node at each hop.
        """
        roots = self.nodes[rows_of(rows, len(self))]
        seed = int.from_bytes(hashlib.sha256(roots.numpy().tobytes()).digest()[:7], "little")
        generator = torch.Generator().manual_seed(seed)
        found = neighborhood(self.starts, self.neighbors, roots, fanouts, generator=generator)
        return NodeBatch(
            features=self.features[found.nodes],
            edges=found.edges,
            owner=torch.zeros_like(found.nodes),
            count=1,
            roots=found.roots,
            hops=found.hops,
        )

    def subset(self, indices: Rows) -> NodeSet:
        """Return the rows with these indices, in this order, in the same graph."""
        rows = rows_of(indices, len(self)).tolist()
        return replace(
            self,
            nodes=self.nodes[rows],
            names=tuple(self.names[row] for row in rows),
            labels=None if self.labels is None else self.labels[rows],
        )

    def with_columns(self, columns: Sequence[str]) -> NodeSet:
        """Return the same nodes with these features in this order; a feature that no node has is 0.

        Raises:
            ValueError: If a node has a feature that is not among them.
        """
        features = with_named_columns(self.features, self.columns, columns)
        return replace(self, features=features, columns=tuple(columns))

    def required_labels(self) -> Int64[Tensor, " n"]:
        """Return the labels, for uses that need them.

        Raises:
            ValueError: If the nodes have no labels, or all the same.
        """
        if self.labels is None:
            raise ValueError(
                "expected nodes with labels, got nodes without: give nodes.csv a column label, or y to the "
                "graph of torch_geometric"
            )
        return at_least_two_classes(self.labels, self.classes, item="node")

    def __repr__(self) -> str:
        labels = "no labels" if self.classes is None else f"{len(self.classes)} classes"
        return f"NodeSet({len(self)} nodes of a graph of {len(self.features)}, {labels})"
