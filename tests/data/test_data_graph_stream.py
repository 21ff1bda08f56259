"""Streams of graphs: the graphs of a table in memory, read forward, checked before anything is trained."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tammes.cli.main import main
from tammes.data import GraphStream, graph_stream, graph_stream_of_files, graph_table
from tammes.training.shard_order import ShardOrder, ShardsSummary, sharded

datasets = pytest.importorskip("datasets")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def row(number: int) -> dict[str, Any]:
    """A path of three to seven nodes."""
    nodes = 3 + number % 5
    edges = [list(range(nodes - 1)), list(range(1, nodes))]
    features = [[float(number), float(node)] for node in range(nodes)]
    return {"edge_index": edges, "num_nodes": nodes, "node_feat": features, "y": [number % 2]}


def write(folder: Path, *counts: int, rows: list[dict[str, Any]] | None = None) -> str:
    """Write a file for each count, and return the name of the stream."""
    folder.mkdir(exist_ok=True)
    left = iter([row(number) for number in range(sum(counts))] if rows is None else rows)
    for file, count in enumerate(counts):
        part = [next(left) for _ in range(count)]
        pq.write_table(pa.Table.from_pylist(part), folder / f"{file}.parquet")
    return f"hf:{folder}"


def test_it_has_the_graphs_of_the_table_in_memory(tmp_path: Path) -> None:
    name = write(tmp_path / "files", 4, 6, 5)
    streamed, held = graph_stream_of_files(name, buffer=3), graph_table(name)
    assert repr(streamed) == "GraphStream(15 graphs, 75 nodes, 2 classes)"
    assert streamed.shards == (4, 6, 5)
    assert streamed.names[3:5] == ("0.parquet:3", "1.parquet:0")
    assert streamed[7][0].features.tolist() == held[7][0].features.tolist()
    for rows in ([3, 14, 0], [3, 3, 1], torch.tensor([9])):
        ours, theirs = streamed.batch(rows), held.batch(rows)
        assert torch.equal(ours.features, theirs.features)
        assert torch.equal(ours.edges, theirs.edges)
        assert torch.equal(ours.owner, theirs.owner)
    copy = streamed.in_memory()
    assert (copy.digest, copy.names, copy.classes) == (held.digest, held.names, held.classes)
    assert torch.equal(copy.required_labels(), streamed.required_labels())
    some = streamed.subset([9, 1])
    assert (some.names, some.shards) == (("1.parquet:5", "0.parquet:1"), (1, 1))
    assert some.in_memory().digest == held.subset([9, 1]).digest
    assert some.digest != streamed.digest


def test_features_by_name(tmp_path: Path) -> None:
    graphs = graph_stream_of_files(write(tmp_path / "files", 2))
    wide = graphs.with_columns(["feature 1", "other", "feature 0"])
    assert wide.batch([1]).features.tolist() == [[node, 0.0, 1.0] for node in range(4)]
    with pytest.raises(ValueError, match="expected node features among feature 0, got feature 1"):
        graphs.with_columns(["feature 0"])


def test_in_the_order_of_an_epoch_each_graph_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = graph_stream_of_files(write(tmp_path / "files", 6, 9, 4, 7, 2), buffer=5)
    reader, taken = type(graphs.reader), [0]
    whole = reader._next

    def next_(*place: Any) -> Any:
        taken[0] += 1
        return whole(*place)

    monkeypatch.setattr(reader, "_next", next_)
    order = ShardOrder(shards=graphs.shards, buffer=5, seed=0).epoch(0)
    for rows in order.split(4):
        assert torch.equal(graphs.batch(rows).features[:, 0].unique(), rows.sort().values.float())
    assert taken == [28]
    assert len(graphs.reader.kept) <= 10
    assert pickle.loads(pickle.dumps(graphs)).batch([0]).count == 1


def of_generator(shards: int, each: int, nodes: int) -> Any:
    """A stream over no files, with a ring of many nodes in each row."""

    def rows(numbers: list[int]) -> Iterator[dict[str, Any]]:
        for number in numbers:
            for _ in range(each):
                ends = torch.arange(nodes)
                edges = torch.stack([ends, (ends + 1) % nodes]).numpy()
                yield {"edge_index": edges, "num_nodes": nodes, "y": [number % 2]}

    return datasets.IterableDataset.from_generator(rows, gen_kwargs={"numbers": list(range(shards))})


def peak_of_an_epoch(shards: int) -> int:
    """Bytes that the tensors of a stream take at most, of 20 graphs a shard and 20 in the buffer."""
    graphs = graph_stream(of_generator(shards, 20, nodes=500), buffer=10)
    order = ShardOrder(shards=graphs.shards, buffer=10, seed=0).epoch(0)
    most = 0
    for rows in order.split(4):
        graphs.batch(rows)
        most = max(most, sum(kept.edges.nbytes for kept in graphs.reader.kept.values()))
    assert len(graphs) == 20 * shards
    return most


def test_ten_times_the_graphs_take_the_same_memory() -> None:
    assert peak_of_an_epoch(shards=20) == peak_of_an_epoch(shards=2) == 20 * 500 * 2 * 8
    graph_stream(of_generator(2, 10, nodes=50), buffer=10)  # what a first call keeps is not counted
    tracemalloc.start()
    few = graph_stream(of_generator(2, 10, nodes=50), buffer=10)
    of_few = tracemalloc.get_traced_memory()[0]
    many = graph_stream(of_generator(2, 400, nodes=50), buffer=10)  # as many shards: those cost by themselves
    of_many = tracemalloc.get_traced_memory()[0] - of_few
    tracemalloc.stop()
    assert (of_many - of_few) / (len(many) - len(few)) < 200  # bytes of a graph that is not in the buffer


def test_shards_are_known_to_the_loop(tmp_path: Path) -> None:
    graphs = graph_stream_of_files(write(tmp_path / "files", 2, 3), buffer=7)
    assert sharded(graphs) is graphs
    assert sharded(graphs.in_memory()) is None
    summary = ShardsSummary.of(graphs)
    assert summary is not None
    assert (summary.count, summary.buffer) == (2, 7)


def changed(number: int, **fields: Any) -> list[dict[str, Any]]:
    rows = [row(each) for each in range(4)]
    rows[number] = {**rows[number], **fields}
    return rows


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (changed(2, edge_index=[[], []]), r"expected edges in every graph, got none in 0\.parquet:2"),
        (
            changed(2, edge_index=[[], []], node_feat=[], num_nodes=0),
            r"expected nodes in every graph, got none in 0\.parquet:2",
        ),
        (changed(3, edge_index=[[0], [9]]), r"between the 6 nodes of 0\.parquet:3, got one of node 9"),
        (changed(1, node_feat=None), r"node features in all graphs or in none, got none in 0\.parquet:1"),
        (changed(0, node_feat=None), r"node features in all graphs or in none, got none in 0\.parquet:0"),
        (changed(1, y=None), r"expected a label in all graphs or in none, got none in 0\.parquet:1"),
        (changed(1, y=[float("nan")]), r"a label in all graphs or in none, got none in 0\.parquet:1"),
        (changed(1, edge_index=[[0], [1], [2]]), r"as edge_index, got shape \(3, 1\) in 0\.parquet:1"),
        (changed(1, edge_index=[[0, 1], [1]]), r"expected two lists of nodes .* in 0\.parquet:1"),
        (changed(1, node_feat=[[1.0, 2.0]]), r"features of 4 nodes .*, got 1 rows in 0\.parquet:1"),
        (
            changed(1, node_feat=[[1.0]] * 4),
            r"features of every node as 0\.parquet:0 has \(2\), got 1 in 0\.parquet:1",
        ),
        (
            changed(1, node_feat=[[float("inf"), 0.0]] * 4),
            r"expected finite features, got NaN or infinity in 0\.parquet:1",
        ),
    ],
)
def test_what_is_wrong_is_said_with_file_and_graph(
    tmp_path: Path, rows: list[dict[str, Any]], message: str
) -> None:
    name = write(tmp_path / "files", 4, rows=rows)
    for load in (graph_stream_of_files, graph_table):
        with pytest.raises(ValueError, match=message) as caught:
            load(name)
        assert str(tmp_path / "files") in str(caught.value)
        assert "\n" not in str(caught.value)


def test_what_is_cut_short_or_empty_is_said(tmp_path: Path) -> None:
    name = write(tmp_path / "files", 3, 2)
    file = tmp_path / "files" / "1.parquet"
    content = file.read_bytes()
    file.write_bytes(content[:20])
    with pytest.raises(ValueError, match=r"expected whole files in .*files, got .* cut short: 1\.parquet"):
        graph_stream_of_files(name)

    def broken(numbers: list[int]) -> Iterator[dict[str, Any]]:
        yield row(numbers[0])
        raise EOFError

    dataset = datasets.IterableDataset.from_generator(broken, gen_kwargs={"numbers": [0]})
    with pytest.raises(ValueError, match="got 0, which is cut short or damaged after 1 graphs"):
        graph_stream(dataset)
    with pytest.raises(ValueError, match="expected graphs in the stream, found none"):
        graph_stream(of_generator(1, 0, nodes=3))
    with pytest.raises(ValueError, match="buffer must be an integer"):
        graph_stream(of_generator(1, 1, nodes=3), buffer=0)
    unlabeled = datasets.Dataset.from_list([{"edge_index": [[0], [1]]}]).to_iterable_dataset()
    with pytest.raises(ValueError, match="a table with the column y"):
        graph_stream(unlabeled).required_labels()


def test_a_stream_that_becomes_shorter_is_named() -> None:
    graphs = graph_stream(of_generator(1, 4, nodes=3), buffer=1)
    graphs.reader.dataset = of_generator(1, 2, nodes=3)
    with pytest.raises(ValueError, match="ends after 2 of the 4 graphs that it had at the start"):
        graphs.batch([3])


def test_the_command_line_says_it_before_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = write(tmp_path / "files", 4, rows=changed(2, edge_index=[[], []]))
    assert main(["train", "jsd", "--data", name, "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err.strip()
    assert len(said.splitlines()) == 1
    assert "0.parquet:2" in said
    assert not (tmp_path / "run").exists()
    assert isinstance(graph_stream(of_generator(1, 1, nodes=3)), GraphStream)
