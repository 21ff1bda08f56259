"""A checkpoint that was altered by hand is refused in words, before a step is taken or a file is written."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tammes.training import Machine, RunFolder, train
from tammes.training.checkpoint import DamagedCheckpoint
from tiny import make_config, random_images

WEIGHT = "model.encoder.layers.0.weight"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trained") / "run"
    train_in(RunFolder(path=path, checkpoint_every=2))
    return path


def train_in(folder: RunFolder) -> None:
    train(make_config(), random_images(22), folder=folder, machine=Machine(accelerator="cpu"))


def alter(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    checkpoint = torch.load(file, weights_only=True)
    change(checkpoint)
    torch.save(checkpoint, file)


def files(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


Change = Callable[[dict[str, Any]], object]
CHANGES: dict[str, tuple[Change, str]] = {
    "no optimizer": (
        lambda c: c.update(optimizer_states=[]),
        "optimizer_states must hold one optimizer, got 0",
    ),
    "no state of the optimizer": (
        lambda c: c["optimizer_states"][0]["state"].clear(),
        "optimizer_states lacks the state of parameter 0",
    ),
    "fewer parameters": (
        lambda c: c["optimizer_states"][0]["param_groups"][0]["params"].pop(),
        r"optimizer_states has groups of \[18\] parameters, expected \[19\]",
    ),
    "a mean of another shape": (
        lambda c: c["optimizer_states"][0]["state"][0].update(exp_avg=torch.zeros(3)),
        r"exp_avg of optimizer_states must be torch.float32 of shape \(8, 1, 3, 3\), got .* shape \(3,\)",
    ),
    "no callbacks": (lambda c: c["callbacks"].clear(), "callbacks lacks the state of Metrics"),
    "no rows": (lambda c: c["callbacks"]["Metrics"].pop("rows"), "KeyError in its structure"),
    "a row cut short": (lambda c: c["callbacks"]["Metrics"]["rows"][0].pop(), "argument"),
    "a row of text": (
        lambda c: c["callbacks"]["Metrics"]["rows"].append([1, 5, "low", None, {}]),
        "loss of a row of metrics must be a number, got 'low'",
    ),
    "a gradient of text": (
        lambda c: c["callbacks"]["Metrics"]["rows"].append([1, 5, 1.0, None, 1e-3, "steep", {}]),
        "gradient_norm of a row of metrics must be a number, got 'steep'",
    ),
    "a negative sum": (
        lambda c: c["callbacks"]["Metrics"].update(gradient_norm_sum=-1.0),
        "gradient_norm_sum must be a finite number at least 0, got -1.0",
    ),
    "a row of later": (
        lambda c: c["callbacks"]["Metrics"]["rows"].append([9, 45, 1.0, None, {}]),
        "a row of metrics is of step 45, after global_step 15",
    ),
    "a record of no machine": (
        lambda c: c["callbacks"]["Environment"].update({"environment.yaml": "parts: [{cores: 2}]"}),
        "missing key",
    ),
    "negative steps": (
        lambda c: c.update(global_step=-5),
        "global_step must be an integer of at least 0, got -5",
    ),
    "steps of text": (lambda c: c.update(global_step="5"), "global_step must be an integer .* got '5'"),
    "other steps": (lambda c: c.update(global_step=14), "global_step is 14, but loops has taken 15 steps"),
    "no schedule": (lambda c: c.update(lr_schedulers=[]), "lr_schedulers must hold one schedule, got 0"),
    "an earlier schedule": (
        lambda c: c["lr_schedulers"][0].update(last_epoch=0),
        "global_step is 15, but lr_schedulers is at step 0",
    ),
    "no loops": (lambda c: c["loops"].clear(), "KeyError in its structure"),
    "no weights": (lambda c: c["state_dict"].clear(), f"state_dict lacks the entry {WEIGHT}"),
    "unknown weights": (
        lambda c: c["state_dict"].update(more=torch.zeros(1)),
        "state_dict has an unknown entry more",
    ),
    "weights of another shape": (
        lambda c: c["state_dict"].update({WEIGHT: torch.zeros(8)}),
        rf"{WEIGHT} of state_dict must be torch.float32 of shape \(8, 1, 3, 3\), got .* shape \(8,\)",
    ),
    "weights of another type": (
        lambda c: c["state_dict"].update({WEIGHT: c["state_dict"][WEIGHT].double()}),
        "must be torch.float32 .* got torch.float64",
    ),
    "weights of text": (lambda c: c["state_dict"].update({WEIGHT: "zeros"}), "must be a tensor, got str"),
    "a list for weights": (lambda c: c.update(state_dict=[]), "AttributeError in its structure"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_altered_checkpoint_is_refused(trained: Path, tmp_path: Path, name: str) -> None:
    change, message = CHANGES[name]
    folder = shutil.copytree(trained, tmp_path / "run")
    (folder / "checkpoints/previous.ckpt").unlink()
    alter(folder / "checkpoints/last.ckpt", change)
    before = files(folder)
    with pytest.raises(ValueError, match=rf"last\.ckpt does not fit the run \(.*{message}.*overwrite=True"):
        train_in(RunFolder(path=folder, resume=True))
    assert files(folder) == before


def test_the_checkpoint_before_an_altered_one_is_used(trained: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained, tmp_path / "run")
    alter(folder / "checkpoints/last.ckpt", lambda c: c.update(callbacks={}))
    with pytest.warns(DamagedCheckpoint, match=r"resuming from previous\.ckpt, after step 14"):
        train_in(RunFolder(path=folder, resume=True))
    assert (folder / "model.safetensors").read_bytes() == (trained / "model.safetensors").read_bytes()
