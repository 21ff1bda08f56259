"""`tammes encode` writes a row for each node, and refuses in one line."""

from __future__ import annotations

from pathlib import Path

import networkx
import pyarrow.parquet as pq
import pytest
import torch

from tammes.cli import encode
from tammes.cli.main import main
from tammes.data import tu_set
from tammes.spectral import eigenpairs
from tammes.spectral.encodings import random_walk_encoding
from tiny import random_graph_set, write_tu_set

COLUMNS = ["graph", "node", "laplacian", "eigenvalues", "random_walk", "heat", "angles", "projectors"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tu_set(tmp_path_factory.mktemp("tu"), "TINY", random_graph_set(22))


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line of a command that is refused."""
    capsys.readouterr()
    assert main(["encode", *words]) == 2
    line = capsys.readouterr().err.strip()
    assert "\n" not in line, line
    return line


def test_a_row_for_each_node_whatever_is_held_together(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "encodings.parquet"
    graphs = tu_set(data)
    monkeypatch.setattr(encode, "ENTRIES", 200)
    assert main(["encode", str(data), "--out", str(out), "--count", "5"]) == 0
    assert capsys.readouterr().out == f"wrote {len(graphs.features)} nodes of 22 graphs to {out}\n"
    table = pq.read_table(out)
    assert table.column_names == COLUMNS
    found = table.to_pydict()
    assert found["graph"][0] == graphs.names[0]
    assert found["node"] == [node for size in graphs.sizes.tolist() for node in range(size)]
    batch = graphs.batch(range(22))
    pairs = eigenpairs(batch.edges, batch.owner)
    expected = random_walk_encoding(pairs, batch.owner, steps=5)
    torch.testing.assert_close(torch.tensor(found["random_walk"]), expected.float(), rtol=0, atol=1e-6)
    assert {len(row) for row in found["laplacian"]} == {5}
    values = torch.tensor(found["eigenvalues"])
    torch.testing.assert_close(values, pairs.values[:, 1:6].float()[batch.owner], rtol=0, atol=1e-6)


def test_only_what_is_chosen(tmp_path: Path) -> None:
    (tmp_path / "star.edges").write_text("hub a\nhub b\nhub c\n")
    out = tmp_path / "e.parquet"
    words = ["--encoding", "heat", "--times", "0", "1000", "1e300", "--out", str(out)]
    assert main(["encode", str(tmp_path), *words]) == 0
    found = pq.read_table(out).to_pydict()
    assert list(found) == ["graph", "node", "name", "heat"]
    assert found["name"] == ["hub", "a", "b", "c"]
    assert found["graph"] == ["star"] * 4
    # In the end heat is spread in proportion to degrees.
    expected = torch.tensor([[1, 1 / 2, 1 / 2], *[[1, 1 / 6, 1 / 6]] * 3])
    torch.testing.assert_close(torch.tensor(found["heat"]), expected)


def test_one_weighted_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "karate.edges", tmp_path / "e.parquet"
    graph = networkx.karate_club_graph()
    networkx.write_weighted_edgelist(graph, file)
    words = ("--encoding", "random-walk", "--count", "3", "--out", str(out))
    assert "nodes:PATH" in refused(capsys, str(file), *words)
    one = tmp_path / "one.edges"
    one.write_text("a b\nb c\n")
    assert main(["encode", str(one), *words]) == 0
    capsys.readouterr()
    assert main(["encode", f"nodes:{file}", *words]) == 0
    assert capsys.readouterr().out == f"wrote 34 nodes of 1 graph to {out}\n"
    found = pq.read_table(out).to_pydict()
    nodes = [int(name) for name in found["name"]]
    assert sorted(nodes) == list(graph)
    matrix = torch.from_numpy(networkx.to_numpy_array(graph, nodelist=nodes, weight=None))
    walk = matrix / matrix.sum(1, keepdim=True)
    expected = torch.stack([walk.matrix_power(t).diagonal() for t in (1, 2, 3)], dim=1)
    torch.testing.assert_close(torch.tensor(found["random_walk"]), expected.float(), rtol=0, atol=1e-6)


def test_positions_of_a_run(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch_geometric")
    run, out = tmp_path / "run", tmp_path / "e.parquet"
    train = ["train", "jsd", "--data", str(data), "--out", str(run), "--epochs", "1", "--batch-size", "8"]
    assert main([*train, "--accelerator", "cpu", "encoder:gin", "encoder.positions:sign-invariant"]) == 0
    assert main(["encode", str(data), "--run", str(run), "--out", str(out), "--encoding", "laplacian"]) == 0
    learned = torch.tensor(pq.read_table(out).to_pydict()["learned"])
    assert learned.isfinite().all()
    assert learned.std(0).max() > 0


def test_what_is_refused(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--out", str(tmp_path / "e.parquet"))
    assert "found no graphs at" in refused(capsys, str(tmp_path / "nothing"), *out)
    assert "--split is for tables" in refused(capsys, str(data), "--split", "test", *out)
    monkeypatch.setattr(encode, "MOST_NODES", 6)
    assert "choose --encoding laplacian" in refused(capsys, str(data), *out)
    assert main(["encode", str(data), "--encoding", "laplacian", *out]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", "e.csv"), "--out must end in .parquet, got e.csv"),
        (("--out", "e.parquet", "--count", "0"), "--count must be"),
        (("--out", "e.parquet", "--times", "-1"), "each of --times must be"),
        (("--out", "e.parquet", "--times", "1", "--encoding", "laplacian"), "--times is for --encoding heat"),
        (("--out", "e.parquet", "--times", "inf"), "each of --times must be a finite number at least 0"),
        (("--out", "e.parquet", "--encoding", "heat", "heat"), "give each --encoding once"),
    ],
)
def test_wrong_options(words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["encode", "graphs", *words]) == 2
    assert message in " ".join(capsys.readouterr().err.replace("│", " ").split())
