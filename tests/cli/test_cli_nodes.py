"""The commands on the nodes of one graph: train, resume, embed, evaluate and compare; what is refused."""

import csv
import json
from pathlib import Path

import pytest

from tammes.cli.main import main
from tammes.data import block_model
from tiny import random_graph_set, write_images, write_tu_set

pytest.importorskip("torch_geometric")
pytestmark = pytest.mark.filterwarnings("ignore:.*:tammes.evaluation.ProbeNotConvergedWarning")
TINY = ("--epochs", "2", "--batch-size", "16", "--accelerator", "cpu")
OBJECTIVE = ("simclr", "--temperature", "0.5")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a graph on the disk."""
    folder = tmp_path_factory.mktemp("nodes")
    nodes = block_model(120, classes=3, words=12, degree=6.0)
    edges = nodes.batch([0]).edges.T.tolist()
    (folder / "all.edges").write_text("".join(f"{u} {v}\n" for u, v in edges))
    with (folder / "nodes.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["node", "label", *nodes.columns])
        labels = nodes.required_labels().tolist()
        for name, label, row in zip(nodes.names, labels, nodes.features.tolist(), strict=True):
            table.writerow([name, label, *row])
    return f"nodes:{folder}"


@pytest.fixture(scope="module")
def run(data: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    words = ["train", *OBJECTIVE, "--data", data, "--fanouts", "5", "3", "--out", str(folder), *TINY]
    assert main(words) == 0
    return folder


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line of a command that is refused."""
    capsys.readouterr()
    assert main(list(words)) == 2
    line = capsys.readouterr().err.strip()
    assert "\n" not in line, line
    return line


def test_a_run_has_its_page_and_is_resumed(run: Path) -> None:
    page = (run / "report.html").read_text()
    assert "neighbors" in page
    assert "features averaged over two hops" in page
    assert "5, then 3" in page
    weights = (run / "model.safetensors").read_bytes()
    assert main(["train", "--resume", str(run)]) == 0
    assert (run / "model.safetensors").read_bytes() == weights


def test_features_are_written_for_every_node(run: Path, data: str, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "embeddings.parquet"
    assert main(["embed", str(run), "--data", data, "--out", str(out), "--accelerator", "cpu"]) == 0
    table = pyarrow.read_table(out).to_pydict()
    assert table["name"][:2] == ["0", "1"]
    assert len(table["features"]) == 120


def test_nodes_that_were_held_out_are_classified(
    run: Path, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["evaluate", str(run), "--data", data, "--json", "--accelerator", "cpu"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert 0 < found["probe"] <= 1


def test_objectives_are_compared(data: str, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    words = ["compare", "simclr", "hcl", "--data", data, "--report", str(report), *TINY]
    assert main(words) == 0
    assert "hcl" in report.read_text()


def test_options_of_other_data_are_refused(
    run: Path, data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--out", str(tmp_path / "run"))
    graphs = str(write_tu_set(tmp_path / "tu", "TINY", random_graph_set(24)))
    images = str(write_images(tmp_path / "images", "a", "b"))
    train = ("train", *OBJECTIVE, *out, "--data")
    assert "--fanouts is for other data, but" in refused(capsys, *train, graphs, "--fanouts", "3", "3")
    assert "--fanouts is for the nodes of a graph" in refused(capsys, *train, images, "--fanouts", "3", "3")
    assert "--size is for other data" in refused(capsys, *train, data, "--size", "8")
    assert "holds nodes: leave it out" in refused(capsys, *train, data, "encoder:convnet")
    assert "--prose is for texts" in refused(capsys, *train, data, "--prose")
    assert "but these are nodes of a graph" in refused(capsys, *train, data, "--cache", str(tmp_path / "c"))
    assert "leave --test out" in refused(capsys, *train, data, "--test", graphs)
    assert "fanouts need a number for each" in refused(capsys, *train, data, "--fanouts", "3")
    assert "expected one list of edges" in refused(capsys, *train, f"nodes:{tmp_path / 'nothing'}")
    evaluate = ("evaluate", str(run), "--data")
    assert "the run was trained on nodes, but" in refused(capsys, *evaluate, graphs)
    assert "--distinct and --repeats are for graphs" in refused(capsys, *evaluate, data, "--distinct")
    assert "trained on graphs" in refused(capsys, "export", str(run), "--out", str(tmp_path / "a.onnx"))
    assert not (tmp_path / "run").exists()
