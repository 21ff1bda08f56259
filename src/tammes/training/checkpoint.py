"""Checkpoints: when and how they are written, and how they are read without executing anything."""

import io
import math
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint
from torch import Tensor
from typing_extensions import override

from tammes.atomic import write_atomically
from tammes.checks import check_file, check_integer, check_number
from tammes.training.distributed.group import ProcessGroup
from tammes.training.environment import STATE_KEY, EnvironmentRecorder
from tammes.training.metrics import LEADING_COLUMNS, MetricsRecorder
from tammes.training.stop import StopRequest

CONFIG = "tammes_config"
LAST = "last.ckpt"
PREVIOUS = "previous.ckpt"
# Entries of lightning's checkpoints that a resume needs.
NEEDED = ("global_step", "state_dict", "optimizer_states", "lr_schedulers", "loops", "callbacks")


class StopAfterStep(Exception):  # noqa: N818 - no error: it ends the loop between two steps
    """Request to end the loop between two steps, raised once everything is saved."""


class DamagedCheckpoint(UserWarning):
    """The last checkpoint cannot be read, and the one before it is used."""


class AtomicCheckpoints(TorchCheckpointIO):
    """Lightning's checkpoint files, written so that a full disk or a kill leaves the old checkpoint intact.

    Args:
        resumed: checkpoint to resume from, which has been read and checked before; or None.
    """

    def __init__(self, resumed: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.resumed = resumed

    @override
    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        buffer = io.BytesIO()
        torch.save(checkpoint, buffer)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(Path(path), buffer.getvalue(), before=Path(path).with_name(PREVIOUS))

    @override
    def load_checkpoint(
        self, path: Any, map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        assert self.resumed is not None  # read on process 0; the others may not even see the file
        return self.resumed


class SaveCheckpoint(Checkpoint):
    """Callback that saves a checkpoint every few steps, after each epoch, and when a stop is requested.

    Lightning runs callbacks of this type after all others, so that a checkpoint holds the finished numbers of
    the step or the epoch. After the last step of an epoch nothing is saved before the end of the epoch, which
    a resumed run would not go through again.

    Args:
        path: file to write; None saves nothing and only stops on request.
        every: steps from one checkpoint to the next within an epoch.
        config: the run's configuration as YAML, stored in the checkpoint.
        request: signals of this process and the others.
        saved: function that is called after each checkpoint, on the first process.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        every: int,
        config: str,
        request: StopRequest,
        saved: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = path
        self.saved = saved
        self.every = every
        self.config = config
        self.request = request

    @override
    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.is_last_batch:
            return
        if self.request.is_recorded_anywhere() or trainer.global_step % self.every == 0:
            self._save(trainer)

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.request.is_recorded_anywhere()  # a signal on one process stops all
        self._save(trainer)

    @override
    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        checkpoint[CONFIG] = self.config

    def _save(self, trainer: Trainer) -> None:
        if self.path is not None:
            trainer.save_checkpoint(self.path, weights_only=False)
            if self.request.group.is_first:
                self.saved()
        if self.request.is_recorded():
            raise StopAfterStep


def load_checkpoint(path: Path, module: LightningModule | None = None) -> dict[str, Any]:
    """Read a checkpoint without executing anything in it.

    Args:
        path: the file.
        module: module that is to resume from it; None to read only.

    Raises:
        ValueError: for a file that is no checkpoint of a run, or only a part of one, or does not fit the
            module.
        OSError: for a file that cannot be read.
    """
    try:
        with zipfile.ZipFile(check_file(path)) as archive:  # torch does not check the checksums
            if (name := archive.testzip()) is not None:
                raise zipfile.BadZipFile(f"checksum of {name}")
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises errors of any kind on files that were cut off or changed
        if isinstance(error, OSError) and error.filename is not None:
            raise  # the file could not be opened
        # Torch's own message would advise to load the file unsafely.
        raise ValueError(
            f"{path} is damaged or no checkpoint ({type(error).__name__}): put back a copy of it, or start "
            "the run anew with overwrite=True"
        ) from error
    if not isinstance(checkpoint, dict) or CONFIG not in checkpoint:
        raise ValueError(f"{path} is no checkpoint of a Tammes run")
    missing = [name for name in NEEDED if name not in checkpoint]
    if missing:
        raise ValueError(f"{path} is an incomplete checkpoint: it lacks {', '.join(missing)}")
    if module is not None:
        _check_resumable(path, checkpoint, module)
    return checkpoint


def _check_resumable(path: Path, checkpoint: dict[str, Any], module: LightningModule) -> None:
    """Raise ValueError for a checkpoint with which the module would not train as before.

    Lightning takes empty states without a word: momenta, schedule and metrics would begin anew.
    """
    try:
        check_integer("global_step", checkpoint["global_step"], minimum=0)
        _check_progress(checkpoint)
        _check_weights(checkpoint["state_dict"], module.state_dict())
        _check_optimizer(checkpoint["optimizer_states"], module)
        _check_metrics(checkpoint["callbacks"], checkpoint["global_step"])
        if STATE_KEY in checkpoint["callbacks"]:  # older versions did not record it
            recorder = EnvironmentRecorder(None, MetricsRecorder(None, None), ProcessGroup())
            recorder.load_state_dict(checkpoint["callbacks"][STATE_KEY])
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__} in its structure"
        raise ValueError(
            f"{path} does not fit the run ({reason}): put back a copy of it, or start the run anew with "
            "overwrite=True"
        ) from error


def _check_progress(checkpoint: dict[str, Any]) -> None:
    """Check that the loop and the schedule of the learning rate have taken as many steps as the run."""
    step = checkpoint["global_step"]
    progress = checkpoint["loops"]["fit_loop"]["epoch_loop.automatic_optimization.optim_progress"]
    taken = progress["optimizer"]["step"]["total"]["completed"]
    if taken != step:
        raise ValueError(f"global_step is {step}, but loops has taken {taken!r} steps")
    schedules = checkpoint["lr_schedulers"]
    if len(schedules) != 1:
        raise ValueError(f"lr_schedulers must hold one schedule, got {len(schedules)}")
    if (at := schedules[0]["last_epoch"]) != step:
        raise ValueError(f"global_step is {step}, but lr_schedulers is at step {at!r}")


def _check_weights(saved: Mapping[str, Any], expected: Mapping[str, Tensor]) -> None:
    """Check names, shapes and types of the saved weights."""
    if saved.keys() != expected.keys():
        name = min(saved.keys() ^ expected.keys())
        raise ValueError(f"state_dict {'has an unknown' if name in saved else 'lacks the'} entry {name}")
    for name, tensor in expected.items():
        # The number of classes of active positives has its own message when the module loads them.
        _check_tensor(f"{name} of state_dict", saved[name], tensor, any_size=name.startswith("active."))


def _check_optimizer(saved: list[dict[str, Any]], module: LightningModule) -> None:
    """Check that there is one optimizer, with Adam's two means for every parameter."""
    configured = module.configure_optimizers()
    assert isinstance(configured, dict)
    groups = [group["params"] for group in configured["optimizer"].param_groups]
    if len(saved) != 1:
        raise ValueError(f"optimizer_states must hold one optimizer, got {len(saved)}")
    sizes = [len(group["params"]) for group in saved[0]["param_groups"]]
    if sizes != [len(group) for group in groups]:
        raise ValueError(
            f"optimizer_states has groups of {sizes} parameters, expected {[len(group) for group in groups]}"
        )
    state = saved[0]["state"]
    for number, parameter in enumerate(parameter for group in groups for parameter in group):
        if number not in state:
            raise ValueError(f"optimizer_states lacks the state of parameter {number}")
        for mean in ("exp_avg", "exp_avg_sq"):
            _check_tensor(f"{mean} of optimizer_states", state[number][mean], parameter)
        check_number("step of optimizer_states", float(state[number]["step"]), minimum=0)


def _check_tensor(name: str, saved: Any, expected: Tensor, *, any_size: bool = False) -> None:
    if not isinstance(saved, Tensor):
        raise ValueError(f"{name} must be a tensor, got {type(saved).__name__}")
    if saved.dtype != expected.dtype or (saved.shape != expected.shape and not any_size):
        raise ValueError(
            f"{name} must be {expected.dtype} of shape {tuple(expected.shape)}, got {saved.dtype} of shape "
            f"{tuple(saved.shape)}"
        )


def _check_metrics(callbacks: dict[str, Any], step: int) -> None:
    """Check that the recorder can read its state back, and that no row is later than the checkpoint."""
    recorder = MetricsRecorder(None, None)
    if recorder.state_key not in callbacks:
        raise ValueError(f"callbacks lacks the state of {recorder.state_key}")
    recorder.load_state_dict(callbacks[recorder.state_key])
    check_number("loss_sum", callbacks[recorder.state_key]["loss_sum"])
    if not math.isnan(recorder.gradient_norm_sum):  # NaN: part of the epoch was not recorded
        check_number("gradient_norm_sum", recorder.gradient_norm_sum, minimum=0)
    check_integer("steps", recorder.steps, minimum=0)
    check_number("seconds", recorder.seconds_before, minimum=0)
    for row in recorder.rows:
        check_integer("epoch of a row of metrics", row.epoch, minimum=0)
        check_integer("step of a row of metrics", row.step, minimum=0)
        for name, number in {**{name: vars(row)[name] for name in LEADING_COLUMNS}, **row.last}.items():
            if not isinstance(number, float | int | None):
                raise ValueError(f"{name} of a row of metrics must be a number, got {number!r}")
        if row.step > step:
            raise ValueError(f"a row of metrics is of step {row.step}, after global_step {step}")
