"""The training in which a study was stopped, so that it goes on from there and not from its first step."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tammes.training.run_folder import RunFolder


@dataclass(frozen=True, kw_only=True)
class Unfinished:
    """Place of the training that a study has begun, beside its table.

    It serves studies of which a single training may take longer than a job may run.

    Args:
        study: folder of the study.
        alone: whether no other process measures cells of the study.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     begun = Unfinished(study=Path(root))
        ...     with begun.training("SimCLR", 0) as folder:
        ...         folder.resume, begun.path.exists()
        ...     begun.path.exists()
        (False, True)
        False
    """

    study: Path
    alone: bool = True

    @property
    def path(self) -> Path:
        """Folder that holds the run of one cell, and is deleted with it."""
        return self.study / "unfinished"

    @contextmanager
    def training(self, *settings: object) -> Iterator[RunFolder]:
        """Yield the folder of a training, which resumes if the study was stopped in it.

        The folder is deleted when the context ends without an error. If no other process measures, that of
        any other training is deleted when it begins.

        Args:
            settings: all settings of the training, by whose representations it is recognized. A training that
                was begun with other settings, by an older version too, is deleted.
        """
        name = hashlib.sha256(repr(settings).encode()).hexdigest()[:16]
        folder = RunFolder(path=self.path / name)
        if not folder.path.is_dir():
            if self.alone:
                shutil.rmtree(self.path, ignore_errors=True)
            folder.path.mkdir(parents=True)
        yield replace(folder, resume=folder.config.exists())
        shutil.rmtree(folder.path, ignore_errors=True)
        with suppress(OSError):  # others train in it
            self.path.rmdir()
