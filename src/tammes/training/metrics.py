"""The numbers of a run over its epochs: in memory, in checkpoints, and in metrics.csv."""

import csv
import io
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from tammes.training.atomic import write_atomically
from tammes.training.module import Contrastive
from tammes.training.monitor import Monitor
from tammes.training.peers import Peers

LEADING = ("epoch", "step", "loss", "knn")


@dataclass(frozen=True, kw_only=True)
class Row:
    """The numbers after an epoch; epoch 0 is before the first step and has no loss.

    Args:
        epoch: epochs finished.
        step: steps taken.
        loss: mean over the steps of the epoch.
        knn: nearest-neighbor accuracy on held-out images, where it was measured.
        last: `objective.last` after the last step of the epoch; with an annealed `beta` or a learned
            `temperature`, these as well.
    """

    epoch: int
    step: int
    loss: float | None = None
    knn: float | None = None
    last: Mapping[str, float] = field(default_factory=dict)

    def cells(self) -> dict[str, str]:
        """The row as text, exact: reading it gives the same numbers."""
        leading = {"epoch": self.epoch, "step": self.step, "loss": self.loss, "knn": self.knn}
        numbers = {**leading, **self.last}
        return {name: "" if value is None else repr(value) for name, value in numbers.items()}


class Metrics(Callback):
    """Collects a row at the end of each epoch and keeps a file of them.

    The rows and the sums of the epoch under way are part of a checkpoint, and the file is nothing but the
    rows: after resuming, none is missing, repeated, or from after the checkpoint.

    Args:
        file: metrics.csv of the run, or None to keep the rows in memory only.
        monitor: measures the nearest-neighbor accuracy, or None.
        peers: the processes that train; the first of them measures and writes.

    Attributes:
        rows: one for each epoch so far.
    """

    def __init__(self, file: Path | None, monitor: Monitor | None, peers: Peers | None = None) -> None:
        self.file = file
        self.monitor = monitor
        self.peers = peers or Peers()
        self.rows: list[Row] = []
        self.loss_sum = 0.0
        self.steps = 0
        self.seconds_before = 0.0
        self.start: float | None = None

    @property
    def seconds(self) -> float:
        """Wall-clock time of training, without measuring, over all parts of a resumed run."""
        running = 0.0 if self.start is None else time.perf_counter() - self.start
        return self.seconds_before + running

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the file, or cut it back to the checkpoint."""
        assert isinstance(pl_module, Contrastive)
        self.start = time.perf_counter()
        if not self.rows and trainer.global_step == 0 and self.monitor is not None:
            self.rows.append(Row(epoch=0, step=0, knn=self._measure(pl_module, 0)))
        self._write()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Add a step to the epoch's mean."""
        loss = outputs["loss"]
        assert isinstance(loss, Tensor)
        self.loss_sum += loss.item()
        self.steps += 1

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Finish the row of the epoch."""
        assert isinstance(pl_module, Contrastive)
        epoch = trainer.current_epoch + 1
        last = self.peers.means(pl_module.numbers(), weight=pl_module.portion.size)
        row = Row(
            epoch=epoch,
            step=trainer.global_step,
            loss=self.loss_sum / self.steps,
            knn=self._measure(pl_module, epoch),
            last={name: value for name, value in last.items() if name not in LEADING},
        )
        self.rows.append(row)
        self.loss_sum, self.steps = 0.0, 0
        self._write()

    def state_dict(self) -> dict[str, Any]:
        """Plain numbers, so that checkpoints load without unpickling anything."""
        rows = [[row.epoch, row.step, row.loss, row.knn, dict(row.last)] for row in self.rows]
        return {"rows": rows, "loss_sum": self.loss_sum, "steps": self.steps, "seconds": self.seconds}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go back to where the checkpoint was written."""
        names = ("epoch", "step", "loss", "knn", "last")
        self.rows = [Row(**dict(zip(names, row, strict=True))) for row in state_dict["rows"]]
        self.loss_sum, self.steps = state_dict["loss_sum"], state_dict["steps"]
        self.seconds_before = state_dict["seconds"]

    def _measure(self, module: Contrastive, epoch: int) -> float | None:
        monitor = self.monitor
        if monitor is None or not monitor.due(epoch, module.config.epochs):
            return None
        assert self.start is not None
        before = time.perf_counter()
        accuracy = self.peers.by_first(lambda: monitor.accuracy(module.model))
        self.start += time.perf_counter() - before  # as if no time had passed
        return accuracy

    def _write(self) -> None:
        file = self.file
        if file is not None:
            self.peers.by_first(lambda: write_atomically(file, to_csv(self.rows).encode()))


def to_csv(rows: Sequence[Row]) -> str:
    """All rows under a header; a cell is empty where a number was not measured."""
    names = [*LEADING, *dict.fromkeys(name for row in rows for name in row.last)]
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(row.cells() for row in rows)
    return stream.getvalue()


def read_csv(path: Path) -> tuple[Row, ...]:
    """The rows of a metrics.csv.

    Args:
        path: the file.

    Raises:
        ValueError: where a cell is no number.
    """
    with open(path, newline="", encoding="utf-8") as file:
        return tuple(_read_row(path, cells) for cells in csv.DictReader(file))


def _read_row(path: Path, cells: dict[str, str]) -> Row:
    try:
        numbers = {name: float(cell) for name, cell in cells.items() if cell}
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: expected numbers, got {cells}") from error
    return Row(
        epoch=int(numbers.pop("epoch")),
        step=int(numbers.pop("step")),
        loss=numbers.pop("loss", None),
        knn=numbers.pop("knn", None),
        last=numbers,
    )
