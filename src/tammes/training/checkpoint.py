"""Checkpoints: when and how they are written, and how they are read without executing anything."""

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint
from typing_extensions import override

from tammes.checks import check_file
from tammes.training.atomic import write_atomically
from tammes.training.stop import StopRequest

CONFIG = "tammes_config"
LAST = "last.ckpt"
PREVIOUS = "previous.ckpt"
# Entries of lightning's checkpoints that a resume needs.
NEEDED = ("global_step", "state_dict", "optimizer_states", "lr_schedulers", "loops", "callbacks")
# Errors that torch is known to raise on files that were cut off or changed.
DAMAGE = (
    OSError,
    EOFError,
    RuntimeError,
    pickle.UnpicklingError,
    zipfile.BadZipFile,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
)


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
    """

    def __init__(self, path: Path | None, *, every: int, config: str, request: StopRequest) -> None:
        self.path = path
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
        if self.request.is_recorded():
            raise StopAfterStep


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint without executing anything in it.

    Raises:
        ValueError: for a file that is no checkpoint of a run, or only a part of one.
        OSError: for a file that cannot be read.
    """
    try:
        with zipfile.ZipFile(check_file(path)) as archive:  # torch does not check the checksums
            if (name := archive.testzip()) is not None:
                raise zipfile.BadZipFile(f"checksum of {name}")
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    except DAMAGE as error:
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
    return checkpoint
