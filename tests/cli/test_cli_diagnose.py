"""`tammes diagnose` on files: its folder, its words, its exit codes, and what it refuses in one line."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import tammes
from tammes.cli.main import main
from tammes.diagnosis import NEEDS
from tammes.diagnosis.embeddings_file import read_embeddings
from tiny import write_images

N = 200


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of embeddings with labels, pairs, splits and names, and two equal rows."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    x = random.normal(size=(N, 8)).astype(np.float32)
    x[7] = x[180]
    columns = {
        "embedding": list(x),
        "label": ["cat", "dog"] * (N // 2),
        "positive": np.arange(N) ^ 1,
        "split": ["train"] * 100 + ["test"] * 100,
        "name": [f"row {row}" for row in range(N)],
        "same": ["x"] * N,
        "nowhere": [10_000] * N,
    }
    pq.write_table(pa.table(columns), tmp_path / "e.parquet")
    np.savez(tmp_path / "other.npz", features=x @ np.linalg.qr(random.normal(size=(8, 8)))[0])
    return tmp_path / "e.parquet"


def test_it_writes_a_folder_and_says_what_it_found(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--labels", "label", "--pairs", "positive", "--splits", "split", "--against", "other.npz"]
    assert main(["diagnose", str(table), *words]) == 0
    said = capsys.readouterr().out
    assert said.startswith("fault: exact duplicates, leak\n")
    assert "Exact duplicates: keep one row of each group" in said
    assert f"\nMeasured: embedding of {table}, 8 dimensions\n" in said
    assert "e-diagnosis" in said
    folder = table.parent / "e-diagnosis"
    summary = json.loads((folder / "summary.json").read_text())
    assert tuple(summary) == tuple(NEEDS)
    assert summary["leaked"]["value"] == pytest.approx(2 / N)
    rows = pq.read_table(folder / "rows.parquet").to_pydict()
    assert rows["name"][7] == "row 7"
    assert [row for row in range(N) if rows["leaked"][row]] == [7, 180]
    assert rows["nearest"][7] == 180
    assert set(rows) >= {"hub", "hub_score", "label_error", "label_error_score", "changed", "orphan"}


def test_a_condition_that_holds_is_exit_code_1(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(table), "--json", "--out", "d", "--fail-on", "rankme < 50"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["faults"]["value"] == 1
    assert said.err.startswith("tammes: the condition 'rankme < 50' holds: rankme is 7.")
    assert main(["diagnose", str(table), "--out", "d", "--fail-on", "rankme < 5"]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--labels kind", "expected a column kind"),
        ("--labels lable", "did you mean label?"),
        ("--labels same", "two classes at least"),
        ("--labels few.npy", "expected one entry in few.npy for each of 200 rows, got the shape (3, 4)"),
        ("--labels none.npy", "No such file"),
        (
            "--labels two.npy",
            "one entry in two.npy for each of 200 rows, got the shape (200,), (3,)",
        ),
        (
            "--pairs few.npy",
            "each of 200 rows, or two columns with the rows of each pair, got the shape (3, 4)",
        ),
        ("--splits few.npy", "expected one entry in few.npy for each of 200 rows, got the shape (3, 4)"),
        ("--pairs nowhere", "pairs of rows from 0 to 199"),
        ("--vectors label", "expected a numeric matrix label"),
        ("--fail-on rankmee<5", "did you mean rankme"),
        ("--fail-on alignment<5", "it needs pairs"),
        ("--neighbors 200", "neighbors of each, got 200: give --neighbors 199 or fewer"),
        ("--neighbors 0", "--neighbors must be"),
        ("--batch 1", "--batch must be"),
        ("--against nothing.npz", "No such file"),
        ("--against few.npy", "200 rows in"),
        ("--out e.parquet", "expected a folder"),
    ],
)
def test_what_does_not_fit_is_one_line(
    table: Path, words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(table.parent / "few.npy", np.ones((3, 4)))
    with (table.parent / "two.npy").open("wb") as file:
        np.savez(file, label=np.arange(N) % 2, other=np.ones(3))
    assert main(["diagnose", str(table), *words.split()]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert message in lines[0]


def test_it_prints_what_the_documents_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).normal(size=(2000, 64))
    x[1900:1960] = x[:60]
    np.save("embeddings.npy", (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32))
    assert main(["diagnose", "embeddings.npy"]) == 0
    said = capsys.readouterr().out.splitlines()
    page = (Path(__file__).parents[2] / "docs/diagnostics.md").read_text()
    sample = page.partition("(some lines left out):\n\n")[2].partition("\n\n")[0]
    shown = [line.removeprefix("    ") for line in sample.splitlines()]
    assert len(shown) == 7
    assert [line for line in shown if line not in said] == []


def test_labels_may_have_a_file_of_their_own(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.random.default_rng(0).normal(size=(60, 4))
    x[3] = 0
    classes = np.array(["cat", "dog", "bird"] * 20)
    np.save("x.npy", x)
    np.save("classes.npy", classes)
    assert main(["diagnose", "x.npy", "--labels", "classes.npy", "--drop"]) == 0
    assert "Class prior: of these labels it is 0.322" in capsys.readouterr().out
    found = pq.read_table("x-diagnosis/rows.parquet")
    assert found["label"].to_pylist() == np.delete(classes, 3).tolist()


def test_pairs_and_splits_may_have_files_of_their_own(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = read_embeddings(table, columns=["positive", "split"])
    found.vectors[4] = 0
    np.save("x.npy", found.vectors)
    np.save("positive.npy", found.columns["positive"].astype(np.int64))
    np.save("split.npy", found.columns["split"].astype(str))
    np.save("pairs.npy", np.arange(N).reshape(-1, 2))
    measured = []
    for pairs in ("positive.npy", "pairs.npy"):
        words = ["x.npy", "--pairs", pairs, "--splits", "split.npy", "--drop", "--json", "--out", "d"]
        assert main(["diagnose", *words]) == 0
        measured.append(json.loads(capsys.readouterr().out))
    assert measured[0] == measured[1]
    direct = tammes.diagnose(
        found.vectors,
        pairs=found.columns["positive"],
        splits=found.columns["split"].astype(str),
        drop=True,
    )
    assert measured[0] == json.loads(direct.json())
    assert measured[0]["leaked"]["value"] == pytest.approx(2 / (N - 1))


def test_a_row_without_a_text_has_an_empty_one(table: Path) -> None:
    rows = pq.read_table(table)
    texts = [None if row == 3 else f"row {row}" for row in range(N)]
    pq.write_table(rows.append_column("text", pa.array(texts)), "texts.parquet")
    assert main(["diagnose", "texts.parquet"]) == 0
    assert pq.read_table("texts-diagnosis/rows.parquet")["name"].to_pylist()[2:5] == ["row 2", "", "row 4"]


def test_rows_that_are_not_usable_are_dropped_on_request(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.random.default_rng(0).normal(size=(60, 4))
    other = x.copy()
    x[3] = 0
    other[5] = np.nan
    np.save("a.npy", x)
    np.save("b.npy", other)
    assert main(["diagnose", "a.npy"]) == 2
    assert "leave such rows out with --drop" in capsys.readouterr().err
    assert main(["diagnose", "a.npy", "--against", "b.npy", "--drop", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]["value"] == 58
    assert pq.read_table("a-diagnosis/rows.parquet")["row"].to_pylist() == [
        row for row in range(60) if row not in (3, 5)
    ]


def test_images_of_the_rows_are_shown(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = table.parent / "photographs"
    folder.mkdir()
    for row in range(N):
        Image.new("RGB", (20, 20), (row, 0, 90)).save(folder / f"row {row}", format="PNG")
    assert main(["diagnose", str(table), "--images", "photographs", "--out", "d"]) == 0
    page = (table.parent / "d" / "report.html").read_text()
    assert page.count('"UklGR') == N
    assert f"{N} of the rows shown" in page
    capsys.readouterr()
    for words, message in (
        (["--images", "nowhere"], "expected a folder of images, found none at nowhere"),
        (["--images", "photographs", "--text", "label"], "found none"),
    ):
        assert main(["diagnose", str(table), "--out", "d", *words]) == 2
        assert message in capsys.readouterr().err
    assert main(["diagnose", "other.npz", "--images", "photographs"]) == 2
    assert "--images needs the file of each row, in a column name or file" in capsys.readouterr().err


def test_a_run_without_embeddings_embeds_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    write_images(Path("photographs"), "cat", "dog", count=20)
    words = "--data photographs --size 8 --batch-size 8 --epochs 1 --held-out 0 --accelerator cpu"
    trained = f"train simclr --temperature 0.5 {words} --out run encoder:convnet --encoder.width 8"
    assert main(trained.split()) == 0
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert main(["diagnose", "there/run", "--json", "--labels", "label", "--out", "d"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["rows"]["value"] == 40
    assert "embedding the data of the run into there/run/embeddings.parquet" in said.err
    assert pq.read_table("there/run/embeddings.parquet").num_rows == 40
    assert main(["diagnose", "there/run", "--json", "--out", "d"]) == 0
    assert "embedding" not in capsys.readouterr().err
    Path("there/run/embeddings.parquet").unlink()
    Path("there/run/command.json").unlink()
    assert main(["diagnose", "there/run"]) == 2
    assert "tammes embed there/run --data DATA" in capsys.readouterr().err


def test_labels_may_be_lines_of_a_text_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "e.npy"
    np.save(file, np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32))
    for name, first in (("of.txt", ""), ("of.csv", "row,label\n")):
        labels = tmp_path / name
        rows = [f"{i}," * bool(first) + ("cat" if i % 2 else "dog") for i in range(40)]
        labels.write_text(first + "\n".join(rows), encoding="utf-8")
        assert main(["diagnose", str(file), "--labels", str(labels), "--out", str(tmp_path / "out")]) == 0
    assert "cat" in capsys.readouterr().out
    labels.write_text("label\ncat\ndog\n", encoding="utf-8")
    assert main(["diagnose", str(file), "--labels", str(labels), "--out", str(tmp_path / "out")]) == 2
    assert "expected a label for each of the 40 rows in" in capsys.readouterr().err
    assert main(["diagnose", str(file), "--pairs", str(labels), "--out", str(tmp_path / "out")]) == 2
    assert "expected pairs in a .npy file" in capsys.readouterr().err


def test_the_share_of_false_negatives_is_one_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows of 200 classes of two: another row has the class with probability 1 / 399."""
    np.save(tmp_path / "e.npy", np.random.default_rng(0).normal(size=(400, 8)).astype(np.float32))
    np.save(tmp_path / "of.npy", np.arange(400) // 2)
    words = ["diagnose", str(tmp_path / "e.npy"), "--labels", str(tmp_path / "of.npy"), "--batch", "64"]
    assert main([*words, "--out", str(tmp_path / "out")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "0.25 % of random ones are false, of the anchor's class: 0.3 of the 126 in a batch" in said
    assert "Class prior: of these labels it is 0.00251" in said


def test_an_array_with_names_of_its_classes_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x, label = np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32), np.arange(60) % 3
    np.savez(tmp_path / "e.npz", features=x, label=label, classes=np.array(["ant", "bee", "cat"]))
    assert main(["diagnose", str(tmp_path / "e.npz"), "--labels", "label", "--out", str(tmp_path / "o")]) == 0
    assert re.search(r"(ant|bee|cat) and (ant|bee|cat) overlap most", capsys.readouterr().out)
