"""`encoder:transformers` as a user types it, for texts and images."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

pytest.importorskip("transformers")

import tammes
import tiny_models
from tammes.cli.conclusion import conclusion
from tammes.cli.main import main
from tammes.cli.scores import Measured, Trial
from tammes.encoders import TransformersConfig
from tammes.positives import Adjacent, GivenPairs
from tammes.report import Scores
from tammes.training import load_run
from tammes.training.summaries import TextsSummary
from tiny import random_texts, write_texts

SETTINGS = "--batch-size 4 --epochs 1 --accelerator cpu encoder:transformers --encoder.name-or-path"


def run(words: str, *more: str | Path) -> int:
    return main([*words.split(), *map(str, more)])


def fails(capsys: pytest.CaptureFixture[str], words: str, *more: str | Path) -> str:
    """What a command says that must fail as something the user can mend."""
    capsys.readouterr()
    assert run(words, *more) == 2
    message = capsys.readouterr().err
    assert "Traceback" not in message
    assert message.count("\n") == 1
    return message


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, a folder of texts and one of pictures."""
    root = tmp_path_factory.mktemp("root")
    tiny_models.write_text_model(root / "bert")
    tiny_models.write_model(root / "vit", tiny_models.vit(24))
    write_texts(root / "letters", random_texts(3, 12))
    pixels = np.random.default_rng(0)
    for name in ("cats", "dogs"):
        (root / "pictures" / name).mkdir(parents=True)
        for number in range(10):
            picture = pixels.integers(0, 256, (30, 40, 3), dtype=np.uint8)
            Image.fromarray(picture).save(root / "pictures" / name / f"{number}.png")
    return root


@pytest.fixture(scope="module")
def of_texts(root: Path) -> Path:
    words = f"train simclr --temperature 0.5 {SETTINGS} {root / 'bert'} --encoder.pooling cls"
    assert run(words, "--data", root / "letters", "--out", root / "of_texts") == 0
    return root / "of_texts"


@pytest.fixture(scope="module")
def of_images(root: Path) -> Path:
    words = f"train simclr --temperature 0.5 {SETTINGS} {root / 'vit'}"
    assert run(words, "--data", root / "pictures", "--out", root / "of_images") == 0
    return root / "of_images"


def test_a_run_on_texts_is_measured_beside_the_pretrained_model(of_texts: Path) -> None:
    training = load_run(of_texts).config.training
    assert (training.head, training.augmentation) == (None, None)
    assert (training.optimizer.learning_rate, training.optimizer.clip_norm) == (3e-5, 1.0)
    page = (of_texts / "report.html").read_text()
    assert "pretrained encoder" in page
    assert "transformers: name or path" in page
    assert "pooling cls" in page
    data = load_run(of_texts).config.data
    assert isinstance(data, TextsSummary)
    assert data.vocabulary == tiny_models.SIZE


def test_the_other_commands_read_the_run(
    of_texts: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = root / "embedded.npz"
    assert (
        run(f"embed {of_texts} --accelerator cpu --batch-size 5 --data {root / 'letters'} --out {out}") == 0
    )
    assert np.load(out)["features"].shape == (36, 8)
    capsys.readouterr()
    assert run(f"evaluate {of_texts} --json --accelerator cpu --data {root / 'letters'}") == 0
    assert 0 <= json.loads(capsys.readouterr().out)["knn"] <= 1
    message = fails(capsys, f"export {of_texts} --out {root / 'x.onnx'}")
    assert "trained on texts" in message


@pytest.mark.filterwarnings("ignore:no positive for")
def test_two_models_are_trained_by_quick_thoughts_and_read_by_the_other_commands(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    letters, trained = root / "letters", tmp_path / "run"
    model = f"encoder:transformers --encoder.name-or-path {root / 'bert'} --encoder.towers 2"
    words = f"train quick-thoughts --temperature 8 --epochs 1 --accelerator cpu {model}"
    assert run(words, "--held-out", "0.3", "--data", letters, "--out", trained) == 0
    training = load_run(trained).config.training
    assert training.encoder == TransformersConfig(name_or_path=str(root / "bert"), towers=2)
    assert (training.positives, training.optimizer.learning_rate) == (Adjacent(), 3e-5)
    assert "pretrained encoder" in (trained / "report.html").read_text()
    assert run(f"embed {trained} --accelerator cpu --data {letters} --out {tmp_path / 'rows.npz'}") == 0
    assert np.load(tmp_path / "rows.npz")["features"].shape == (36, 16)
    capsys.readouterr()
    assert run(f"search {trained} --data {letters} --json --query", "w1 w2 w3") == 0
    assert json.loads(capsys.readouterr().out)["sentences"] == 36
    assert run(f"evaluate {trained} --json --accelerator cpu --data {letters}") == 0
    assert 0 <= json.loads(capsys.readouterr().out)["knn"] <= 1


def test_two_models_are_trained_on_given_pairs(root: Path, tmp_path: Path) -> None:
    rows = "".join(f"w{row % 5} d0w5,w{row % 4} d1w6\n" for row in range(16))
    (tmp_path / "pairs.csv").write_text(f"question,answer\n{rows}")
    columns = "--anchor-column question --positive-column answer"
    words = f"train simclr --temperature 0.5 {columns} {SETTINGS} {root / 'bert'} --encoder.towers 2"
    assert run(words, "--data", tmp_path / "pairs.csv", "--out", tmp_path / "run") == 0
    assert load_run(tmp_path / "run").config.training.positives == GivenPairs()
    assert tammes.load(tmp_path / "run").embed(["w1 w2"]).shape == (1, 16)


def test_objectives_are_compared_from_random_weights(root: Path) -> None:
    words = f"compare simclr dcl {SETTINGS} {root / 'bert'} --encoder.no-pretrained --data {root / 'letters'}"
    assert run(f"{words} --report {root / 'report.html'}") == 0
    assert "untrained encoder" in (root / "report.html").read_text()


def test_pictures_have_the_size_of_the_model(of_images: Path) -> None:
    encoder = tammes.load(of_images)
    assert encoder.settings.data.size == 24
    assert encoder.settings.training.optimizer.learning_rate == 3e-5
    assert encoder.settings.training.head is not None
    assert encoder(torch.rand(2, 3, 24, 24)).shape == (2, 8)


# Torch warns of its own code while it converts.
@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
def test_an_encoder_that_scales_its_images_is_exported(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    words = f"train simclr --temperature 0.5 --size 30 {SETTINGS} {root / 'vit'}"
    assert run(words, "--data", root / "pictures", "--out", tmp_path / "run") == 0
    for name in ("encoder.onnx", "encoder.pt2"):
        assert run(f"export {tmp_path / 'run'} --out {tmp_path / name}") == 0
        assert "images (batch, 3, 30, 30)" in capsys.readouterr().out


def test_what_does_not_fit_is_said_in_a_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = f"train simclr --temperature 0.5 --out {root / 'none'} {SETTINGS}"
    texts, pictures = root / "letters", root / "pictures"
    assert "is a model of images" in fails(capsys, f"{train} {root / 'vit'} --data {texts}")
    assert "is a model of texts" in fails(capsys, f"{train} {root / 'bert'} --data {pictures}")
    words = f"{train} {root / 'bert'} --data {texts} --encoder.max-length"
    assert "got --encoder.max-length 99" in fails(capsys, f"{words} 99")
    message = fails(capsys, f"{train} {root / 'vit'} --data {pictures} --encoder.pooling last")
    assert "choose the pooling mean or cls" in message
    assert "is for images, but" in fails(capsys, f"{train} {root / 'bert'} --data {texts} --size 8")
    bare = root / "bare"
    shutil.copytree(root / "bert", bare)
    (bare / "model.safetensors").unlink()
    message = fails(capsys, f"{train} {bare} --data {texts}")
    assert "cannot be read" in message
    assert not (root / "none").exists()


@pytest.mark.parametrize(("name", "data"), [("bert", "letters"), ("vit", "pictures")])
def test_resumed_without_the_model_a_run_has_no_pretrained_encoder_beside_it(
    root: Path, tmp_path: Path, name: str, data: str
) -> None:
    model = Path(shutil.copytree(root / name, tmp_path / "model"))
    words = f"train simclr --temperature 0.5 {SETTINGS} {model} --out {tmp_path / 'run'}"
    assert run(words, "--data", root / data) == 0
    assert "pretrained encoder" in (tmp_path / "run/report.html").read_text()
    shutil.rmtree(model)
    (tmp_path / "run/model.safetensors").unlink()
    assert run(f"train --resume {tmp_path / 'run'}") == 0
    assert "pretrained encoder" not in (tmp_path / "run/report.html").read_text()


def test_a_conclusion_names_the_pretrained_encoder() -> None:
    ours, theirs, words = (
        Trial(
            name=name,
            measured=(
                Measured(scores=Scores(knn=right / 200), right=(True,) * right + (False,) * (200 - right)),
            ),
        )
        for name, right in (("ours", 180), ("pretrained encoder", 100), ("tf-idf", 180))
    )
    assert conclusion(ours, (theirs, words)).startswith("Better than pretrained, not clearly above tf-idf")
