"""What a training shows while it runs: a bar in a terminal, elsewhere a line for each epoch."""

import math
import time
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import RichProgressBar
from rich import get_console
from typing_extensions import override

from tammes.training.metrics import MetricsRecorder


def progress_of(recorder: MetricsRecorder) -> Callback:
    """Return what shows the progress on this output.

    Args:
        recorder: records the numbers of each epoch; comes before this among the callbacks.
    """
    return EpochProgressBar() if get_console().is_terminal else EpochLines(recorder)


class EpochProgressBar(RichProgressBar):
    """Lightning's progress bar with epochs counted from 1, as in metrics.csv: the last of three is 3/3.

    It shows the loss of each step. To read that from a GPU takes time, which no training without a bar loses.
    """

    def __init__(self) -> None:
        super().__init__(leave=False)
        self.loss = math.nan

    @override
    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self.loss = outputs["loss"].item()
        super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)

    @override
    def get_metrics(
        self, trainer: Trainer, pl_module: LightningModule
    ) -> dict[str, int | str | float | dict[str, float]]:
        return {**super().get_metrics(trainer, pl_module), "loss": self.loss}

    # Lightning has no public way to change the text; without this method it counts from 0.
    def _get_train_description(self, current_epoch: int) -> str:
        return f"Epoch {current_epoch + 1}/{self.trainer.max_epochs}"


class EpochLines(Callback):
    """A line for each epoch, for files and pipes, where a bar would leave nothing.

    Args:
        recorder: records the numbers of each epoch.
    """

    def __init__(self, recorder: MetricsRecorder) -> None:
        self.recorder = recorder
        self.start, self.first_epoch = 0.0, 0

    @override
    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.start, self.first_epoch = time.perf_counter(), trainer.current_epoch
        if self.recorder.rows and self.recorder.rows[-1].knn is not None and trainer.global_step == 0:
            print(f"before training: kNN {100 * self.recorder.rows[-1].knn:.1f} %", flush=True)

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        row, epochs = self.recorder.rows[-1], trainer.max_epochs or 0
        seconds = time.perf_counter() - self.start
        left = seconds / (row.epoch - self.first_epoch) * (epochs - row.epoch)
        knn = "" if row.knn is None else f", kNN {100 * row.knn:.1f} %"
        end = f", about {duration(left)} left" if row.epoch < epochs else ""
        print(f"epoch {row.epoch}/{epochs}: loss {row.loss:.4f}{knn}, {duration(seconds)}{end}", flush=True)


def duration(seconds: float) -> str:
    """Return a time in words.

    Example:
        >>> duration(7.2), duration(200), duration(9000)
        ('7 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
