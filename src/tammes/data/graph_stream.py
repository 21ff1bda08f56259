"""Graphs of Hugging Face data sets in streaming mode: read forward, each shard from its beginning."""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor
from torch.utils.data import Dataset

from tammes.checks import check_integer
from tammes.data.graph_batch import GraphBatch
from tammes.data.graph_packing import GraphRow, class_names, graph_row, packed_rows
from tammes.data.graph_set import GraphSet, required_graph_labels, with_named_columns
from tammes.data.labels import Rows, row_of, rows_of
from tammes.data.shards import BUFFER
from tammes.data.stream_reader import StreamReader, is_damage, rows_of_shard

_CHUNK = 256
"""Graphs that are checked at a time."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GraphStream(Dataset[tuple[GraphBatch, int]]):
    """Graphs of a stream, with the face of a `GraphSet`; read quickly in the order of `ShardOrder` only.

    Names, labels and numbers of nodes are in memory, and up to 2 `buffer` graphs.

    Args:
        reader: reader of the stream, with its place in it.
        places: int64 (n, 2), shard and position of each graph.
        names: name of each graph: its shard and position.
        sizes: (n,) number of nodes of each graph.
        columns: names of the features of the nodes.
        digest: checksum of nodes, edges and features.
        buffer: graphs that an epoch mixes with each other, beyond the order of the shards.
        labels: (n,) class of each graph, an index into `classes`; None without labels.
        classes: names of the classes; None without labels.
        skipped: names of what was left out; always empty, since damage is an error.
    """

    reader: StreamReader[GraphRow]
    places: np.ndarray
    names: tuple[str, ...]
    sizes: Int64[Tensor, " n"]
    columns: tuple[str, ...]
    digest: str
    buffer: int
    labels: Int64[Tensor, " n"] | None = None
    classes: tuple[str, ...] | None = None
    skipped: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> tuple[GraphBatch, int]:
        row = row_of(index, len(self))
        return self.batch([row]), row

    @property
    def shards(self) -> tuple[int, ...]:
        """Number of graphs of each shard, or of each run of graphs of one shard."""
        ends = np.flatnonzero(np.diff(self.places[:, 0])) + 1
        return tuple(np.diff([0, *ends, len(self)]).tolist())

    def batch(self, rows: Rows) -> GraphBatch:
        """Return the disjoint union of the graphs with these indices, in this order."""
        return self._read(rows).batch(range(len(rows)))

    def subset(self, indices: Rows) -> GraphStream:
        """Return the graphs with these indices, in this order, renumbered from 0, read by the same reader."""
        rows = rows_of(indices, len(self)).tolist()
        digest = hashlib.sha256(f"{self.digest}{rows}".encode()).hexdigest()[:12]
        return replace(
            self,
            places=self.places[np.asarray(rows, np.int64)].reshape(-1, 2),
            names=tuple(self.names[row] for row in rows),
            sizes=self.sizes[rows],
            digest=digest,
            labels=None if self.labels is None else self.labels[rows],
        )

    def in_memory(self) -> GraphSet:
        """Return the same graphs, read into memory."""
        return replace(self._read(range(len(self))), labels=self.labels, classes=self.classes)

    def with_columns(self, columns: Sequence[str]) -> GraphStream:
        """Return the same graphs with these features in this order; a feature that no node has is 0.

        Raises:
            ValueError: If a node has a feature that is not among them.
        """
        with_named_columns(torch.zeros(0, len(self.columns)), self.columns, columns)
        return replace(self, columns=tuple(columns))

    def required_labels(self) -> Int64[Tensor, " n"]:
        """Return the labels, for uses that need them.

        Raises:
            ValueError: If the graphs have no labels, or all the same.
        """
        return required_graph_labels(self.labels, self.classes)

    def _read(self, rows: Rows) -> GraphSet:
        chosen = rows_of(rows, len(self)).tolist()
        found = self.reader.read([(shard, at) for shard, at in self.places[chosen].tolist()])
        # A graph that comes twice is packed twice.
        names = [self.names[row] for row in chosen]
        graphs = packed_rows([row.without_label() for row in found], names=names, where="the stream")
        return graphs if graphs.columns == self.columns else graphs.with_columns(self.columns)

    def __repr__(self) -> str:
        labels = "no labels" if self.classes is None else f"{len(self.classes)} classes"
        return f"GraphStream({len(self)} graphs, {int(self.sizes.sum())} nodes, {labels})"


def graph_stream(
    dataset: Any,
    *,
    shard_names: Sequence[str] | None = None,
    buffer: int = BUFFER,
    where: str = "the stream",
) -> GraphStream:
    """Load the graphs of a Hugging Face data set in streaming mode.

    The columns are those of `graph_table`. The stream is read once here, to check each graph; afterwards
    forward in each epoch.

    Args:
        dataset: `datasets.IterableDataset`, whose shards come in the same order each time: not shuffled.
        shard_names: name of each shard; by default its number.
        buffer: number of graphs that are mixed with each other in an epoch, after the order of the shards.
        where: name of the stream, for messages.

    Raises:
        ValueError: If there is no graph, a shard is cut short, features or classes are in some graphs only,
            or the graphs are none of a `GraphSet`; the message names the shard and the graph.

    Example:
        >>> import datasets
        >>> rows = [{"edge_index": [[0, 1], [1, 2]], "num_nodes": 3, "y": [k % 2]} for k in range(4)]
        >>> whole = datasets.Dataset.from_list(rows)
        >>> graphs = graph_stream(whole.to_iterable_dataset(num_shards=2))
        >>> graphs, graphs.names, graphs.batch([3, 0])
        (GraphStream(4 graphs, 12 nodes, 2 classes), ('0:0', '0:1', '1:0', '1:1'), \
GraphBatch(2 graphs, 6 nodes, 8 edges))
    """
    check_integer("buffer", buffer, reason="it counts the graphs that are mixed with each other")
    shard_names = shard_names or [str(number) for number in range(dataset.num_shards)]
    index = _Index(where=where)
    for name, place, row in rows_of_shards(dataset, shard_names, where):
        index.add(name, place, row)
    index.check()
    if index.first is None:
        raise ValueError(f"expected graphs in {where}, found none")
    labels, classes = class_names(index.labels)
    places = np.stack([np.array(index.shards), np.array(index.positions)], axis=1)
    counts = np.bincount(places[:, 0], minlength=len(shard_names))
    return GraphStream(
        reader=StreamReader(
            dataset=dataset,
            of_row=graph_row,
            noun="graphs",
            counts=tuple(counts.tolist()),
            capacity=2 * buffer,
        ),
        places=places,
        names=tuple(index.names),
        sizes=torch.from_numpy(np.array(index.sizes)),
        columns=index.columns,
        digest=index.content.hexdigest()[:12],
        buffer=buffer,
        labels=labels,
        classes=classes,
    )


class _Index:
    """What is remembered of the graphs of a stream: all but nodes and edges."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.content = hashlib.sha256()
        # Of many graphs a list of numbers would take several times as much memory.
        self.shards, self.positions, self.sizes = array("q"), array("q"), array("q")
        self.names: list[str] = []
        self.labels: list[str | None] = []
        self.columns: tuple[str, ...] = ()
        self.first: GraphRow | None = None
        self.waiting: list[GraphRow] = []

    def add(self, name: str, place: tuple[int, int], row: GraphRow) -> None:
        self.first = row if self.first is None else self.first
        self.names.append(name)
        self.shards.append(place[0])
        self.positions.append(place[1])
        self.sizes.append(row.nodes)
        self.labels.append(None if row.label is None else sys.intern(row.label))
        self.content.update(f"{row.nodes}\0".encode())
        self.content.update(row.edges.contiguous().numpy().tobytes())
        if row.features is not None:
            self.content.update(row.features.contiguous().numpy().tobytes())
        self.waiting.append(row)
        if len(self.waiting) == _CHUNK:
            self.check()

    def check(self) -> None:
        """Check the graphs that came since the last time, together with the first one of all."""
        if self.first is None or not self.waiting:
            return
        names = [self.names[0], *self.names[-len(self.waiting) :]]
        self.columns = packed_rows([self.first, *self.waiting], names=names, where=self.where).columns
        self.waiting.clear()


def rows_of_shards(
    dataset: Any, shard_names: Sequence[str], where: str
) -> Iterator[tuple[str, tuple[int, int], GraphRow]]:
    """Yield the name of each graph of a stream, its shard and position, and the graph.

    Args:
        dataset: see `graph_stream`.
        shard_names: name of each shard.
        where: name of the stream, for messages.

    Raises:
        ValueError: If a shard is cut short, or a row is no graph.
    """
    for shard, shard_name in enumerate(shard_names):
        rows, position = rows_of_shard(dataset, shard), 0
        while True:
            try:
                raw = next(rows)
            except StopIteration:
                break
            except Exception as error:
                if not is_damage(error):
                    raise
                raise ValueError(
                    f"expected whole files in {where}, got {shard_name}, which is cut short or damaged after "
                    f"{position:,} graphs"
                ) from error
            name = f"{shard_name}:{position}"
            try:
                row = graph_row(raw)
            except ValueError as error:
                raise ValueError(f"{where}: {error} in {name}") from error
            yield name, (shard, position), row
            position += 1
