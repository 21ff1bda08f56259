from pathlib import Path

import pytest
import safetensors.torch
import torch

from tammes.training import ImagesSummary, Machine, RunConfig, RunFolder, build_model, embed, load_run, train
from tiny import make_config, random_images


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trained") / "run"
    train(make_config(), random_images(22), folder=RunFolder(path=path), machine=Machine(accelerator="cpu"))
    return path


def copy(folder: Path, target: Path, *names: str) -> Path:
    target.mkdir()
    for name in names:
        (target / name).write_bytes((folder / name).read_bytes())
    return target


def test_a_run_reads_back_as_it_was(folder: Path, tmp_path: Path) -> None:
    again = train(make_config(), random_images(22), machine=Machine(accelerator="cpu"))
    run = load_run(folder)
    assert run.config.training == make_config()
    assert run.metrics == again.metrics
    images = random_images(9, seed=5)
    for first, second in zip(embed(run.model, images), embed(again.model, images), strict=True):
        assert torch.equal(first, second)


def test_the_weights_are_plain_safetensors_of_encoder_and_head(folder: Path) -> None:
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    assert {name.split(".")[0] for name in weights} == {"encoder", "head"}


def test_the_first_weights_depend_on_the_seed_alone() -> None:
    config = RunConfig(training=make_config(), data=ImagesSummary(source="", count=22, channels=1, size=8))
    torch.manual_seed(1)
    first = build_model(config).state_dict()
    torch.manual_seed(2)
    second = build_model(config).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_what_is_missing_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no run in .*nowhere"):
        load_run(tmp_path / "nowhere")
    half = copy(folder, tmp_path / "half", "config.yaml")
    with pytest.raises(ValueError, match="has not finished"):
        load_run(half)


def test_a_config_of_the_users_own_making_is_checked(folder: Path, tmp_path: Path) -> None:
    edited = copy(folder, tmp_path / "edited", "config.yaml", "model.safetensors")
    text = (edited / "config.yaml").read_text()
    (edited / "config.yaml").write_text(text.replace("beta: 1.0", "betta: 1.0"))
    with pytest.raises(ValueError, match=r"config\.yaml: unknown key training\.objective\.coupling\.betta"):
        load_run(edited)


@pytest.mark.parametrize("content", [b"", b"not what it should be, and long enough for a header"])
def test_damaged_weights_are_named(folder: Path, tmp_path: Path, content: bytes) -> None:
    damaged = copy(folder, tmp_path / "damaged", "config.yaml")
    (damaged / "model.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.safetensors does not fit"):
        load_run(damaged)


def test_weights_of_another_encoder_are_refused(folder: Path, tmp_path: Path) -> None:
    other = copy(folder, tmp_path / "other", "config.yaml", "model.safetensors")
    text = (other / "config.yaml").read_text()
    (other / "config.yaml").write_text(text.replace("width: 8", "width: 16"))
    with pytest.raises(ValueError, match=r"does not fit .*size mismatch"):
        load_run(other)
