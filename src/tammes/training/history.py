"""What runs have recorded of themselves: settings, numbers over the epochs, and where they were trained."""

import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tammes.training.config import RunConfig
from tammes.training.environment import Environment, read_environments
from tammes.training.metrics import EpochMetrics, read_csv
from tammes.training.run_folder import RunFolder, read_config


class UnstartedRunWarning(UserWarning):
    """A run has not finished an epoch, so that there is nothing to show of it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class History:
    """Settings and numbers of a run that is finished or still goes on.

    Args:
        path: folder of the run.
        config: settings of the run, and the description of its data.
        metrics: metrics of each epoch so far.
        environments: when and on which machine each part of the run was computed; empty if not recorded.
    """

    path: Path
    config: RunConfig
    metrics: tuple[EpochMetrics, ...] = field(repr=False)
    environments: tuple[Environment, ...] = field(repr=False)

    @property
    def epochs(self) -> int:
        """Number of finished epochs."""
        return self.metrics[-1].epoch if self.metrics else 0


def read_history(path: Path) -> History:
    """Read what a run has recorded; no weights are read, and nothing in the files is executed.

    Args:
        path: folder of a run, finished or not.

    Raises:
        ValueError: for a folder without a run, or a damaged file, which is named.
    """
    folder = RunFolder(path=path)
    return History(
        path=path,
        config=read_config(folder.config),
        metrics=read_csv(folder.metrics) if folder.metrics.exists() else (),
        environments=read_environments(folder.environment),
    )


def read_histories(paths: Iterable[Path]) -> tuple[History, ...]:
    """Read the runs in these folders and below them, each once, in the order of the folders.

    Args:
        paths: folders of runs, or folders with runs somewhere below.

    Raises:
        ValueError: for a folder without a run in it or below, a damaged file, or no run that has finished an
            epoch.

    Warns:
        UnstartedRunWarning: a run has not finished an epoch, and is left out.
    """
    folders = dict.fromkeys(folder for path in paths for folder in _runs_below(path))
    histories = tuple(map(read_history, folders))
    started = tuple(history for history in histories if history.epochs > 0)
    if not started:
        names = ", ".join(map(str, folders))
        raise ValueError(f"no run has finished an epoch yet ({names}): wait for the first one")
    for history in histories:
        if history.epochs == 0:
            message = f"the run in {history.path} has not finished an epoch: left out"
            warnings.warn(message, UnstartedRunWarning, stacklevel=2)
    return started


def _runs_below(path: Path) -> list[Path]:
    """Return the folder itself if it is a run, or else the runs below it, in the order of their names."""
    if not path.is_dir():
        raise ValueError(f"expected the folder of a run at {path}, found no such folder")
    found = []
    for root, folders, files in os.walk(path):
        if "config.yaml" in files:
            found.append(Path(root))
            folders.clear()  # a run holds no others
        folders.sort()
    if not found:
        raise ValueError(
            f"there is no run in {path} or below it (no config.yaml): name a folder that tammes train wrote"
        )
    return found
