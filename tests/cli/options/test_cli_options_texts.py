"""The commands on texts, as a user types them."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from tammes.cli.holding_out import hold_out
from tammes.cli.main import main
from tammes.cli.options.texts import TextFormat
from tammes.cli.texts import looks_like_texts
from tammes.data import Texts
from tammes.positives import Neighbors, SameClass
from tammes.training import load_run
from tiny import random_texts, write_images, write_texts

SETTINGS = (
    "--batch-size 4 --epochs 2 --accelerator cpu --measure-every 2 schedule:constant "
    "encoder:bag-of-words --encoder.dim 8 --encoder.minimum-count 2"
)
TRAIN = f"train logistic selection:subset --selection.k 3 --no-head --clip-norm 2.5 {SETTINGS}"


def run(words: str, *more: str | Path) -> int:
    return main([*words.split(), *map(str, more)])


def fails(capsys: pytest.CaptureFixture[str], words: str, *more: str | Path) -> str:
    """What a command says that must fail as something the user can mend."""
    capsys.readouterr()
    assert run(words, *more) == 2
    message = capsys.readouterr().err
    assert "Traceback" not in message
    return " ".join(message.split())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_texts(tmp_path_factory.mktemp("data") / "letters", random_texts(3, 20))


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "run"
    assert run(TRAIN, "--data", data, "--out", out) == 0
    return out


def write_table(path: Path, texts: Texts) -> Path:
    assert texts.classes is not None
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sentence", "author"])
        for sentence, label in zip(texts.sentences, texts.required_labels().tolist(), strict=True):
            writer.writerow([sentence, texts.classes[label]])
    return path


def test_train_leaves_a_whole_run(trained: Path) -> None:
    assert sorted(file.name for file in trained.iterdir()) == [
        "checkpoints",
        "command.json",
        "config.yaml",
        "environment.yaml",
        "metrics.csv",
        "model.safetensors",
        "report.html",
        "vocabulary.json",
    ]
    training = load_run(trained).config.training
    assert (training.head, training.augmentation, training.positives) == (None, None, SameClass())
    assert training.optimizer.clip_norm == 2.5
    page = (trained / "report.html").read_text()
    assert "The nearest sentences" in page
    assert "class means" in page
    assert "The untrained encoder: " in page
    assert not any(word in page for word in ("pixels", "picture", "test images", "<img"))


def test_brackets_in_names_are_printed_as_they_are(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    out = tmp_path / "[bold] [" / "b]"  # rich would take the path's end for the end of something bold
    assert run(TRAIN, "--data", data, "--out", out) == 0
    assert f"The run is in {out}; open {out / 'report.html'}" in capsys.readouterr().out


@pytest.mark.equal_bits
def test_a_stopped_run_goes_on_to_the_same_end(trained: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run(TRAIN.replace("--epochs 2", "--epochs 1"), "--data", data, "--out", out) == 0
    assert run(f"{TRAIN} --resume", "--data", data, "--out", out) == 0
    for name in ("model.safetensors", "vocabulary.json", "config.yaml"):
        assert (out / name).read_bytes() == (trained / name).read_bytes(), name


@pytest.mark.equal_bits
def test_embed_writes_a_row_for_each_sentence(trained: Path, data: Path, tmp_path: Path) -> None:
    for suffix in ("parquet", "npz"):
        words = f"embed {trained} --accelerator cpu --batch-size 7"
        assert run(words, "--data", data, "--out", tmp_path / f"e.{suffix}") == 0
    table, arrays = pq.read_table(tmp_path / "e.parquet"), np.load(tmp_path / "e.npz")
    assert table.num_rows == len(arrays["name"]) == 60
    assert table["name"][0].as_py() == "document 0.txt:1"
    assert table["label"][59].as_py() == "document 2.txt"
    features = np.stack(table["features"].to_numpy())
    assert features.shape == (60, 8)
    assert np.array_equal(features, arrays["projection"])


def test_evaluate_measures_on_what_was_held_out(
    trained: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(f"evaluate {trained} --json --accelerator cpu", "--data", data) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert all(0 <= numbers[name] <= 1 for name in ("knn", "means", "linear"))
    assert not any("probe" in name for name in numbers)
    assert 0 <= numbers["alignment"] <= 4
    assert run(f"evaluate {trained} --accelerator cpu", "--data", data) == 0
    assert f"{100 * numbers['means']:.1f}" in capsys.readouterr().out


def test_a_table_with_columns_trains_too_and_its_classes_are_known_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = random_texts(3, 20)
    table = write_table(tmp_path / "letters.csv", texts)
    reverse = write_table(tmp_path / "other.csv", texts.subset(range(59, -1, -1)))
    columns = "--text-column sentence --label-column author"
    assert run(f"{TRAIN} {columns} --test {reverse}", "--data", table, "--out", tmp_path / "run") == 0
    capsys.readouterr()
    evaluate = f"evaluate {tmp_path / 'run'} --json --accelerator cpu {columns} --data {table}"
    found = []
    for test in (table, reverse):
        assert run(evaluate, "--test", test) == 0
        found.append(json.loads(capsys.readouterr().out)["means"])
    assert found[0] == found[1]
    message = fails(capsys, f"{TRAIN} --text-column words", "--data", table, "--out", tmp_path / "no")
    assert "expected a column 'words'" in message
    assert "sentence, author" in message
    columns = "--text-column sentence --label-column autor"
    message = fails(capsys, f"{TRAIN} {columns}", "--data", table, "--out", tmp_path / "no")
    assert message.endswith("found sentence, author: did you mean 'author'?")
    assert "'text'" in (message := fails(capsys, TRAIN, "--data", table, "--out", tmp_path / "no"))
    assert "name another with --text-column" in message


def test_lines_of_one_file_are_neighbours_and_nothing_is_measured(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("\n".join(random_texts(1, 30).sentences))
    assert run(TRAIN, "--data", book, "--out", tmp_path / "run") == 0
    trained = load_run(tmp_path / "run")
    assert trained.config.training.positives == Neighbors()
    assert trained.metrics[-1].knn is None
    page = (tmp_path / "run/report.html").read_text()
    assert "the two sentences of a pair" in page


@pytest.mark.filterwarnings("always:.*no positive for")
def test_compare_sets_objectives_side_by_side(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    capsys.readouterr()
    words = f"compare simclr logistic hcl positives:neighbors {SETTINGS}".replace("--measure-every 2 ", "")
    assert run(words, "--data", data) == 0
    printed, said = capsys.readouterr()
    assert "no positive for 1 of 54 sentences: left out" in said
    assert all(name in printed for name in ("simclr", "logistic", "hcl", "untrained encoder", "means"))
    page = re.sub(r"<[^>]+>|\s+", " ", (tmp_path / "report.html").read_text())
    assert re.search(r"sentences +54 of \d documents, \d+ words +encoder +bag of words", page)
    assert re.search(r"positives +neighbors +batch size", page)
    assert "How a linear classifier, trained with all labels, classifies the" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--size 8", "--size is for images, but"),
        ("--channels 1 augmentation:handwriting", "--channels, augmentation: is for images"),
        ("positives:itself", "its own positive teaches nothing"),
        ("positives:itself", "or an encoder with dropout, encoder:text-transformer"),
        ("--chunk 2", "no activations that chunks would save"),
        ("negatives:queue", "a queue recognizes a repeated row"),
        ("--label-column author", "plain text has no columns"),
        ("--files *.md", "*.md"),
        ("--encoding klingon", "expected the name of an encoding"),
        ("--encoder.minimum-count 1000", "expected words that occur at least 1000 times"),
    ],
)
def test_what_does_not_go_with_texts_is_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    assert message in fails(capsys, f"{TRAIN} {words}", "--data", data, "--out", tmp_path / "run")
    assert not list((tmp_path / "run").glob("*.*"))


def test_a_batch_larger_than_an_epoch_is_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = TRAIN.replace("--batch-size 4", "--batch-size 400")
    message = fails(capsys, words, "--data", data, "--out", tmp_path / "run")
    assert "the batch (400) is larger than the data (27 pairs of sentences)" in message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("selection:subset --selection.k 7", "7"),
        ("selection:subset --selection.k 0", "0"),
        ("selection:all encoder:convnet", "that encoder: is for images"),
    ],
)
def test_what_makes_no_sense_is_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    command = f"train logistic {words} --batch-size 4 --epochs 1 --accelerator cpu"
    capsys.readouterr()
    assert run(command, "--data", data, "--out", tmp_path / "run") == 2
    assert message in capsys.readouterr().err
    assert not list((tmp_path / "run").glob("*.*"))


def test_nothing_to_learn_from_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.txt").write_text("\n \n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "odd.txt").write_bytes(b"one\nt\xffo\n")
    for name, message in {
        "empty.txt": "expected sentences in",
        "folder": "found no files",
        "nowhere": "no such folder",
        "nowhere.csv": "found nothing at",
        "odd.txt": "in line 2 of",
    }.items():
        assert message in fails(capsys, TRAIN, "--data", tmp_path / name, "--out", tmp_path / "run")


def test_data_of_the_other_kind_are_refused(
    trained: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pets = write_images(tmp_path / "pets", "cat", "dog")
    assert "was trained on texts, but" in fails(capsys, f"evaluate {trained} --data {pets}")
    assert "found nothing at nowhere" in fails(capsys, f"evaluate {trained} --data nowhere")
    assert "was trained on texts, but" in fails(
        capsys, f"embed {trained} --out {tmp_path}/e.npz --data digits"
    )
    small = "train simclr --temperature 0.5 --batch-size 4 --epochs 1 --size 8 --accelerator cpu"
    out = tmp_path / "images"
    assert "--label-column is for texts" in fails(
        capsys, f"{small} --label-column a --data {pets} --out {out}"
    )
    assert "encoder:bag-of-words is for texts" in fails(
        capsys, f"{small} encoder:bag-of-words --data {pets} --out {out}"
    )
    assert "images have no reading order" in fails(
        capsys, f"{small} positives:neighbors --data {pets} --out {out}"
    )
    assert (
        run(f"{small} encoder:convnet --encoder.width 8 --data {pets} --out {out} positives:same-class") == 0
    )
    assert load_run(out).config.training.positives == SameClass()
    assert "was trained on images, but" in fails(capsys, f"evaluate {out} --data {data}")


def test_what_is_held_out_leaves_every_document_a_pair() -> None:
    texts = random_texts(4, 10).subset([*range(10), 10, 11, 20, 21, 22, *range(30, 40)])
    train, test = hold_out(texts, 0.1)
    assert train.required_labels().bincount().tolist() == [9, 2, 2, 9]
    assert test.required_labels().bincount().tolist() == [1, 0, 1, 1]


def test_texts_are_told_from_images_by_what_there_is_most_of(tmp_path: Path) -> None:
    usual = TextFormat()
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("words")
    assert looks_like_texts(str(tmp_path), usual)
    Image.new("L", (8, 8)).save(tmp_path / "cover.png")
    assert looks_like_texts(str(tmp_path), usual)
    Image.new("L", (8, 8)).save(tmp_path / "other.jpg")
    assert not looks_like_texts(str(tmp_path), usual)
    assert looks_like_texts(str(tmp_path), TextFormat(files="*.txt"))
    assert looks_like_texts(str(tmp_path / "a.txt"), usual)
    assert looks_like_texts("hub:owner/name", usual)
    assert not looks_like_texts(str(tmp_path / "cover.png"), usual)
    assert not looks_like_texts(str(tmp_path / "nowhere"), usual)
    assert looks_like_texts(str(tmp_path / "nowhere.csv"), usual)


def test_folders_that_link_to_each_other_are_looked_at_once(tmp_path: Path) -> None:
    for name in map(str, range(20)):
        (tmp_path / name).mkdir()
        for other in map(str, range(20)):
            (tmp_path / name / other).symlink_to(tmp_path / other)
    (tmp_path / "7" / "a.txt").write_text("words")
    assert looks_like_texts(str(tmp_path), TextFormat())
