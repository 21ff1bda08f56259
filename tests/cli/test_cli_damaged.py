"""Images that are damaged inside, with whole headers and ends: left out everywhere, counted and named."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tammes.cli import loading
from tammes.cli.main import main
from tammes.training import load_run
from tiny import write_images

NETWORK = "encoder:convnet --encoder.width 8 --head.dim 8"
SETTINGS = f"--size 8 --batch-size 4 --accelerator cpu schedule:constant {NETWORK}"
TRAIN = f"train simclr --temperature 0.5 {SETTINGS}"
SENTENCE = "1 file that cannot be used was left out: cat/4.png"

pytestmark = pytest.mark.filterwarnings("default")


def run(words: str, *more: str | Path) -> int:
    return main([*words.split(), *map(str, more)])


@pytest.fixture(scope="module")
def pets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of two classes, of which one is damaged."""
    folder = write_images(tmp_path_factory.mktemp("data") / "pets", "cat", "dog", count=9)
    file = folder / "cat/4.png"
    content = bytearray(file.read_bytes())
    content[content.index(b"IDAT") + 20] ^= 0xFF
    file.write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def trained(pets: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "run"
    assert run(f"{TRAIN} --epochs 2", "--data", pets, "--out", out) == 0
    return out


def test_a_training_counts_and_names_it_first_and_last(
    pets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    out = tmp_path / "run"
    assert run(f"{TRAIN} --epochs 1", "--data", pets, "--out", out) == 0
    said = capsys.readouterr()
    assert "tammes: warning: 1 of 18 files in" in said.err
    assert SENTENCE in said.out
    assert "1: cat/4.png" in (out / "report.html").read_text()


@pytest.mark.equal_bits
def test_the_run_is_that_of_the_folder_without_it(trained: Path, pets: Path, tmp_path: Path) -> None:
    """Also if it was stopped: every epoch of every part of a run has the same images."""
    without = tmp_path / "pets"
    pets.rename(without)
    (without / "cat/4.png").rename(tmp_path / "4.png")
    try:
        assert run(f"{TRAIN} --epochs 2", "--data", without, "--out", tmp_path / "run") == 0
    finally:
        (tmp_path / "4.png").rename(without / "cat/4.png")
        without.rename(pets)
    assert run(f"{TRAIN} --epochs 1", "--data", pets, "--out", tmp_path / "stopped") == 0
    assert run(f"{TRAIN} --epochs 2 --resume", "--data", pets, "--out", tmp_path / "stopped") == 0
    weights = [(place / "model.safetensors") for place in (trained, tmp_path / "run", tmp_path / "stopped")]
    assert load_run(trained).config.data.count == 15
    whole, without_it, stopped = (read_tensors(file) for file in weights)
    assert whole == without_it == stopped


def read_tensors(file: Path) -> bytes:
    """The numbers of a file of weights, without its header, which names the data."""
    content = file.read_bytes()
    return content[8 + int.from_bytes(content[:8], "little") :]


def test_embed_and_evaluate_leave_its_row_out_and_say_so(
    trained: Path, pets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "e.parquet"
    assert run("embed", trained, "--data", pets, "--out", out) == 0
    assert f"wrote 17 rows to {out}; {SENTENCE}" in capsys.readouterr().out
    assert "cat/4.png" not in pq.read_table(out)["name"].to_pylist()
    assert run("evaluate", trained, "--data", pets, "--held-out", "0.3") == 0
    assert SENTENCE in capsys.readouterr().out
    assert run("evaluate --json", trained, "--data", pets, "--held-out", "0.3") == 0
    assert json.loads(capsys.readouterr().out)["left_out"] == 1


def test_compare_says_so(pets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"compare simclr --epochs 1 {SETTINGS} --report {tmp_path / 'report.html'}"
    assert run(words, "--data", pets) == 0
    assert SENTENCE in capsys.readouterr().out


def test_strict_refuses_and_unchecked_ends_the_run(
    pets: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (
        f"{TRAIN} --epochs 1 --out {tmp_path / 'run'}",
        f"embed {trained} --out {tmp_path / 'e.npz'}",
    ):
        assert run(f"{words} --strict", "--data", pets) == 2
        assert "cat/4.png; remove them, or leave them out without --strict" in capsys.readouterr().err
        assert run(f"{words} --unchecked", "--data", pets) == 2
        assert "expected an image that can be decoded, got" in capsys.readouterr().err


@pytest.mark.equal_bits
def test_a_run_on_a_cache_is_that_of_the_files(
    trained: Path, pets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"{TRAIN} --data {pets} --cache {tmp_path / 'cache'} --out {tmp_path / 'run'}"
    assert run(f"{words} --epochs 1") == 0
    assert SENTENCE in capsys.readouterr().out
    assert run(f"{words} --epochs 2 --resume") == 0
    first, second = (read_tensors(place / "model.safetensors") for place in (trained, tmp_path / "run"))
    assert first == second
    assert run(f"{words} --overwrite --unchecked --epochs 1") == 2
    assert "--unchecked excludes a cache, which decodes every image" in capsys.readouterr().err


def test_a_large_folder_says_what_takes_long(
    pets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "MANY", 18)
    words = f"{TRAIN} --epochs 0 --data {pets} --out {tmp_path / 'run'}"
    assert run(words.replace("--epochs 0", "--epochs 1")) == 0
    said = "tammes: decoding 18 files once, to leave damaged images out; --unchecked begins sooner"
    assert said in capsys.readouterr().err.splitlines()
    assert run(f"{words} --unchecked".replace("--epochs 0", "--epochs 1 --overwrite")) == 2
    assert said not in capsys.readouterr().err
    cache = tmp_path / "cache"
    assert run(f"{words} --cache {cache}".replace("--epochs 0", "--epochs 1 --overwrite")) == 0
    said = f"tammes: decoding 18 files once, unless {cache} holds them already"
    assert said in capsys.readouterr().err.splitlines()
