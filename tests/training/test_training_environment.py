"""The record of when and where a run was computed, over resumes and in files that were altered."""

from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tammes.training import Machine, Run, RunFolder, environment, load_run, train
from tammes.training.config_file import to_yaml
from tammes.training.environment import (
    Environment,
    EnvironmentFile,
    is_quick_in_bfloat16,
    is_slow_in_bfloat16,
    processor,
    read_environments,
    seconds_of_product,
)
from tammes.training.module import ContrastiveModule
from tiny import make_config, random_images

HERE = Environment(
    began="2026-01-31T12:00:00+00:00",
    processor="Xeon",
    cores=8,
    threads=1,
    device="CPU",
    python_version="3.12.1",
    torch_version="2.13.0",
    tammes_version="0.1.0",
)


def go(folder: RunFolder | None = None) -> Run:
    return train(make_config(), random_images(22), folder=folder, machine=Machine(accelerator="cpu"))


def kill_at(step: int, monkeypatch: pytest.MonkeyPatch, folder: RunFolder) -> None:
    """Train until a step, which a kill interrupts."""
    begin = ContrastiveModule.training_step

    def training_step(module: ContrastiveModule, *arguments: Any) -> Tensor:
        if module.global_step == step:
            raise KeyboardInterrupt
        return begin(module, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(ContrastiveModule, "training_step", training_step)
        with pytest.raises(KeyboardInterrupt):
            go(folder)


def test_a_run_says_when_and_where_it_was_trained(tmp_path: Path) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    run = go(RunFolder(path=tmp_path / "run"))
    (part,) = run.environments
    assert before <= part.date <= datetime.now(UTC)
    assert (part.processor, part.device, part.processes) == (processor(), "CPU", 1)
    assert (part.torch_version, part.tammes_version) == (version("torch"), version("tammes"))
    assert part.threads == torch.get_num_threads()
    again = load_run(tmp_path / "run")
    assert again.environments == (replace(part, seconds=again.seconds),)
    assert again.seconds is not None
    assert run.seconds is not None
    assert 0 < again.seconds <= run.seconds


def test_a_resumed_run_names_both_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(path=tmp_path / "run", checkpoint_every=2)
    with monkeypatch.context() as patch:
        patch.setattr(environment, "processor", lambda: "Abacus")
        kill_at(8, monkeypatch, folder)
    (begun,) = read_environments(folder.environment)
    assert begun.seconds is None
    first, second = go(replace(folder, resume=True)).environments
    assert (first.processor, first.first_step) == ("Abacus", 0)
    assert (second.processor, second.first_step) == (processor(), 8)
    assert first.seconds is not None
    assert second.seconds is not None
    assert 0 < first.seconds < second.seconds
    # Nothing is trained any more, so nothing is added.
    assert len(go(replace(folder, resume=True)).environments) == 2
    assert len(load_run(folder.path).environments) == 2


def test_a_run_of_an_older_version_goes_on_without_the_first_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(path=tmp_path / "run", checkpoint_every=2)
    kill_at(8, monkeypatch, folder)
    folder.environment.unlink()
    for file in (folder.checkpoint, folder.previous):
        checkpoint = torch.load(file, weights_only=True)
        del checkpoint["callbacks"]["Environment"]
        torch.save(checkpoint, file)
    (part,) = go(replace(folder, resume=True)).environments
    assert part.first_step == 8
    folder.environment.unlink()
    assert load_run(folder.path).environments == ()
    assert load_run(folder.path).seconds is None


def test_the_record_survives_its_file(tmp_path: Path) -> None:
    parts = (replace(HERE, seconds=1.5), replace(HERE, first_step=7))
    (tmp_path / "environment.yaml").write_text(to_yaml(EnvironmentFile(parts=parts)))
    assert read_environments(tmp_path / "environment.yaml") == parts
    (tmp_path / "environment.yaml").write_text("parts: [{cores: 0}]")
    with pytest.raises(ValueError, match=r"environment\.yaml: missing key .*whole without this file"):
        read_environments(tmp_path / "environment.yaml")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"began": "yesterday"}, "began must be a date in ISO 8601, got 'yesterday'"),
        ({"cores": 0}, "cores must be an integer of at least 1, got 0"),
        ({"first_step": -1}, "first_step must be an integer of at least 0, got -1"),
        ({"seconds": -1.0}, "seconds must be a finite number at least 0, got -1"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(HERE, **change)


def test_gpus_and_processes_are_named() -> None:
    together = replace(HERE, device="H100", threads=2, processes=4)
    assert together.machine.startswith("H100 and Xeon (8 cores, 2 threads) in 4 processes, with Python 3.12")


def test_without_a_list_of_processors_the_platform_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*arguments: object, **how: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", missing)
    monkeypatch.setattr("platform.processor", lambda: "Abacus")
    assert processor() == "Abacus"


def test_bfloat16_is_quick_where_its_instructions_are_and_products_show_it(tmp_path: Path) -> None:
    listed = tmp_path / "cpuinfo"
    half, double = ({torch.bfloat16: share, torch.float32: 1.0}.__getitem__ for share in (0.5, 2.0))
    for flags, expected in (
        ("fpu avx2", False),
        ("avx512f avx512_bf16", True),
        ("amx_bf16", True),
        ("not_amx_bf16", False),
    ):
        listed.write_text(f"processor\t: 0\nmodel name\t: amx_bf16\nflags\t\t: {flags}\n")
        assert is_quick_in_bfloat16(listed, seconds=half) is expected
        assert not is_quick_in_bfloat16(listed, seconds=double)
    assert not is_quick_in_bfloat16(tmp_path / "none", seconds=half)
    assert 0 < seconds_of_product(torch.bfloat16) < 10
    assert is_slow_in_bfloat16(seconds=double) is False
    assert is_slow_in_bfloat16(seconds={torch.bfloat16: 2.1, torch.float32: 1.0}.__getitem__) is True
