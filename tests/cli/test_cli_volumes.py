"""The commands on volumes, and outcomes of every kind of data."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import tammes
from tammes.cli.main import main
from tammes.data import synthetic_volumes, volumes

pytestmark = pytest.mark.filterwarnings("ignore:.*:tammes.evaluation.ProbeNotConvergedWarning")
SHORT = ("--epochs", "1", "--batch-size", "8", "--accelerator", "cpu")
TINY = (*SHORT, "encoder:resnet3d", "--encoder.width", "8")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 24 volumes of 8 voxels a side with two classes, a number and a grade."""
    folder = tmp_path_factory.mktemp("scans")
    generator = np.random.default_rng(0)
    rows = ["id,label,share,stage"]
    for number in range(24):
        share = generator.random()
        np.save(folder / f"s{number:02}.npy", 100 * (generator.random((8, 8, 8)) < share))
        rows.append(f"s{number:02},{'ill' if number % 2 else 'well'},{share},{number % 3}")
    (folder / "outcomes.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def run(data: Path) -> Path:
    folder = data.parent / "run"
    words = ["train", "simclr", "--temperature", "0.2", "--data", str(data), "--out", str(folder), *TINY]
    assert main(words) == 0
    return folder


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line of a command that is refused."""
    capsys.readouterr()
    assert main(list(words)) == 2
    line = capsys.readouterr().err.strip()
    assert "\n" not in line, line
    return line


def test_a_run_has_its_page_and_its_window(run: Path) -> None:
    page = (run / "report.html").read_text()
    assert "8x8x8 voxels, from 0 to 100" in page
    assert "middle slices" in page
    assert "voxels at 8x8x8" in page
    assert "VolumesSummary" in (run / "config.yaml").read_text()


def test_features_are_written_and_are_those_of_the_loaded_encoder(
    run: Path, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "features.npz"
    assert main(["embed", str(run), "--data", str(data), "--out", str(out), "--accelerator", "cpu"]) == 0
    found = np.load(out)
    assert found["name"][0] == "s00.npy"
    assert found["classes"].tolist() == ["ill", "well"]
    encoder = tammes.load(run)
    assert torch.equal(encoder.embed(data), torch.from_numpy(found["features"]))
    voxels = np.stack([np.load(data / f"s{number:02}.npy") for number in range(24)])[:, None]
    assert torch.equal(encoder.embed(voxels), encoder.embed(data))
    other = replace(volumes(data), window=(-1.0, 1.0))  # the same voxels would stand for other values
    for wrong in (other, voxels[0], voxels[..., :4], np.full_like(voxels, np.nan, dtype=float), ["a"]):
        with pytest.raises(ValueError, match=r"expected (finite )?volumes"):
            encoder.embed(wrong)


def test_evaluate_measures_classes_and_outcomes(
    run: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(run), "--data", str(data), "--json"]) == 0
    assert "knn" in json.loads(capsys.readouterr().out)
    words = [
        "evaluate",
        str(run),
        "--data",
        str(data),
        "--outcome",
        "share",
        "--ordinal",
        "stage",
        "--folds",
        "4",
    ]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 24
    assert found["outcomes"]["share"]["r_squared"]["value"] > 0.5
    assert set(found["untrained"]["stage"]) == {"accuracy", "one_off"}
    assert main(words) == 0
    assert "best constant" in capsys.readouterr().out


def test_outcomes_of_images_come_from_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generator = np.random.default_rng(0)
    (tmp_path / "images").mkdir()
    rows = ["id,ink"]
    for number, ink in enumerate(generator.random(24).tolist()):
        drawn = (255 * (generator.random((8, 8)) < ink)).astype(np.uint8)
        Image.fromarray(drawn).save(tmp_path / "images" / f"{number}.png")
        rows.append(f"{number},{ink}")
    table = tmp_path / "table.csv"
    table.write_text("\n".join(rows))
    run, data = str(tmp_path / "run"), str(tmp_path / "images")
    words = ["train", "simclr", "--temperature", "0.5", "--data", data, "--out", run, *SHORT]
    assert main([*words, "encoder:convnet", "--encoder.width", "8"]) == 0
    evaluate = ["evaluate", run, "--data", data, "--outcome", "ink"]
    assert "name a table by --outcomes" in refused(capsys, *evaluate)
    assert main([*evaluate, "--outcomes", str(table), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcomes"]["ink"]["r_squared"]["value"] > 0.3


def test_synthetic_volumes_need_no_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "simclr", "--temperature", "0.2", "--data", "synthetic-volumes:24", "--size", "16"]
    run = tmp_path / "run"
    assert main([*words, "--held-out", "0", "--out", str(run), *TINY]) == 0
    voxels = synthetic_volumes(24, size=16)
    assert tammes.load(run).embed(voxels).shape == (24, 32)
    assert main(["train", "--resume", str(run)]) == 0
    assert "expected a number of volumes" in refused(capsys, *words[:-3], "synthetic-volumes:x")
    assert "leave --window" in refused(capsys, *words, "--window", "0", "2")
    assert "only encoders of images" in refused(capsys, "export", str(run), "--out", str(tmp_path / "a.onnx"))


def test_what_does_not_fit_is_refused(run: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = ["train", "simclr", "--temperature", "0.2", "--data"]
    assert "holds volumes" in refused(capsys, *train, str(data), "encoder:resnet9")
    assert "holds volumes" in refused(capsys, *train, str(data), "augmentation:photographs")
    assert "--channels is for other data" in refused(capsys, *train, str(data), "--channels", "1")
    assert "is for volumes" in refused(capsys, *train, "digits", "encoder:resnet3d")
    assert "--window is for volumes" in refused(capsys, *train, "digits", "--window", "0", "1")
    assert "volumes are held in memory" in refused(capsys, *train, str(data), "--cache", "cache")
    evaluate = ["evaluate", str(run), "--data"]
    assert "name volumes" in refused(capsys, *evaluate, "digits")
    assert "expected a column age" in refused(capsys, *evaluate, str(data), "--outcome", "age")
    assert "leave --test out" in refused(
        capsys, *evaluate, str(data), "--outcome", "share", "--test", str(data)
    )
    assert "needs columns" in refused(capsys, *evaluate, str(data), "--outcomes", "a.csv")
    both = ["--outcome", "stage", "--ordinal", "stage"]
    assert "real or ordinal" in refused(capsys, *evaluate, str(data), *both)
