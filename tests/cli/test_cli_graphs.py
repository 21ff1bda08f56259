"""The commands on graphs: train, resume, embed, evaluate and compare; and what is refused in one line."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from tammes.cli import graph_scores
from tammes.cli.main import main
from tammes.data import GraphSet
from tiny import random_graph_set, random_texts, write_images, write_texts, write_tu_set

pytest.importorskip("torch_geometric")
pytestmark = pytest.mark.filterwarnings("ignore:.*:tammes.evaluation.ProbeNotConvergedWarning")
TINY = ("--epochs", "2", "--batch-size", "8", "--accelerator", "cpu")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tu_set(tmp_path_factory.mktemp("tu"), "TINY", random_graph_set(60))


@pytest.fixture(scope="module")
def run(data: Path) -> Path:
    folder = data.parent / "run"
    assert main(["train", "jsd", "--beta", "1", "--data", str(data), "--out", str(folder), *TINY]) == 0
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
    assert "graphs" in page
    assert "nodes, " in page
    assert "degree histogram" in page
    weights = (run / "model.safetensors").read_bytes()
    assert main(["train", "--resume", str(run)]) == 0
    assert (run / "model.safetensors").read_bytes() == weights


def test_features_are_written_for_every_graph(run: Path, data: Path, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "embeddings.parquet"
    assert main(["embed", str(run), "--data", str(data), "--out", str(out), "--accelerator", "cpu"]) == 0
    table = pyarrow.read_table(out).to_pydict()
    assert table["name"][:2] == ["TINY 1", "TINY 2"]
    assert table["label"][:2] == ["0", "1"]
    assert len(table["features"]) == 60


def test_evaluate_classifies_graphs_in_folds(
    run: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", str(run), "--data", str(data), "--folds", "3", "--accelerator", "cpu"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["graphs"] == 60
    assert set(found["floors"]) == {"untrained encoder", "Weisfeiler-Lehman kernel", "degree histogram"}
    assert found["floors"]["degree histogram"]["svm"] > 0.7  # the classes differ in their degrees
    assert 0 < found["svm"] <= 1
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "each classified once in 3 folds" in " ".join(said.split())
    assert f"{found['equal']} graphs equal an earlier one" in said
    assert main([*words, "--distinct", "--json"]) == 0
    other = json.loads(capsys.readouterr().out)
    assert (other["graphs"], other["leaked"]) == (60 - found["equal"], 0.0)
    assert main([*words, "--distinct"]) == 0
    assert "were left out" in capsys.readouterr().out


def test_the_kernel_of_many_graphs_is_left_out(
    run: Path, data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_scores, "MOST_OF_KERNEL", 59)
    monkeypatch.setattr(graph_scores, "wl_features", None)  # not even called
    words = ["evaluate", str(run), "--data", str(data), "--folds", "2", "--repeats", "2"]
    assert main(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "each classified 2 times in 2 folds" in said
    assert "The Weisfeiler-Lehman kernel was left out: it takes memory" in said
    assert main([*words, "--json"]) == 0
    floors = json.loads(capsys.readouterr().out)["floors"]
    assert floors["Weisfeiler-Lehman kernel"] is None
    assert floors["degree histogram"]["svm"] > 0.7


def test_objectives_are_compared(data: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    words = ["compare", "jsd", "hcl", "--data", str(data), "--report", str(report), *TINY]
    assert main(words) == 0
    assert "hcl" in report.read_text()


@pytest.mark.parametrize(
    "parts",
    [
        ["augmentation:one-change"],
        ["positives:itself"],
        ["encoder:gps", "--encoder.layers", "1"],
        ["encoder:gat", "--encoder.width", "8", "encoder.positions:sign-invariant"],
        ["encoder:gin", "--encoder.width", "8", "encoder.positions:basis-invariant"],
        ["encoder:gcn", "encoder.positions:laplacian-eigenvectors"],
    ],
    ids=" ".join,
)
def test_every_part_is_a_word(data: Path, tmp_path: Path, parts: list[str]) -> None:
    words = ["train", "simclr", "--temperature", "0.5", "--data", str(data), "--out", str(tmp_path / "run")]
    assert main([*words, *TINY, *parts]) == 0


def test_settings_of_other_data_are_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = ["train", "jsd", "--data", str(data), "--out", str(tmp_path / "run")]
    assert "--size is for other data" in refused(capsys, *train, "--size", "8")
    assert "that encoder: is for other data" in refused(capsys, *train, "encoder:convnet")
    assert "that augmentation: is for other data" in refused(capsys, *train, "augmentation:handwriting")
    assert "--prose is for texts" in refused(capsys, *train, "--prose")
    texts = write_texts(tmp_path / "texts", random_texts())
    images = write_images(tmp_path / "images", "a", "b")
    for other in (texts, images):
        words = ["train", "jsd", "--data", str(other), "--out", str(tmp_path / "run"), "encoder:gin"]
        assert "that encoder: is for graphs" in refused(capsys, *words)
    assert not (tmp_path / "run").exists()


def test_a_run_on_graphs_takes_graphs_alone(
    run: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = write_texts(tmp_path / "texts", random_texts())
    words = ["evaluate", str(run), "--data", str(texts)]
    assert "was trained on graphs, but" in refused(capsys, *words)
    assert "found nothing at nowhere" in refused(capsys, "evaluate", str(run), "--data", "nowhere")
    assert "leave --test out" in refused(
        capsys, "evaluate", str(run), "--data", str(data), "--test", str(data)
    )
    words = ["evaluate", str(run), "--data", str(data)]
    assert "--augmentation is for images" in refused(capsys, *words, "--augmentation", "photographs")
    assert "leave --neighbors out" in refused(capsys, *words, "--neighbors", "3")
    assert "these are graphs: leave it out" in refused(capsys, *words, "--cache", str(tmp_path / "cache"))
    assert "--folds must be" in refused(capsys, "evaluate", str(run), "--data", str(data), "--folds", "1")
    assert "was trained on graphs" in refused(capsys, "export", str(run), "--out", str(tmp_path / "a.onnx"))
    few = ["evaluate", str(run), "--data", str(data), "--folds", "31"]
    assert f"{data}: expected at least 31 points of each class" in refused(capsys, *few)


def other_labels(graphs: GraphSet, path: Path, lines: list[str]) -> Path:
    folder = write_tu_set(path, "TINY", graphs)
    (folder / "TINY_graph_labels.txt").write_text("".join(f"{line}\n" for line in lines))
    return folder


def test_bad_graphs_are_one_line_and_nothing_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graphs = random_graph_set(12)
    missing = other_labels(graphs, tmp_path / "missing", ["0"] * 11)
    one_class = other_labels(graphs, tmp_path / "one", ["0"] * 12)
    cut = write_tu_set(tmp_path / "cut", "TINY", graphs)
    (cut / "TINY_A.txt").write_text("1, 2\n2, 1\n")
    alone = write_tu_set(tmp_path / "alone", "TINY", graphs)
    for file in alone.iterdir():
        if file.name != "TINY_A.txt":
            file.unlink()
    for folder, message in (
        (alone, "expected TINY_graph_indicator.txt beside TINY_A.txt in"),
        (missing, "expected a label for each of the 12 graphs"),
        (one_class, f"{one_class}: expected at least two classes"),
        (cut, "expected edges in every graph, got none in TINY 2"),
    ):
        words = ["train", "jsd", "--data", str(folder), "--out", str(tmp_path / "run"), *TINY]
        assert message in refused(capsys, *words)
    assert not (tmp_path / "run").exists()


def test_an_archive_is_named_with_or_without_its_suffix(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ONE", "TWO"):
        folder = write_tu_set(tmp_path / "unpacked", name, random_graph_set(12))
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            for file in folder.iterdir():
                archive.write(file, f"{name}/{file.name}")
    shutil.rmtree(tmp_path / "unpacked")
    words = ["train", "jsd", "--out", str(tmp_path / "run"), *TINY, "--epochs", "1"]
    assert "found 2: name one of " in (line := refused(capsys, *words, "--data", str(tmp_path)))
    assert line.endswith(f"{tmp_path / 'ONE.zip'}, {tmp_path / 'TWO.zip'}")
    assert main([*words, "--data", str(tmp_path / "TWO")]) == 0


def test_few_graphs_are_one_batch_and_one_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = write_tu_set(tmp_path / "few", "TINY", random_graph_set(8))
    words = ["train", "jsd", "--out", str(tmp_path / "run"), "--epochs", "1", "--accelerator", "cpu"]
    assert main([*words, "--data", str(few)]) == 0
    assert "batch_size: 6\n" in (tmp_path / "run" / "config.yaml").read_text()
    (tmp_path / "one.edges").write_text("1 2\n")
    words[3] = str(tmp_path / "other")
    line = refused(capsys, *words, "--data", str(tmp_path / "one.edges"))
    assert "expected at least two graphs to train on, each the negative of the other, got one" in line


def test_test_graphs_have_the_columns_of_the_training(data: Path, tmp_path: Path) -> None:
    lists = tmp_path / "lists"
    lists.mkdir()
    for number in range(4):
        (lists / f"g{number}.edges").write_text("1 2\n2 3\n" if number % 2 else "1 2\n2 3\n3 1\n")
    labels = "".join(f"g{number},{number % 2}\n" for number in range(4))
    (lists / "labels.csv").write_text("graph,label\n" + labels)
    (lists / "nodes.csv").write_text(
        "graph,node,label 1\n" + "".join(f"g{number},{node},1\n" for number in range(4) for node in (1, 2, 3))
    )
    words = ["train", "jsd", "--data", str(data), "--test", str(lists), "--out", str(tmp_path / "run")]
    assert main([*words, *TINY]) == 0
    swapped = (lists / "labels.csv").read_text().replace(",0", ",x").replace(",1", ",0").replace(",x", ",1")
    (lists / "labels.csv").write_text(swapped)
    assert main([*words[:-1], str(tmp_path / "other"), *TINY]) == 0
