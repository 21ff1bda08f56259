import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import torch
from torch import Tensor

from killed import Killed, assert_same_run
from tammes import OtherLabels, Subset, atomic, recipes
from tammes.data import Images
from tammes.training import (
    Adam,
    AdamW,
    Constant,
    Machine,
    Monitor,
    QueueConfig,
    Run,
    RunFolder,
    Stopped,
    TrainingConfig,
    checkpoint,
    train,
)
from tammes.training.loader import PairBatch
from tammes.training.module import ContrastiveModule
from tammes.training.progress import EpochProgressBar
from tammes.training.weights import save_weights
from tiny import make_config, random_images


def train_in(folder: Path, config: TrainingConfig, images: Images, **how: object) -> Run:
    monitor = Monitor(bank=images, held_out=random_images(8, seed=1))
    run_folder = RunFolder(path=folder, **how)  # type: ignore[arg-type]
    return train(config, images, folder=run_folder, monitor=monitor, machine=Machine(accelerator="cpu"))


def at_step(monkeypatch: pytest.MonkeyPatch, step: int, action: Callable[[], None]) -> None:
    """Do something at the beginning of a step, once."""
    whole = ContrastiveModule.training_step
    done = []

    def training_step(module: ContrastiveModule, batch: PairBatch, batch_idx: int) -> Tensor:
        if module.global_step == step and not done:
            done.append(step)
            action()
        return whole(module, batch, batch_idx)

    monkeypatch.setattr(ContrastiveModule, "training_step", training_step)


def kill() -> None:
    raise Killed


def interrupt() -> None:
    """Ctrl-C, which the tests may ignore where they run in the background."""
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The folder of a run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    train_in(folder, make_config(), random_images(22))
    return folder


def test_a_run_is_a_folder(whole: Path) -> None:
    assert sorted(file.name for file in whole.iterdir()) == [
        "checkpoints",
        "config.yaml",
        "environment.yaml",
        "metrics.csv",
        "model.safetensors",
    ]
    lines = (whole / "metrics.csv").read_text().splitlines()
    assert lines[0].startswith("epoch,step,loss,knn,learning_rate,gradient_norm,positive_similarity")
    assert [line.split(",")[:2] for line in lines[1:]] == [["0", "0"], ["1", "5"], ["2", "10"], ["3", "15"]]


@pytest.mark.equal_bits
def test_the_same_seed_gives_the_same_run(tmp_path: Path, whole: Path) -> None:
    torch.manual_seed(123)  # nothing may depend on the generator that everyone shares
    state = torch.get_rng_state()
    train_in(tmp_path / "again", make_config(), random_images(22))
    assert_same_run(whole, tmp_path / "again")
    assert torch.equal(torch.get_rng_state(), state)


def test_another_seed_gives_another_run(tmp_path: Path, whole: Path) -> None:
    train_in(tmp_path / "other", replace(make_config(), seed=1), random_images(22))
    assert (tmp_path / "other/model.safetensors").read_bytes() != (whole / "model.safetensors").read_bytes()


@pytest.mark.equal_bits
@pytest.mark.parametrize(
    ("step", "every"),
    [(0, 1), (1, 1), (3, 100), (4, 1), (5, 1), (5, 100), (8, 1), (8, 2), (14, 1), (14, 100)],
)
def test_killed_anywhere_and_resumed_it_is_the_same_run(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch, step: int, every: int
) -> None:
    at_step(monkeypatch, step, kill)
    with pytest.raises(Killed):
        train_in(tmp_path / "run", make_config(), random_images(22), checkpoint_every=every)
    assert not (tmp_path / "run/model.safetensors").exists()
    train_in(tmp_path / "run", make_config(), random_images(22), checkpoint_every=every, resume=True)
    assert_same_run(whole, tmp_path / "run")


@pytest.mark.parametrize(("step", "after"), [(0, "1 step"), (3, "4 steps"), (4, "5 steps"), (14, "15 steps")])
def test_ctrl_c_saves_after_the_step(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch, step: int, after: str
) -> None:
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_DFL)  # as in a terminal
    at_step(monkeypatch, step, interrupt)
    with pytest.raises(Stopped, match=f"stopped after {after}: .*resume=True") as stopped:
        train_in(tmp_path / "run", make_config(), random_images(22))
    assert stopped.value.signal_number == signal.SIGINT
    saved = checkpoint.load_checkpoint(tmp_path / "run/checkpoints/last.ckpt")
    assert saved["global_step"] == step + 1
    train_in(tmp_path / "run", make_config(), random_images(22), resume=True)
    assert_same_run(whole, tmp_path / "run")


def test_ctrl_c_behind_the_last_step_stops_as_well(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def save(*arguments: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        save_weights(*arguments)

    monkeypatch.setattr("tammes.training.loop.save_weights", save)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a terminal
    try:
        with pytest.raises(Stopped, match=r"stopped at the end of the training: .*resume=True") as stopped:
            train_in(tmp_path / "run", make_config(), random_images(22))
    finally:
        signal.signal(signal.SIGINT, before)
    assert stopped.value.signal_number == signal.SIGINT
    assert_same_run(whole, tmp_path / "run")


SCRIPT = """
    import os, signal, sys
    from pathlib import Path
    import torch
    sys.path[:0] = {tests!r}
    import test_training_loop as here
    from tammes import atomic
    from tammes.training.module import ContrastiveModule
    torch.set_num_threads(1)
    {sabotage}
    here.train_in(Path({folder!r}), here.make_config(), here.random_images(22), checkpoint_every=2)
"""
IN_A_STEP = """
    whole = ContrastiveModule.training_step
    def step(module, batch, batch_idx):
        if module.global_step == 8:
            os.kill(os.getpid(), signal.SIGKILL)
        return whole(module, batch, batch_idx)
    ContrastiveModule.training_step = step
"""
WHILE_SAVING = """
    real, calls = os.fsync, []
    def fsync(descriptor):
        calls.append(descriptor)
        if len(calls) == 14:
            os.kill(os.getpid(), signal.SIGKILL)
        real(descriptor)
    atomic.os.fsync = fsync
"""


@pytest.mark.equal_bits
@pytest.mark.processes
@pytest.mark.parametrize("sabotage", [IN_A_STEP, WHILE_SAVING], ids=["in a step", "while saving"])
def test_a_process_killed_outright_is_resumed_to_the_same_bits(
    tmp_path: Path, whole: Path, sabotage: str
) -> None:
    folder = tmp_path / "run"
    script = dedent(SCRIPT).format(
        tests=[str(Path(__file__).parent), str(Path(__file__).parents[1])],
        folder=str(folder),
        sabotage=dedent(sabotage),
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert process.returncode == -signal.SIGKILL, process.stderr
    assert (folder / "checkpoints/last.ckpt").exists()
    assert not (folder / "model.safetensors").exists()
    train_in(folder, make_config(), random_images(22), resume=True, checkpoint_every=2)
    assert_same_run(whole, folder)


@pytest.mark.parametrize("damage", ["cut short", "missing"])
def test_after_a_damaged_checkpoint_the_one_before_it_is_used(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    at_step(monkeypatch, 8, kill)
    with pytest.raises(Killed):
        train_in(tmp_path / "run", make_config(), random_images(22), checkpoint_every=2)
    last = tmp_path / "run/checkpoints/last.ckpt"
    if damage == "missing":
        last.unlink()
    else:
        os.truncate(last, last.stat().st_size // 2)
    message = rf"last\.ckpt is {damage.split()[0]}.*: resuming from previous\.ckpt, after step 6"
    message = message.replace("cut", "damaged")
    with pytest.warns(checkpoint.DamagedCheckpoint, match=message):
        train_in(tmp_path / "run", make_config(), random_images(22), checkpoint_every=2, resume=True)
    assert_same_run(whole, tmp_path / "run")


def test_more_epochs_go_on_as_if_asked_for_at_once(tmp_path: Path) -> None:
    constant = replace(make_config(), optimizer=Adam(schedule=Constant()))
    images = random_images(22)
    train_in(tmp_path / "long", constant, images)
    train_in(tmp_path / "grown", replace(constant, epochs=1), images)
    train_in(tmp_path / "grown", constant, images, resume=True)
    assert_same_run(tmp_path / "long", tmp_path / "grown")


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path, whole: Path) -> None:
    train_in(tmp_path / "run", make_config(), random_images(22))
    train_in(tmp_path / "run", make_config(), random_images(22), resume=True)
    assert_same_run(whole, tmp_path / "run")


def test_worker_processes_change_nothing(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_step(monkeypatch, 7, kill)
    machine = Machine(accelerator="cpu", workers=1)
    monitor = Monitor(bank=random_images(22), held_out=random_images(8, seed=1))

    def go(folder: RunFolder) -> None:
        train(make_config(), random_images(22), folder=folder, monitor=monitor, machine=machine)

    with pytest.raises(Killed):
        go(RunFolder(path=tmp_path / "run", checkpoint_every=2))
    go(RunFolder(path=tmp_path / "run", checkpoint_every=2, resume=True))
    assert_same_run(whole, tmp_path / "run")


def test_a_full_disk_keeps_the_checkpoint_that_was_there(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        at_step(patch, 7, lambda: patch.setattr(atomic.os, "fsync", full))
        on_how_to_go_on = r"No space left on device; mend that, then resume the run in .* with resume=True"
        with pytest.raises(OSError, match=on_how_to_go_on) as failure:
            train_in(tmp_path / "run", make_config(), random_images(22), checkpoint_every=3)
        assert failure.value.filename == str(tmp_path / "run/checkpoints/last.ckpt")
    saved = checkpoint.load_checkpoint(tmp_path / "run/checkpoints/last.ckpt")
    assert saved["global_step"] == 6
    names = sorted(file.name for file in (tmp_path / "run/checkpoints").iterdir())
    assert names == ["last.ckpt", "previous.ckpt"]
    train_in(tmp_path / "run", make_config(), random_images(22), checkpoint_every=3, resume=True)
    assert_same_run(whole, tmp_path / "run")


@pytest.mark.parametrize("where", ["embeddings", "gradient"])
def test_a_loss_gone_wrong_names_the_step_and_spoils_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    modules: list[ContrastiveModule] = []
    begin = ContrastiveModule.on_train_start
    monkeypatch.setattr(
        ContrastiveModule, "on_train_start", lambda self: (modules.append(self), begin(self))[1]
    )

    def spoil() -> None:
        weight = next(modules[0].parameters())
        if where == "embeddings":
            weight.data.fill_(torch.nan)
        else:
            weight.register_hook(lambda gradient: gradient * torch.inf)

    at_step(monkeypatch, 7, spoil)
    with pytest.raises(ValueError, match=f"the {where} became NaN or infinite at step 7 .*learning rate"):
        train_in(tmp_path / "run", make_config(), random_images(22))
    saved = checkpoint.load_checkpoint(tmp_path / "run/checkpoints/last.ckpt")
    assert saved["global_step"] == 5
    assert all(torch.isfinite(weight).all() for weight in saved["state_dict"].values())


def test_a_run_whose_first_checkpoint_cannot_be_saved_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes, **how: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(checkpoint, "write_atomically", full)
    with pytest.raises(OSError, match=r"No space left.*start the run again: .*last\.ckpt"):
        train_in(tmp_path / "run", make_config(), random_images(22))
    assert not (tmp_path / "run").exists()


def test_a_run_that_fails_at_once_leaves_its_name_free(tmp_path: Path) -> None:
    impossible = recipes.simclr(temperature=0.5, selection=Subset(k=100))
    with pytest.raises(ValueError, match="k = 100 negatives were asked for"):
        train_in(tmp_path / "run", replace(make_config(), objective=impossible), random_images(22))
    train_in(tmp_path / "run", make_config(), random_images(22))


def test_a_batch_larger_than_the_data_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the batch \(4\) is larger than the data \(3 images\)"):
        train_in(tmp_path / "run", make_config(), random_images(3))
    assert not (tmp_path / "run").exists()


def test_labels_reach_an_objective_that_asks_for_them() -> None:
    oracle = recipes.simclr(temperature=0.5, selection=OtherLabels())
    config = replace(make_config(), objective=oracle, epochs=1, batch_size=8)
    run = train(config, random_images(22), machine=Machine(accelerator="cpu"))
    assert run.metrics[-1].last["negatives"] < 14, "two views of eight rows have 14 others"
    without = replace(random_images(22), labels=None, classes=None)
    with pytest.raises(ValueError, match="OtherLabels needs labels"):
        train(config, without, machine=Machine(accelerator="cpu"))


def test_supervised_contrast_takes_rows_of_one_class_for_positives() -> None:
    config = replace(make_config(), objective=recipes.supcon(temperature=0.5), epochs=1, batch_size=8)
    machine, images = Machine(accelerator="cpu"), random_images(8)
    of_three = replace(images, labels=torch.tensor([0, 0, 0, 0, 1, 1, 1, 2]), classes=("a", "b", "c"))
    last = train(config, of_three, machine=machine).metrics[-1].last
    # Of 16 rows 8, 6 and 2 are of one class.
    assert last["negatives"] == pytest.approx((8 * 8 + 6 * 10 + 2 * 14) / 16)
    unlabeled = replace(images, labels=None, classes=None)
    with pytest.raises(ValueError, match="these data have no classes: its loss would be that of simclr"):
        train(config, unlabeled, machine=machine)
    three = train(replace(config, crops=3), unlabeled, machine=machine)
    assert three.metrics[-1].last["negatives"] == 21
    with pytest.raises(ValueError, match=r"cannot with QueueConfig\("):
        train(replace(config, negatives=QueueConfig(size=32)), of_three, machine=machine)


def test_half_precision_trains() -> None:
    config = replace(make_config(), precision="bf16-mixed", epochs=1)
    run = train(config, random_images(22), machine=Machine(accelerator="cpu"))
    assert run.metrics[-1].loss is not None
    assert all(parameter.dtype == torch.float32 for parameter in run.model.parameters())


@pytest.mark.parametrize("optimizer", [Adam(clip_norm=1e-3), AdamW(clip_norm=1e-3)])
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_gradients_are_clipped_in_each_precision(optimizer: Adam | AdamW, precision: str) -> None:
    config = replace(make_config(), precision=precision, epochs=1, optimizer=optimizer)
    run = train(config, random_images(22), machine=Machine(accelerator="cpu"))
    of_last_step = [parameter.grad for parameter in run.model.parameters() if parameter.grad is not None]
    assert float(torch.nn.utils.get_total_norm(of_last_step)) == pytest.approx(1e-3, rel=1e-2)


def test_a_run_without_a_folder_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    train(replace(make_config(), epochs=1), random_images(22), machine=Machine(accelerator="cpu"))
    assert not list(tmp_path.iterdir())


def test_training_lowers_the_loss() -> None:
    config = replace(make_config(), epochs=15, batch_size=20, optimizer=Adam(learning_rate=3e-3))
    config = replace(config, objective=recipes.simclr(temperature=0.5))
    images = random_images(80)
    run = train(config, images, machine=Machine(accelerator="cpu"))
    losses = [row.loss for row in run.metrics if row.loss is not None]
    assert losses[-1] < 0.9 * losses[0]


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="epochs must be an integer of at least 1, got 0"):
        replace(make_config(), epochs=0)
    with pytest.raises(ValueError, match="batch_size must be an integer of at least 2"):
        replace(make_config(), batch_size=1)
    with pytest.raises(ValueError, match=r"seed must be an integer from 0 to \d+, got -1"):
        replace(make_config(), seed=-1)
    with pytest.raises(ValueError, match="workers must be an integer of at least 0, got -1"):
        Machine(workers=-1)


def test_epochs_are_counted_from_one(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Bar(EpochProgressBar):
        def _get_train_description(self, current_epoch: int) -> str:
            shown.append(super()._get_train_description(current_epoch))
            return shown[-1]

    monkeypatch.setattr("tammes.training.loop.progress_of", lambda recorder: Bar())
    machine = Machine(accelerator="cpu", progress=True)
    train(replace(make_config(), epochs=2), random_images(22), machine=machine)
    assert shown[-1] == "Epoch 2/2"
