"""Tar shards from the shell: trained on, measured, resumed, and refused where they are cut short."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tammes.cli.main import main
from tammes.cli.scores import Measure
from tammes.data import Images, TensorPixels
from tammes.evaluation import KNN
from tammes.training import load_run
from tiny import write_parquet, write_shards

NETWORK = "encoder:convnet --encoder.width 8 --head.dim 8"
SETTINGS = f"--size 8 --batch-size 4 --held-out 0.3 --accelerator cpu schedule:constant {NETWORK}"
TRAIN = f"train simclr --temperature 0.5 {SETTINGS}"

pytestmark = pytest.mark.filterwarnings("default")


def run(words: str, *more: str | Path) -> int:
    return main([*words.split(), *map(str, more)])


@pytest.fixture(scope="module")
def pets(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_shards(tmp_path_factory.mktemp("pets"), 8, 8, 8) / "pets-{0..2}.tar")


@pytest.fixture(scope="module")
def trained(pets: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "run"
    assert run(f"{TRAIN} --epochs 2", "--data", pets, "--out", out) == 0
    return out


@pytest.mark.equal_bits
def test_a_run_on_shards_resumes_by_its_folder(
    trained: Path, pets: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"{TRAIN} --epochs 1", "--data", pets, "--out", tmp_path / "run") == 0
    assert "kNN" in capsys.readouterr().out
    more = "--epochs 2 --neighbors 5 --neighbor-temperature 0.1"
    assert run(f"train --resume {tmp_path / 'run'} {more}") == 0
    assert "5, weighted by exp(cosine / 0.1)" in (tmp_path / "run/report.html").read_text()
    assert run(f"train --resume {tmp_path / 'run'} --epochs 2 --neighbors 50") == 2
    assert "--neighbors must be at most the number of training points, got 50" in capsys.readouterr().err
    weights = [folder / "model.safetensors" for folder in (trained, tmp_path / "run")]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    assert load_run(trained).config.data.source == pets
    assert (trained / "report.html").exists()


def test_embed_and_evaluate_read_them(
    trained: Path, pets: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("embed", trained, "--data", pets, "--out", tmp_path / "e.npz") == 0
    assert "wrote 24 rows" in capsys.readouterr().out
    assert run("evaluate", trained, "--data", pets, "--held-out", "0.3") == 0


def test_a_shard_that_is_cut_short_is_counted_or_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    file = write_shards(tmp_path / "pets", 8, 8, 8) / "pets-1.tar"
    file.write_bytes(file.read_bytes()[:5000])
    assert run(f"{TRAIN} --epochs 1", "--data", tmp_path / "pets", "--out", tmp_path / "run") == 0
    said = capsys.readouterr()
    assert "tammes: warning: 1 of 3 shards in" in said.err
    assert "1 file that cannot be used was left out: pets-1.tar (with 3 images before the damage)" in said.out
    assert run(f"{TRAIN} --epochs 1 --strict", "--data", tmp_path / "pets", "--out", tmp_path / "strict") == 2
    assert "leave them out without --strict" in capsys.readouterr().err
    write_shards(tmp_path / "pets", 8, 8, 8)
    assert run(f"{TRAIN} --epochs 2 --resume", "--data", tmp_path / "pets", "--out", tmp_path / "run") == 2
    assert "put back the shards that the run was started with" in capsys.readouterr().err


def test_a_stream_is_trained_on_and_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("datasets")
    files = write_parquet(tmp_path / "pets", 8, 8, 8)
    measured: list[object] = []

    def of(data: Images, held_out: Images, knn: KNN | None) -> Measure:
        measure = whole(data, held_out, knn)
        measured.extend([measure.train, measure.test])
        return measure

    whole = Measure.of
    monkeypatch.setattr(Measure, "of", of)
    words = TRAIN.replace("--size 8 ", "")
    assert run(f"{words} --epochs 1", "--data", f"hf:{files}", "--out", tmp_path / "run") == 0
    assert load_run(tmp_path / "run").config.data.size == 10
    assert all(isinstance(each, Images) and isinstance(each.pixels, TensorPixels) for each in measured)
    assert len(measured) == 2
    assert run("embed", tmp_path / "run", "--data", f"hf:{files}", "--out", tmp_path / "e.npz") == 0
    assert "wrote 24 rows" in capsys.readouterr().out
    assert run(f"train --resume {tmp_path / 'run'} --epochs 2") == 0
    assert run(TRAIN, "--data", f"hf:{files}", "--cache", tmp_path / "cache") == 2
    assert "but a stream is read from its files: leave it out" in capsys.readouterr().err
    assert run(TRAIN, "--data", f"hf:{files}", "--split", "train") == 2
    assert "has no splits, got --split 'train'" in capsys.readouterr().err
    assert run(TRAIN, "--data", f"hf:{files}", "--text-column", "x") == 2
    assert "--text-column is for texts" in capsys.readouterr().err


def test_the_images_of_a_stream_may_have_another_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("datasets")
    (file,) = write_parquet(tmp_path / "pets", 8).iterdir()
    pq.write_table(pq.read_table(file).rename_columns(["photograph", "species"]), file)
    data = f"hf:{file.parent}"
    words = TRAIN.replace("--size 8 ", "")
    assert run(words, "--data", data, "--out", tmp_path / "no") == 2
    said = "expected a column 'image' or 'img' in the stream, found photograph, species; name another with "
    assert f"{said}--image-column 'NAME'" in capsys.readouterr().err
    columns = "--image-column photograph --label-column species"
    assert run(f"{words} --epochs 1 {columns}", "--data", data, "--out", tmp_path / "run") == 0
    assert load_run(tmp_path / "run").config.data.size == 10
    assert run(f"embed {tmp_path / 'run'} {columns}", "--data", data, "--out", tmp_path / "e.npz") == 0
    assert run(f"{TRAIN} --image-column photograph", "--data", "digits") == 2
    assert "--image-column is for streamed images (hf:PATH), but digits" in capsys.readouterr().err


def test_a_cache_that_is_a_file_is_refused(
    tmp_path: Path, pets: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cache").write_text("")
    for place in ("cache", "cache/decoded"):
        assert run(TRAIN, "--data", pets, "--cache", tmp_path / place) == 2
        assert "--cache must be a folder, which is made if missing, got" in capsys.readouterr().err


def test_a_missing_shard_and_an_odd_buffer(pets: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(TRAIN, "--data", pets.replace("..2", "..3")) == 2
    assert "pets-3.tar, found nothing; 1 of 4 shards are missing" in capsys.readouterr().err
    assert run(TRAIN, "--data", pets, "--buffer", "0") == 2
    assert "--buffer must be an integer of at least 1, got 0" in capsys.readouterr().err
