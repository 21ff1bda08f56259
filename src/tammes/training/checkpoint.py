"""Checkpoints: when they are written, that they are written whole, and that nothing in them is executed."""

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint

from tammes.training.atomic import write_atomically
from tammes.training.stop import StopRequest

CONFIG = "tammes_config"
LAST = "last.ckpt"
PREVIOUS = "previous.ckpt"
# What of lightning's checkpoints a run cannot go on without.
NEEDED = ("global_step", "state_dict", "optimizer_states", "lr_schedulers", "loops", "callbacks")
# What torch is known to raise on files that were cut off or changed.
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


class StopAfterStep(Exception):  # noqa: N818 - no error: it ends the loop where it may be ended
    """Raised between two steps, once everything is saved."""


class DamagedCheckpoint(UserWarning):
    """The last checkpoint cannot be read; the one before it is used."""


class AtomicCheckpoints(TorchCheckpointIO):
    """Lightning's files, written so that a full disk or a kill leaves the checkpoint that was there.

    Args:
        begun: the checkpoint to go on from, which has been read and checked before; or None.
    """

    def __init__(self, begun: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.begun = begun

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Write the checkpoint beside the old one, then put it in its place, and keep the old one."""
        buffer = io.BytesIO()
        torch.save(checkpoint, buffer)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(Path(path), buffer.getvalue(), before=Path(path).with_name(PREVIOUS))

    def load_checkpoint(
        self, path: Any, map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """The checkpoint that was read before: other processes may not even see the file."""
        assert self.begun is not None
        return self.begun


class SaveCheckpoint(Checkpoint):
    """Saves after every so many steps, after each epoch, and when a stop is requested.

    Lightning runs callbacks of this kind after all others, so a checkpoint holds the finished numbers of
    the step or the epoch. After the last step of an epoch it waits for the epoch's end, which a resumed
    run would not go through again.

    Args:
        path: the file, or None to save nothing and only heed the request.
        every: steps from one checkpoint to the next within an epoch.
        config: the run's configuration as YAML, stored in the checkpoint.
        request: asks for a stop.
    """

    def __init__(self, path: Path | None, *, every: int, config: str, request: StopRequest) -> None:
        self.path = path
        self.every = every
        self.config = config
        self.request = request

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Save in the middle of an epoch, where it is time or a stop is requested."""
        if trainer.is_last_batch:
            return
        if self.request.heard() or trainer.global_step % self.every == 0:
            self._save(trainer)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save at the end of an epoch."""
        self.request.heard()
        self._save(trainer)

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Note which configuration the checkpoint belongs to."""
        checkpoint[CONFIG] = self.config

    def _save(self, trainer: Trainer) -> None:
        if self.path is not None:
            trainer.save_checkpoint(self.path, weights_only=False)
        if self.request.is_noted():
            raise StopAfterStep


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint without executing anything in it.

    Args:
        path: the file.

    Raises:
        ValueError: for a file that is no checkpoint of a run, or only a part of one.
        OSError: for a file that cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:  # torch does not look at the checksums
            if (name := archive.testzip()) is not None:
                raise zipfile.BadZipFile(f"checksum of {name}")
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    except DAMAGE as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise  # not what stands in the file, but the file
        # Torch's own words would advise to load the file unsafely.
        raise ValueError(
            f"{path} is damaged or no checkpoint ({type(error).__name__}): put back a copy of it, or start "
            "the run anew by --overwrite (overwrite=True)"
        ) from error
    if not isinstance(checkpoint, dict) or CONFIG not in checkpoint:
        raise ValueError(f"{path} is no checkpoint of a Tammes run")
    missing = [name for name in NEEDED if name not in checkpoint]
    if missing:
        raise ValueError(f"{path} is no whole checkpoint: {', '.join(missing)} is not in it")
    return checkpoint
