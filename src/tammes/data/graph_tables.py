"""Graphs in tables of Hugging Face: a row for each graph, in parquet or arrow files or a saved data set."""

from __future__ import annotations

from tammes.data.graph_packing import packed_rows
from tammes.data.graph_set import GraphSet
from tammes.data.graph_stream import GraphStream, graph_stream, rows_of_shards
from tammes.data.listing import listing
from tammes.data.shards import BUFFER
from tammes.data.stream import column_names
from tammes.data.stream_files import StreamFiles, open_stream

EDGES = "edge_index"
"""Column that only a table of graphs has: two lists of nodes that edges join."""


def holds_graph_table(data: str, split: str | None = None) -> bool:
    """Return whether the rows of a table are graphs, judged by its columns.

    Args:
        data: `hf:` and the path of a parquet or arrow file, of a folder of such files, or of a data set that
            `datasets` has saved.
        split: part of a saved data set that has several.

    Raises:
        ValueError: If there is no such file, or no such split.
        ImportError: If `datasets` is not installed.
    """
    return EDGES in column_names(open_stream(data, split).dataset)


def graph_table(data: str, split: str | None = None) -> GraphSet:
    """Read the graphs of a table into memory.

    The columns are `edge_index`, and as far as they are known `num_nodes`, `node_feat` or `x`, and the class
    `y`; others are ignored. A graph is named for its file and its row in it.

    Args:
        data: see `holds_graph_table`.
        split: part of a saved data set that has several.

    Raises:
        ValueError: If a file is cut short, features or classes are in some graphs only, or the graphs are
            none of a `GraphSet`.
        ImportError: If `datasets` is not installed.
    """
    found = _whole(data, split)
    named = [(name, row) for name, _, row in rows_of_shards(found.dataset, found.names, data)]
    try:
        return packed_rows([row for _, row in named], names=[name for name, _ in named], where=data)
    except ValueError as error:
        raise ValueError(_with_place(str(error), data)) from error


def graph_stream_of_files(data: str, split: str | None = None, *, buffer: int = BUFFER) -> GraphStream:
    """Load the graphs of a table that need not fit into memory; see `graph_stream`.

    Args:
        data: see `holds_graph_table`; each file is a shard.
        split: part of a saved data set that has several.
        buffer: number of graphs that are mixed with each other in an epoch, after the order of the files.

    Raises:
        ValueError: If there is no such file, a file is cut short, or what `graph_stream` refuses.
        ImportError: If `datasets` is not installed.
    """
    found = _whole(data, split)
    try:
        return graph_stream(found.dataset, shard_names=found.names, buffer=buffer, where=data)
    except ValueError as error:
        raise ValueError(_with_place(str(error), data)) from error


def _whole(data: str, split: str | None) -> StreamFiles:
    found = open_stream(data, split)
    if found.cut:
        raise ValueError(f"expected whole files in {data}, got some that are cut short: {listing(found.cut)}")
    return found


def _with_place(message: str, data: str) -> str:
    return message if data in message else f"{data}: {message}"
