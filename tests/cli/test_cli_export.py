"""Encoders for programs that do not have Tammes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import tammes
from tammes.cli.main import main
from tammes.data import digits
from tammes.encoders import ConvNetConfig, ResNetConfig
from tammes.positives import Handwriting
from tammes.training import RunFolder, TrainingConfig, train


@pytest.fixture(scope="module", params=[ConvNetConfig(width=8), ResNetConfig()], ids=["convnet", "resnet"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "run"
    config = TrainingConfig(
        objective=tammes.recipes.simclr(temperature=0.5),
        encoder=request.param,
        augmentation=Handwriting(),
        batch_size=8,
        epochs=1,
    )
    train(config, digits("train").subset(range(16)), source="digits", folder=RunFolder(path=path))
    return path


# Torch warns of its own code while it converts.
@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
def test_the_files_compute_the_features_for_any_number_of_images(
    run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    for name in ("encoder.onnx", "encoder.pt2"):
        assert main(["export", str(run), "--out", str(tmp_path / name)]) == 0
        assert "images (batch, 1, 8, 8), float32 in [0, 1]" in capsys.readouterr().out
        assert "torchvision" not in caplog.text
    images = digits("test").batch(range(7)) / 255
    with torch.no_grad():
        expected = tammes.load(run)(images)
    session = onnxruntime.InferenceSession(str(tmp_path / "encoder.onnx"))
    for count in (1, 7):
        (found,) = session.run(["features"], {"images": images[:count].numpy()})
        np.testing.assert_allclose(found, expected[:count], rtol=1e-4, atol=1e-4)
        again = torch.export.load(tmp_path / "encoder.pt2").module()(images[:count])
        torch.testing.assert_close(again.detach(), expected[:count], rtol=1e-4, atol=1e-4)


def test_what_cannot_be_exported_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(tmp_path), "--out", "encoder.tflite"]) == 2
    assert "--out must end in .onnx or .pt2" in capsys.readouterr().err
    assert main(["export", str(tmp_path), "--out", str(tmp_path / "x.pt2")]) == 2
    assert "there is no run in" in capsys.readouterr().err
