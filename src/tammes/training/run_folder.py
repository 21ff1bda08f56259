"""The folder of a run: its files, and when they may be written."""

import warnings
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightning.pytorch import LightningModule

from tammes.atomic import partial_files, write_atomically
from tammes.checks import check_file, check_integer
from tammes.data.subwords import Subwords, Words
from tammes.encoders import ModelDescription, SentenceEncoderConfig, TransformersConfig
from tammes.training.assets import Assets
from tammes.training.checkpoint import CONFIG, LAST, PREVIOUS, DamagedCheckpoint, load_checkpoint
from tammes.training.command import Command
from tammes.training.config import RunConfig, TrainingConfig
from tammes.training.config_file import from_yaml, to_yaml
from tammes.training.environment import FILE
from tammes.training.folder_copy import FolderCopy
from tammes.training.lock import LOCK, locked
from tammes.training.pictures import FILE as RECONSTRUCTIONS
from tammes.training.same_run import check_same


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """Folder of one run.

    Args:
        path: the folder, which is created if it does not exist.
        resume: whether to resume the run in the folder.
        overwrite: whether to delete the run in the folder (its files only) and start anew.
        checkpoint_every: steps from one checkpoint to the next within an epoch; the end of an epoch has one
            as well.
        command: command that starts or resumes the run, kept in command.json; None for a run from Python.
        copy: copy of the folder on an object store, which follows each checkpoint; None for none.

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
    command: Command | None = None
    copy: FolderCopy | None = None

    def __post_init__(self) -> None:
        if self.resume and self.overwrite:
            raise ValueError("resume and overwrite exclude each other: choose one")
        check_integer("checkpoint_every", self.checkpoint_every)

    @property
    def config(self) -> Path:
        """File of the configuration, from which the model can be built again."""
        return self.path / "config.yaml"

    @property
    def command_file(self) -> Path:
        """File of the command that started the run, or resumed it last."""
        return self.path / "command.json"

    @property
    def vocabulary(self) -> Path:
        """File of the vocabulary of a bag of words."""
        return self.path / "vocabulary.json"

    @property
    def description(self) -> Path:
        """File of the architecture and the tokenizer of a model of transformers."""
        return self.path / "model.json"

    @property
    def weights(self) -> Path:
        """File of the trained encoder and head."""
        return self.path / "model.safetensors"

    @property
    def metrics(self) -> Path:
        """File with a row of numbers for each epoch."""
        return self.path / "metrics.csv"

    @property
    def environment(self) -> Path:
        """File that says when and on which machine the run was computed."""
        return self.path / FILE

    @property
    def reconstructions(self) -> Path:
        """File with what the decoder of a run with masks made of a few images."""
        return self.path / RECONSTRUCTIONS

    @property
    def report(self) -> Path:
        """File of the report."""
        return self.path / "report.html"

    @property
    def checkpoint(self) -> Path:
        """Last checkpoint, from which training resumes."""
        return self.path / "checkpoints" / LAST

    @property
    def previous(self) -> Path:
        """Checkpoint before the last, in case the last is damaged."""
        return self.path / "checkpoints" / PREVIOUS

    def locked(self) -> AbstractContextManager[None]:
        """Return a context in which no other process works in the folder.

        Raises:
            ValueError: if another process does, or the path is a file.
        """
        self._check_is_folder()
        return locked(self.path)

    def _check_is_folder(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"{self.path} is a file: name a folder for the run")

    def begin_copy(self) -> None:
        """Bring the copy of the folder up to date, beside the training."""
        if self.copy is not None:
            self.copy.begin(self.path, self._in_order)

    def finish_copy(self) -> None:
        """Bring the copy of the folder up to date; `FolderCopy.finish` has the errors."""
        if self.copy is not None:
            self.copy.finish(self.path, self._in_order)

    @property
    def _in_order(self) -> tuple[Path, ...]:
        """The files of a copy: what a checkpoint needs comes before it."""
        others = [file for file in self._others if file not in (self.checkpoint, self.previous)]
        return (self.config, *others, self.checkpoint)

    @property
    def _others(self) -> tuple[Path, ...]:
        """The files that a run writes, but for config.yaml."""
        return (
            self.checkpoint,
            self.previous,
            self.weights,
            self.vocabulary,
            self.description,
            self.metrics,
            self.environment,
            self.reconstructions,
            self.report,
            self.command_file,
        )

    def open(
        self, config: RunConfig, *, steps_per_epoch: int, module: LightningModule | None = None
    ) -> dict[str, Any] | None:
        """Prepare the folder for a run; call it within `locked`.

        Args:
            config: configuration of the run that starts or resumes.
            steps_per_epoch: number of steps in an epoch.
            module: module that is to resume, which the checkpoint must fit; None checks the file alone.

        Returns:
            The checkpoint to resume from, or None to start from the beginning.

        Raises:
            ValueError: if the folder holds a run already (and neither resume nor overwrite is set), no run to
                resume, a run of another configuration, or files of other origin.
        """
        self._check_is_folder()
        if self.checkpoint.parent.is_symlink():
            raise ValueError(
                f"{self.checkpoint.parent} is a symbolic link, and what lies behind it may belong to others: "
                "remove the link, or name another folder"
            )
        if self.resume:
            return self._resume(config, steps_per_epoch, module)
        self.check_free()
        if self.config.exists():
            self._delete()
        if self.copy is not None:
            names = [file.relative_to(self.path).as_posix() for file in self._in_order]
            self.copy.prepare(names, overwrite=self.overwrite)
        self._write(config)
        return None

    def check_free(self) -> None:
        """Refuse a folder with a run, unless it is to be resumed or replaced, and one with other files.

        Raises:
            ValueError: with what to do.
        """
        self._check_is_folder()
        if self.resume:
            return
        if self.config.exists():
            if not self.overwrite:
                raise ValueError(
                    f"there is a run in {self.path} already: resume it with resume=True, replace it with "
                    "overwrite=True, or name another folder"
                )
        elif self.path.exists() and not self._is_empty():
            raise ValueError(f"{self.path} is not empty and holds no run: name another folder")

    def _is_empty(self) -> bool:
        """Return whether the folder is empty but for what a process killed at the very start has left."""
        left = {self.path / LOCK, *partial_files(self.config)}
        return left.issuperset(self.path.iterdir())

    def _resume(
        self, config: RunConfig, steps_per_epoch: int, module: LightningModule | None
    ) -> dict[str, Any] | None:
        if not self.config.exists():
            raise ValueError(f"there is no run to resume in {self.path} (no config.yaml)")
        check_same(read_config(self.config), config, str(self.path))
        if not self.has_checkpoint:
            if self.weights.exists():
                raise ValueError(
                    f"the run in {self.path} has finished, but its checkpoints are missing: put them back to "
                    "train for more epochs, or train anew in another folder"
                )
            self._write(config)
            return None  # the run stopped before its first checkpoint
        checkpoint = self._readable_checkpoint(module)
        check_same(from_yaml(RunConfig, checkpoint[CONFIG]), config, str(self.checkpoint))
        steps, epochs = checkpoint["global_step"], config.training.epochs
        if steps > epochs * steps_per_epoch:
            raise ValueError(
                f"{self.path} has taken {steps} steps already, more than {epochs} epochs have: "
                "train for more epochs, or start a new run"
            )
        self._write(config)
        return checkpoint

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is a checkpoint to resume from."""
        return self.checkpoint.exists() or self.previous.exists()

    def _readable_checkpoint(self, module: LightningModule | None) -> dict[str, Any]:
        """Return the last checkpoint, or the one before it if the last is damaged or missing."""
        if not self.previous.exists():
            return load_checkpoint(self.checkpoint, module)
        try:
            return load_checkpoint(self.checkpoint, module)
        except (ValueError, FileNotFoundError) as error:
            state = "missing" if isinstance(error, FileNotFoundError) else "damaged"
            damage = error
        try:
            checkpoint = load_checkpoint(self.previous, module)
        except ValueError as error:
            raise ValueError(f"{damage}. The one before it, {PREVIOUS}, cannot be read either") from error
        warnings.warn(
            f"{self.checkpoint} is {state}: resuming from {PREVIOUS}, after step {checkpoint['global_step']}",
            DamagedCheckpoint,
            stacklevel=2,
        )
        return checkpoint

    def _write(self, config: RunConfig) -> None:
        text = to_yaml(config)
        self.path.mkdir(parents=True, exist_ok=True)
        for file in (self.config, *self._others):
            for left in partial_files(file):
                left.unlink()
        write_atomically(self.config, text.encode())
        if self.command is not None:
            write_atomically(self.command_file, self.command.to_json().encode())

    def save_assets(self, assets: Assets) -> None:
        """Write the vocabulary of a run on texts, or the description of its model."""
        file = self.description if isinstance(assets, ModelDescription) else self.vocabulary
        write_atomically(file, assets.to_json().encode())

    def kept_description(self, config: TrainingConfig) -> ModelDescription | Subwords | None:
        """Return the model's description or the subwords that a run was started with, if there and whole."""
        encoder = config.encoder
        if not self.resume:
            return None
        with suppress(ValueError, OSError):
            if isinstance(encoder, TransformersConfig):
                return ModelDescription.load(self.description)
            if isinstance(encoder, SentenceEncoderConfig) and not isinstance(encoder.tokens, Words):
                return Subwords.load(self.vocabulary)
        return None

    def forget_unstarted(self) -> None:
        """Delete the files of a run that failed before its first checkpoint, since nothing can be resumed."""
        if not self.has_checkpoint:
            self._delete()

    def _delete(self) -> None:
        """Delete the files that a run writes and nothing else.

        config.yaml goes last, so that a folder whose deletion was interrupted still counts as a run.
        """
        for file in self._others:
            _unlink(file)
        with suppress(OSError):  # there is none, or the user has put files into it
            self.checkpoint.parent.rmdir()
        _unlink(self.config)


def _unlink(file: Path) -> None:
    """Delete a file, and what processes that were killed while writing it have left."""
    for each in (*partial_files(file), file):
        each.unlink(missing_ok=True)


def read_config(path: Path) -> RunConfig:
    """Read a run's config.yaml.

    Raises:
        ValueError: for a folder without a run, or naming the file and the key that is wrong.
    """
    if not path.exists():
        raise ValueError(
            f"there is no run in {path.parent} (no {path.name}): name a folder that tammes train wrote"
        )
    try:
        return from_yaml(RunConfig, check_file(path).read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}") from error
