"""The encoder of a finished run, in other programs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from PIL import Image
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import tammes
from tammes.data import Images, TensorPixels, digits, texts
from tammes.encoders import BagOfWordsConfig, ConvNetConfig
from tammes.positives import Handwriting, Neighbors
from tammes.training import RunFolder, TrainingConfig, embed, load_run, train
from tammes.training.embedder import Embedder
from tammes.training.trained import TrainedEncoder, load


@pytest.fixture(scope="module")
def images() -> Images:
    return digits("train").subset(range(96))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, images: Images) -> Path:
    path = tmp_path_factory.mktemp("run") / "mine"
    config = TrainingConfig(
        objective=tammes.recipes.simclr(temperature=0.5),
        encoder=ConvNetConfig(width=8),
        augmentation=Handwriting(),
        batch_size=32,
        epochs=1,
    )
    train(config, images, source="digits", folder=RunFolder(path=path))
    return path


@pytest.fixture(scope="module")
def text_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("texts")
    for name in ("a", "b"):
        lines = [f"the {name} {word} {k} runs far" for k in range(20) for word in ("cat", "dog")]
        (root / f"{name}.txt").write_text("\n".join(lines))
    config = TrainingConfig(
        objective=tammes.recipes.logistic(),
        encoder=BagOfWordsConfig(dim=16),
        head=None,
        augmentation=None,
        positives=Neighbors(),
        batch_size=16,
        epochs=1,
    )
    train(config, texts(root), source="texts", folder=RunFolder(path=root / "run"))
    return root / "run"


def test_it_is_in_evaluation_mode_and_gives_what_embed_gives(run: Path, images: Images) -> None:
    encoder = tammes.load(run)
    assert not any(module.training for module in encoder.modules())
    features, embeddings = embed(load_run(run).model, images)
    assert torch.equal(encoder.embed(images), features)
    assert torch.equal(encoder.embed(images, projected=True), embeddings)
    torch.testing.assert_close(encoder(images.batch(range(96)) / 255), features)


def test_a_path_may_be_a_string_and_the_weights_alone(run: Path, images: Images, tmp_path: Path) -> None:
    expected = load(run).embed(images)
    file = shutil.copy(run / "model.safetensors", tmp_path / "other.safetensors")
    assert torch.equal(load(str(file)).embed(images), expected)
    shutil.copy(run / "model.safetensors", tmp_path)
    assert torch.equal(load(tmp_path).embed(images), expected)


def test_each_kind_of_images_gives_the_same(run: Path, images: Images, tmp_path: Path) -> None:
    encoder = load(run)
    expected, pixels = encoder.embed(images)[:4], images.batch(range(4))
    array = pixels[:, 0].numpy()
    pictures = [Image.fromarray(each) for each in array]
    for number, picture in enumerate(pictures):
        picture.save(tmp_path / f"{number}.png")
    files = sorted(tmp_path.iterdir())
    for data in (pixels, array, array[..., None], pictures, files, tmp_path, str(tmp_path)):
        torch.testing.assert_close(encoder.embed(data), expected, rtol=0, atol=0)
    assert torch.equal(encoder.embed(files[1]), encoder.embed(pictures[1]))


def test_an_image_is_scaled_to_the_size_of_training(run: Path, images: Images) -> None:
    large = Image.fromarray(images.batch([0])[0, 0].numpy()).resize((64, 48)).convert("RGB")
    assert load(run).embed([large]).shape == (1, 32)


def test_texts_are_strings(text_run: Path) -> None:
    encoder = load(text_run)
    sentences = ["the cat runs", "the dog runs far"]
    found = encoder.embed(sentences)
    assert found.shape == (2, 16)
    assert torch.equal(encoder.embed(np.array(sentences)), found)
    assert torch.equal(load(text_run / "model.safetensors").embed(sentences), found)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (torch.rand(2, 1, 8, 8), "expected images .* scale floats to bytes first"),
        (["nowhere.png"], "nowhere.png"),
        ([], "expected images"),
        ([1, 2], "got int among them"),
        (np.zeros((2, 8)), "expected images .* got ndarray of float64"),
        ([np.zeros((8, 8))], r"expected images .* got ndarray of float64 \(8, 8\) among them"),
        (np.zeros((2, 3, 8, 8), np.uint8), r"expected images .* got ndarray of uint8 \(3, 8, 8\) among"),
        (np.zeros((2, 0, 8), np.uint8), r"expected images .* got ndarray of uint8 \(0, 8\) among"),
        (
            Images(pixels=TensorPixels(torch.zeros(1, 3, 8, 8, dtype=torch.uint8)), names=("",)),
            "expected images of 1x8x8 .* as in training, got",
        ),
    ],
)
def test_other_data_are_refused_for_images(run: Path, data: object, words: str) -> None:
    with pytest.raises((ValueError, OSError), match=words):
        load(run).embed(data)


@pytest.mark.parametrize("data", ["one sentence", [1], 3, ["fine", " "]])
def test_other_data_are_refused_for_texts(text_run: Path, data: object) -> None:
    with pytest.raises(ValueError, match=r"expected a list of strings|an empty one"):
        load(text_run).embed(data)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no run in"):
        load(tmp_path)
    with pytest.raises(ValueError, match="there is no run in"):
        load("runs/nowhere")


@pytest.mark.parametrize(
    "metadata", [None, {"tammes": "{"}, {"tammes": "[]"}, {"tammes": '{"config": "a: ["}'}]
)
def test_weights_without_a_configuration_are_refused(
    run: Path, tmp_path: Path, metadata: dict[str, str] | None
) -> None:
    weights = safetensors.torch.load_file(run / "model.safetensors")
    file = tmp_path / "other.safetensors"
    safetensors.torch.save_file(weights, file, metadata)
    with pytest.raises(ValueError, match=r"other\.safetensors|not YAML"):
        load(file)
    file.write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"other\.safetensors"):
        load(file)


def test_the_metadata_are_one_entry(run: Path) -> None:
    content = (run / "model.safetensors").read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    assert list(header["__metadata__"]) == ["tammes"]
    assert json.loads(header["__metadata__"]["tammes"])["config"] == (run / "config.yaml").read_text()


def test_a_pipeline_of_scikit_learn_takes_images(run: Path, images: Images) -> None:
    assert images.labels is not None
    array, labels = images.batch(range(96))[:, 0].numpy(), images.labels.numpy()
    pipeline = make_pipeline(Embedder(run), LogisticRegression(max_iter=1000))
    pipeline.fit(array[:64], labels[:64])
    assert pipeline.score(array[64:], labels[64:]) > 0.3
    embedder = clone(pipeline[0]).set_params(projected=True)
    with pytest.raises(NotFittedError):
        embedder.get_feature_names_out()
    assert embedder.transform(array).shape == (96, load(run).model.dim)
    assert len(embedder.get_feature_names_out()) == load(run).model.dim


def test_the_mixin_of_the_hub_saves_and_loads_it(run: Path, images: Images, tmp_path: Path) -> None:
    encoder = load(run)
    encoder.save_pretrained(tmp_path / "saved")
    assert {"model.safetensors", "config.json"} <= {each.name for each in (tmp_path / "saved").iterdir()}
    again = TrainedEncoder.from_pretrained(tmp_path / "saved")
    assert torch.equal(again.embed(images), encoder.embed(images))
    assert again.settings == encoder.settings


def test_a_name_on_the_hub_is_asked_for(run: Path, images: Images, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, object]] = []

    def download(**named: object) -> str:
        asked.append(named)
        return str(run / str(named["filename"]))

    (run / "config.json").write_text("{}")
    monkeypatch.setattr("tammes.training.trained.hf_hub_download", download)
    monkeypatch.setattr("huggingface_hub.hub_mixin.hf_hub_download", download)
    encoder = TrainedEncoder.from_pretrained("me/digits", revision="v1")
    assert [each["filename"] for each in asked] == ["config.json", "model.safetensors"]
    assert all(each["repo_id"] == "me/digits" and each["revision"] == "v1" for each in asked)
    assert torch.equal(encoder.embed(images), load(run).embed(images))


def test_without_huggingface_hub_only_the_hub_is_missing(run: Path) -> None:
    program = (
        "import sys, tammes.training.loop\n"  # of the packages imported here, some may need it
        "sys.modules['huggingface_hub'] = None\n"
        f"encoder = tammes.load({str(run)!r})\n"
        "try:\n    encoder.push_to_hub('me/digits')\nexcept ImportError as error:\n    print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "the hub needs huggingface_hub" in found.stdout
