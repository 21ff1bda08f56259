"""The folder of a run: what stands in it, and when it may be written to."""

import dataclasses
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tammes.training.atomic import write_atomically
from tammes.training.checkpoint import CONFIG, LAST, PREVIOUS, DamagedCheckpoint, load_checkpoint
from tammes.training.config import RunConfig
from tammes.training.config_file import differences, from_yaml, to_yaml


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """One folder for one run.

    Args:
        path: the folder; it is made where it does not exist.
        resume: go on with the run that stands there.
        overwrite: delete the run that stands there (its files only) and start anew.
        checkpoint_every: steps from one checkpoint to the next within an epoch; there is one at the end
            of each epoch besides.

    Raises:
        ValueError: for both resume and overwrite, or a checkpoint_every below 1.

    Example:
        >>> RunFolder(path=Path("runs/first")).metrics.as_posix()
        'runs/first/metrics.csv'
    """

    path: Path
    resume: bool = False
    overwrite: bool = False
    checkpoint_every: int = 500

    def __post_init__(self) -> None:
        if self.resume and self.overwrite:
            raise ValueError("resume and overwrite exclude each other: choose one")
        if self.checkpoint_every < 1:
            raise ValueError(f"checkpoint_every must be at least 1 step, got {self.checkpoint_every}")

    @property
    def config(self) -> Path:
        """Everything needed to build the model again."""
        return self.path / "config.yaml"

    @property
    def vocabulary(self) -> Path:
        """The words that the encoder of a run on texts knows."""
        return self.path / "vocabulary.json"

    @property
    def weights(self) -> Path:
        """The trained encoder and head."""
        return self.path / "model.safetensors"

    @property
    def metrics(self) -> Path:
        """A row of numbers per epoch."""
        return self.path / "metrics.csv"

    @property
    def report(self) -> Path:
        """The page."""
        return self.path / "report.html"

    @property
    def checkpoint(self) -> Path:
        """Where training goes on from."""
        return self.path / "checkpoints" / LAST

    @property
    def previous(self) -> Path:
        """The checkpoint before the last, for when the last is damaged."""
        return self.path / "checkpoints" / PREVIOUS

    def open(self, config: RunConfig, *, steps_per_epoch: int) -> dict[str, Any] | None:
        """Make the folder ready for a run of this configuration.

        Args:
            config: of the run that is about to start or to go on.
            steps_per_epoch: how many steps its data make of an epoch.

        Returns:
            The checkpoint to go on from, or None to start from the beginning.

        Raises:
            ValueError: where the folder holds a run already (and neither resume nor overwrite was asked
                for), none to resume, one of another configuration, or files that are no run's.
        """
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"{self.path} is a file: name a folder for the run")
        if self.resume:
            return self._resume(config, steps_per_epoch)
        if self.config.exists():
            if not self.overwrite:
                raise ValueError(
                    f"there is a run in {self.path} already: go on with it by --resume (resume=True), "
                    "replace it by --overwrite (overwrite=True), or name another folder"
                )
            self._delete()
        elif self.path.exists() and any(self.path.iterdir()):
            raise ValueError(f"{self.path} is not empty and holds no run: name another folder")
        self._write(config)
        return None

    def _resume(self, config: RunConfig, steps_per_epoch: int) -> dict[str, Any] | None:
        if not self.config.exists():
            raise ValueError(f"there is no run to resume in {self.path} (no config.yaml)")
        expect_same(read_config(self.config), config, str(self.path))
        if not self.has_checkpoint:
            return None  # stopped before the first checkpoint: the beginning is where it stood
        checkpoint = self._readable_checkpoint()
        expect_same(from_yaml(RunConfig, checkpoint[CONFIG]), config, str(self.checkpoint))
        steps, asked = checkpoint["global_step"], config.training.epochs
        if steps > asked * steps_per_epoch:
            raise ValueError(
                f"{self.path} has gone {steps} steps already, beyond the {asked} epochs asked for: "
                "ask for more epochs, or start a new run"
            )
        self._write(config)
        return checkpoint

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is anything to go on from."""
        return self.checkpoint.exists() or self.previous.exists()

    def _readable_checkpoint(self) -> dict[str, Any]:
        """The last checkpoint, or where it is damaged or missing the one before it."""
        if not self.previous.exists():
            return load_checkpoint(self.checkpoint)
        try:
            return load_checkpoint(self.checkpoint)
        except (ValueError, FileNotFoundError) as error:
            state = "missing" if isinstance(error, FileNotFoundError) else "damaged"
            damage = error
        try:
            checkpoint = load_checkpoint(self.previous)
        except ValueError as error:
            raise ValueError(f"{damage}. The one before it, {PREVIOUS}, cannot be read either") from error
        warnings.warn(
            f"{self.checkpoint} is {state}: going on from {PREVIOUS}, after step {checkpoint['global_step']}",
            DamagedCheckpoint,
            stacklevel=2,
        )
        return checkpoint

    def _write(self, config: RunConfig) -> None:
        text = to_yaml(config)
        self.path.mkdir(parents=True, exist_ok=True)
        write_atomically(self.config, text.encode())

    def forget_unstarted(self) -> None:
        """Delete what was written of a run that failed before its first checkpoint: nothing to go on with."""
        if not self.has_checkpoint:
            self._delete()

    def _delete(self) -> None:
        """Delete what a run writes and nothing else; config.yaml goes last, so that a folder half deleted
        is still known as a run's.
        """
        if self.checkpoint.parent.exists():
            shutil.rmtree(self.checkpoint.parent)
        for file in (self.weights, self.vocabulary, self.metrics, self.report, self.config):
            file.unlink(missing_ok=True)


def read_config(path: Path) -> RunConfig:
    """Read a run's config.yaml.

    Args:
        path: the file.

    Raises:
        ValueError: naming the file and the key that is wrong.
    """
    try:
        return from_yaml(RunConfig, path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}") from error


def expect_same(old: RunConfig, new: RunConfig, where: str) -> None:
    """Raise where a run would go on under another configuration; only more epochs are allowed.

    Args:
        old: what the run was started with.
        new: what it shall go on with.
        where: names the run in the message.
    """
    if old.training.extendable:
        longer = dataclasses.replace(old.training, epochs=new.training.epochs)
        old = dataclasses.replace(old, training=longer)
    found = [f"{path} was {was!r}, now {now!r}" for path, was, now in differences(old, new)]
    if not found:
        return
    hint = "give the same settings, or start a new run"
    if found == [f"training.epochs was {old.training.epochs!r}, now {new.training.epochs!r}"]:
        hint = "start a new run: this one spreads a schedule over the epochs it was started with"
    raise ValueError(f"{where} belongs to a run with other settings: {'; '.join(found)}. Instead, {hint}")
