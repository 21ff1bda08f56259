"""Tables of Hugging Face with a graph in each row."""

from pathlib import Path

import pytest

from tammes.cli.main import main
from tammes.data import graph_table
from tammes.data.graph_tables import holds_graph_table

pq = pytest.importorskip("pyarrow.parquet")
datasets = pytest.importorskip("datasets")
ROWS = [
    {"edge_index": [[0, 1], [1, 2]], "node_feat": [[1.0], [2.0], [3.0]], "y": [row % 2], "num_nodes": 3}
    for row in range(12)
]


def write(path: Path, rows: list[dict[str, object]]) -> str:
    import pyarrow

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pyarrow.Table.from_pylist(rows), path)
    return f"hf:{path}"


def test_a_row_is_a_graph(tmp_path: Path) -> None:
    name = write(tmp_path / "a.parquet", ROWS)
    assert holds_graph_table(name)
    graphs = graph_table(name)
    assert (len(graphs), graphs.classes, graphs.columns) == (12, ("0", "1"), ("feature 0",))
    assert graphs.batch([1]).features.tolist() == [[1.0], [2.0], [3.0]]
    assert not holds_graph_table(write(tmp_path / "b.parquet", [{"text": "a"}]))


def test_a_saved_data_set_has_splits(tmp_path: Path) -> None:
    parts = {"train": datasets.Dataset.from_list(ROWS), "test": datasets.Dataset.from_list(ROWS[:4])}
    datasets.DatasetDict(parts).save_to_disk(str(tmp_path / "saved"))
    assert len(graph_table(f"hf:{tmp_path / 'saved'}", "test")) == 4
    with pytest.raises(ValueError, match="expected a split"):
        graph_table(f"hf:{tmp_path / 'saved'}")


def test_what_is_wrong_is_said_with_the_name(tmp_path: Path) -> None:
    odd = [ROWS[0], {**ROWS[1], "edge_index": [[0], [7]]}]
    name = write(tmp_path / "odd.parquet", odd)
    with pytest.raises(ValueError, match=r"expected edges between the 3 nodes of odd\.parquet:1"):
        graph_table(name)
    write(tmp_path / "two" / "whole.parquet", ROWS)
    write(tmp_path / "two" / "cut.parquet", ROWS)
    file = tmp_path / "two" / "cut.parquet"
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(
        ValueError, match=r"expected whole files in .*two, got some .* cut short: cut\.parquet"
    ):
        graph_table(f"hf:{tmp_path / 'two'}")


def test_a_table_is_trained_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch_geometric")
    name = write(tmp_path / "a.parquet", ROWS)
    words = ["train", "jsd", "--data", name, "--epochs", "1", "--batch-size", "4", "--held-out", "0"]
    words += ["--accelerator", "cpu", "--out", str(tmp_path / "run")]
    assert main(words) == 0
    assert (tmp_path / "run" / "model.safetensors").exists()
    capsys.readouterr()
    assert main([*words[:-1], str(tmp_path / "other"), "--cache", str(tmp_path)]) == 2
    assert "these are graphs" in capsys.readouterr().err
