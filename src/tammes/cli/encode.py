"""`tammes encode`: positional encodings of the nodes of graphs, as a file for other programs."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor

from tammes.atomic import write_atomically
from tammes.cli.graph_data import NODES, holds_graphs, load_nodes
from tammes.cli.options.encode import TIMES, Encode
from tammes.cli.output import counted, prepare_output
from tammes.data import GraphBatch, GraphSet, tu_set
from tammes.data.edge_lists import named_edge_lists
from tammes.data.graph_tables import graph_table
from tammes.data.stream_files import is_stream
from tammes.data.tu_files import tu_files
from tammes.encoders.graph_positions import GraphPositions
from tammes.spectral.eigen.eigenpairs import Eigenpairs, eigenpairs
from tammes.spectral.encodings import (
    graph_angles,
    heat_kernel_encoding,
    laplacian_encoding,
    projected_ones,
    random_walk_encoding,
)
from tammes.training import load_run

ENTRIES = 2**24
"""Largest number of entries of the eigenvectors that are held together, unless one graph has more."""

MOST_NODES = 8192
"""Largest graph whose eigenpairs are all computed: that takes two minutes on two cores, and 3.3 GB."""


def main(choice: Encode) -> None:
    """Encode the nodes, and write the file."""
    prepare_output(choice.out)
    learned = None if choice.run is None else _positions(choice)
    graphs, names = _loaded(choice)
    _check_sizes(graphs, choice)
    columns: dict[str, list[Tensor]] = {}
    for rows in _parts(graphs.sizes.tolist()):
        batch = graphs.batch(rows)
        for name, values in _encoded(batch, choice).items():
            columns.setdefault(name, []).append(values.float())
        if learned is not None:
            with torch.inference_mode():
                columns.setdefault("learned", []).append(learned(batch).float())
    sizes = graphs.sizes
    starts = graphs.node_starts[:-1].repeat_interleave(sizes)
    owner = torch.arange(len(graphs)).repeat_interleave(sizes)
    table = pa.table(
        {
            "graph": pa.array(graphs.names).take(pa.array(owner.numpy())),
            "node": (torch.arange(len(owner)) - starts).numpy(),
            **({} if names is None else {"name": names}),
            **{name: _lists(torch.cat(parts)) for name, parts in columns.items()},
        }
    )
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream)
    write_atomically(choice.out, stream.getvalue().to_pybytes())
    print(f"wrote {counted(len(owner), 'node')} of {counted(len(graphs), 'graph')} to {choice.out}")


def _loaded(choice: Encode) -> tuple[GraphSet, tuple[str, ...] | None]:
    """Return the graphs, and the names of their nodes; None where nodes have numbers alone."""
    if choice.split is not None and not is_stream(choice.graphs):
        raise ValueError(f"--split is for tables (hf:PATH), but {choice.graphs} is none: leave it out")
    if choice.graphs.startswith(NODES):
        return _one_graph(choice.graphs)
    if not holds_graphs(choice.graphs, choice.split):
        raise ValueError(
            f"found no graphs at {choice.graphs}: name a set of the TU collection, lists of edges (*.edges, "
            "*.edgelist), one graph (nodes:PATH), or a table with edge_index (hf:PATH)"
        )
    if is_stream(choice.graphs):
        return graph_table(choice.graphs, choice.split), None
    if tu_files(Path(choice.graphs)):
        return tu_set(choice.graphs), None
    return named_edge_lists(choice.graphs)


def _one_graph(name: str) -> tuple[GraphSet, tuple[str, ...]]:
    """Return the graph of a name, nodes:PATH, and the names of its nodes."""
    nodes = load_nodes(name)
    count = len(nodes.names)
    ends = torch.arange(count).repeat_interleave(nodes.starts.diff())
    graphs = GraphSet(
        features=nodes.features,
        columns=nodes.columns,
        edges=torch.stack([ends, nodes.neighbors]),
        node_starts=torch.tensor([0, count]),
        edge_starts=torch.tensor([0, len(ends)]),
        names=(Path(name.removeprefix(NODES)).stem,),
    )
    return graphs, nodes.names


def _positions(choice: Encode) -> GraphPositions:
    assert choice.run is not None
    found = getattr(load_run(choice.run).model.encoder, "positions", None)
    if not isinstance(found, GraphPositions):
        raise ValueError(
            f"the encoder of {choice.run} has no positions: train one with encoder:gin "
            "encoder.positions:sign-invariant (or basis-invariant), or leave --run out"
        )
    return found.eval()


def _check_sizes(graphs: GraphSet, choice: Encode) -> None:
    largest = int(graphs.sizes.argmax())
    nodes = int(graphs.sizes[largest])
    needing_all = [name for name in choice.encoding if name != "laplacian"]
    if needing_all and nodes > MOST_NODES:
        raise ValueError(
            f"{', '.join(needing_all)} need all eigenpairs, for graphs of up to {MOST_NODES:,} nodes, but "
            f"{graphs.names[largest]} has {nodes:,}: choose --encoding laplacian"
        )


def _parts(sizes: list[int]) -> Iterator[range]:
    """Yield ranges of graphs whose eigenvectors, padded to the largest graph, fit the memory."""
    begin = nodes = widest = 0
    for number, size in enumerate(sizes):
        nodes, widest = nodes + size, max(widest, size)
        if number > begin and nodes * widest > ENTRIES:
            yield range(begin, number)
            begin, nodes, widest = number, size, size
    yield range(begin, len(sizes))


def _encoded(batch: GraphBatch, choice: Encode) -> dict[str, Tensor]:
    """Return the chosen encodings of the nodes, by the names of their columns."""
    count, owner = choice.count, batch.owner
    needs_all = any(name != "laplacian" for name in choice.encoding)
    if not choice.encoding:
        return {}
    pairs = eigenpairs(batch.edges, owner, count=None if needs_all else count + 1)
    found: dict[str, Tensor] = {}
    for name in choice.encoding:
        if name == "laplacian":
            found["laplacian"] = laplacian_encoding(pairs, owner, count=count)
            found["eigenvalues"] = _eigenvalues(pairs, count)[owner]
        elif name == "random-walk":
            found["random_walk"] = random_walk_encoding(pairs, owner, steps=count)
        elif name == "heat":
            found["heat"] = heat_kernel_encoding(pairs, owner, times=choice.times or TIMES)
        elif name == "angles":
            found["angles"] = graph_angles(pairs, owner, count=count)
        else:
            found["projectors"] = projected_ones(pairs, owner, count=count)
    return found


def _eigenvalues(pairs: Eigenpairs, count: int) -> Tensor:
    """Return the eigenvalues after the first, as many as the encoding has columns."""
    values = pairs.values[:, 1 : count + 1]
    return torch.nn.functional.pad(values, (0, count - values.shape[1]))


def _lists(matrix: Tensor) -> pa.FixedSizeListArray:
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.numpy().ravel()), matrix.shape[1])
