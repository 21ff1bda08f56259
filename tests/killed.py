"""Trainings that end before a step, as a kill would end them, and that are resumed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from torch import Tensor

from tammes.training import RunFolder
from tammes.training.loader import PairBatch
from tammes.training.module import ContrastiveModule

FILES = ("model.safetensors", "metrics.csv", "config.yaml")


class Killed(BaseException):
    """Ends a training at once, without ending the tests."""


@contextmanager
def steps(*, killed_at: int | None = None) -> Iterator[list[list[int]]]:
    """Yield a list that fills with the rows of each step; raise `Killed` before a step, if one is given."""
    seen: list[list[int]] = []
    whole = ContrastiveModule.training_step

    def training_step(module: ContrastiveModule, batch: PairBatch, batch_idx: int) -> Tensor:
        if module.global_step == killed_at:
            raise Killed
        seen.append(batch[2][:, 0].tolist())
        return whole(module, batch, batch_idx)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ContrastiveModule, "training_step", training_step)
        yield seen


def assert_same_run(first: Path, second: Path, files: tuple[str, ...] = FILES) -> None:
    for name in files:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def assert_resumes(
    go: Callable[[RunFolder], object],
    folder: Path,
    *,
    killed_at: int,
    every: int = 1,
    files: tuple[str, ...] = FILES,
) -> None:
    """Assert that a training killed before a step and resumed writes the same bytes as a whole one.

    Args:
        go: function that trains into a folder.
        folder: folder for both runs.
        killed_at: number of steps before the kill.
        every: steps from one checkpoint to the next.
        files: files to compare.
    """
    go(RunFolder(path=folder / "whole"))
    with pytest.raises(Killed), steps(killed_at=killed_at):
        go(RunFolder(path=folder / "run", checkpoint_every=every))
    go(RunFolder(path=folder / "run", checkpoint_every=every, resume=True))
    assert_same_run(folder / "whole", folder / "run", files)
