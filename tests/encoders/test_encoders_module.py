"""Networks of other people's code: built by a factory or by timm, trained, loaded again, refused before."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor, nn

import tammes
from tammes.cli.main import main
from tammes.data import Images, digits
from tammes.encoders import ModuleConfig, TimmConfig
from tammes.positives import Handwriting
from tammes.training import RunFolder, TrainingConfig, load_run, train

NETS = '''
import torch
from torch import nn


class WithBuffer(nn.Module):
    """A layer that keeps a number that is no weight."""

    def __init__(self, channels):
        super().__init__()
        self.register_buffer("scale", torch.tensor(2.0), persistent=False)
        layers = nn.Conv2d(channels, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.LazyLinear(12)
        self.layers = nn.Sequential(*layers)

    def forward(self, images):
        return self.layers(images * self.scale)


def build(channels, size):
    network = WithBuffer(channels)
    network(torch.zeros(2, channels, size, size))
    return network


def wide():
    return nn.Conv2d(1, 4, 3)


def needy(depth):
    return nn.Flatten()


def nothing(channels):
    return None


number = 3
'''


@pytest.fixture(scope="module")
def images() -> Images:
    return digits("train").subset(range(64))


@pytest.fixture
def nets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "my_nets.py").write_text(NETS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "my_nets", raising=False)
    return tmp_path


def config(encoder: ModuleConfig | TimmConfig) -> TrainingConfig:
    return TrainingConfig(
        objective=tammes.recipes.simclr(temperature=0.5),
        encoder=encoder,
        augmentation=Handwriting(),
        batch_size=16,
        epochs=1,
    )


def test_a_network_of_ones_own_trains_resumes_and_loads(nets: Path, images: Images) -> None:
    settings = config(ModuleConfig(factory="my_nets:build"))
    folder = RunFolder(path=nets / "run")
    train(settings, images, folder=folder)
    run = train(replace(settings, epochs=2), images, folder=replace(folder, resume=True))
    with pytest.raises(ValueError, match=r"my_nets:build builds, and loading it executes .* trust=True"):
        tammes.load(nets / "run")
    with pytest.raises(ValueError, match="trust=True"):
        tammes.load(nets / "run/model.safetensors")
    for path in (nets / "run", nets / "run/model.safetensors"):
        encoder = tammes.load(path, trust=True)
        assert encoder.features == 12
        batch = images.batch(range(4)) / 255
        torch.testing.assert_close(encoder(batch), run.model.eval().encoder(batch))
    assert load_run(nets / "run", trust=True).metrics[-1].epoch == 2


def test_from_the_shell(nets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "simclr --data digits --temperature 0.5 --epochs 1 --out run --accelerator cpu"
    assert main(["train", *words.split(), "encoder:module", "--encoder.factory", "my_nets:build"]) == 0
    embed = ["embed", "run", "--data", "digits", "--out", "x.npz"]
    capsys.readouterr()
    assert main(embed) == 2
    assert "--trust" in capsys.readouterr().err
    assert main([*embed, "--trust"]) == 0
    assert (nets / "x.npz").exists()


@pytest.mark.parametrize(
    ("factory", "words"),
    [
        (lambda: nn.Flatten(), "imported again"),
        (nn.Flatten(), "got a network"),
        (3, "a function that builds a network"),
    ],
)
def test_a_factory_that_could_not_be_named_is_refused_at_once(factory: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ModuleConfig.of(factory)  # type: ignore[arg-type]


@pytest.mark.parametrize("factory", ["my_nets", "my nets:build", "nets:", ":build", nn.Flatten])
def test_a_name_of_another_form_is_refused(factory: str) -> None:
    with pytest.raises(ValueError, match=r"my_package\.nets:build"):
        ModuleConfig(factory=factory)


@pytest.mark.parametrize(
    ("factory", "words"),
    [
        ("no_such_package.nets:build", "cannot be imported .* PYTHONPATH"),
        ("my_nets:bild", "cannot be imported"),
        ("my_nets:number", "must be a function, got int"),
        ("my_nets:needy", "needs depth too"),
        ("my_nets:nothing", "must return an nn.Module, got NoneType"),
        ("my_nets:wide", r"must return features \(batch, features\) .* got shape \(2, 4, 6, 6\)"),
    ],
)
def test_a_network_that_does_not_fit_is_refused_before_training(
    nets: Path, images: Images, factory: str, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        train(config(ModuleConfig(factory=factory)), images, folder=RunFolder(path=nets / "run"))
    assert not (nets / "run/config.yaml").exists()


def test_a_network_for_other_images_says_which_came(nets: Path) -> None:
    with pytest.raises(ValueError, match=r"torch.nn:Bilinear must be callable with channels and size alone"):
        ModuleConfig(factory="torch.nn:Bilinear").build(channels=1, size=8)
    with pytest.raises(ValueError, match=r"does not take images of shape \(batch, 1, 2, 2\)"):
        ModuleConfig(factory="my_nets:wide").build(channels=1, size=2)


def test_timm_is_asked_for_the_model_without_its_classifier(
    nets: Path, images: Images, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, object]] = []

    class Headed(nn.Module):
        """As timm's models are: `num_features` is the width before a hidden layer of the head."""

        num_features = 8

        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Flatten(), nn.LazyLinear(8), nn.Linear(8, 24))
            self.layers(torch.zeros(1, 1, 8, 8))

        def forward(self, images: Tensor) -> Tensor:
            found: Tensor = self.layers(images)
            return found

    def create_model(name: str, **settings: object) -> nn.Module:
        asked.append({"name": name, **settings})
        if "img_size" in settings:
            raise TypeError("unexpected keyword img_size")
        if name == "unknown":
            raise RuntimeError("Unknown model (unknown)")
        return Headed()

    timm = ModuleType("timm")
    monkeypatch.setattr(timm, "create_model", create_model, raising=False)
    monkeypatch.setitem(sys.modules, "timm", timm)
    train(config(TimmConfig(name="net", pretrained=True)), images, folder=RunFolder(path=nets / "run"))
    assert asked[-1] == {"name": "net", "in_chans": 1, "num_classes": 0, "pretrained": True}
    assert tammes.load(nets / "run").features == 24
    assert asked[-1]["pretrained"] is False  # the weights are in the run
    with pytest.raises(ValueError, match="timm cannot build 'unknown'"):
        TimmConfig(name="unknown").build(channels=1, size=8)


def test_a_missing_timm_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ImportError, match="pip install timm"):
        TimmConfig(name="resnet18").build(channels=3, size=32)
