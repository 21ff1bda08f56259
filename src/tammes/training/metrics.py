"""The numbers of a run over its epochs: in memory, in checkpoints, and in metrics.csv."""

import csv
import io
import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor
from typing_extensions import override

from tammes.atomic import write_atomically
from tammes.checks import check_file, check_integer
from tammes.evaluation import KNN, LabeledFeatures
from tammes.evaluation.knn import usual_knn
from tammes.training.distributed.group import ProcessGroup
from tammes.training.embedding import embed
from tammes.training.examples import Data
from tammes.training.label_free import LabelFree
from tammes.training.model import Model
from tammes.training.module import ContrastiveModule

T = TypeVar("T")

LEADING_COLUMNS = ("epoch", "step", "loss", "knn", "learning_rate", "gradient_norm")
FORMER_COLUMNS = ("epoch", "step", "loss", "knn")
"""The leading columns of checkpoints before Tammes recorded the learning rate and the gradient."""


OVERTAKEN = 0.5
"""Share of overtaken positives from which on a training says so, once."""


class OvertakenWarning(UserWarning):
    """Feature modification moves most positives below all negatives of their anchors."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Monitor:
    """Accuracy of nearest neighbors on held-out data, measured after epochs.

    Args:
        bank: labeled images or texts, the possible neighbors.
        held_out: labeled images or texts to classify, not used for training.
        every: epochs from one measurement to the next; the first and the last weights are always measured.
        knn: the vote. None for the majority of 20 neighbors, or of the whole bank if it is smaller; the
            thesis (3.6.4) has `KNN(neighbors=200, temperature=...)`.

    Raises:
        ValueError: for data without labels, or of one class; for more neighbors than the bank has.
    """

    bank: Data
    held_out: Data
    every: int = 1
    knn: KNN | None = None

    def __post_init__(self) -> None:
        self.bank.required_labels()
        self.held_out.required_labels()
        check_integer("every", self.every)
        self.classifier.check_points(len(self.bank))

    @property
    def classifier(self) -> KNN:
        """The vote of nearest neighbors."""
        return usual_knn(len(self.bank)) if self.knn is None else self.knn

    def is_due(self, epoch: int, epochs: int) -> bool:
        """Return whether to measure after an epoch of a run of `epochs`; 0 is before the first."""
        return epoch % self.every == 0 or epoch == epochs

    def accuracy(self, model: Model) -> float:
        """Return the share of held-out rows whose class the neighbors name."""
        bank, held_out = (
            LabeledFeatures(features=embed(model, data)[0], labels=data.required_labels())
            for data in (self.bank, self.held_out)
        )
        return self.classifier.accuracy(bank, held_out)


@dataclass(frozen=True, kw_only=True)
class EpochMetrics:
    """Numbers after an epoch; epoch 0 is before the first step and has no loss.

    Args:
        epoch: number of finished epochs.
        step: number of steps taken.
        loss: mean over the steps of the epoch.
        knn: nearest-neighbor accuracy on held-out data; None if it was not measured.
        learning_rate: learning rate of the epoch's last step.
        gradient_norm: Euclidean norm of the gradient of all weights together, averaged over the processes and
            before clipping; mean over the steps of the epoch. None for an epoch that an older version began.
        last: `objective.last` after the last step of the epoch, with the annealed `beta` and the learned
            `temperature` of a run that has them; with masks, also the mean of each term over the epoch.
            `flops` are the floating-point operations of all steps so far: as many as in the first, each.
    """

    epoch: int
    step: int
    loss: float | None = None
    knn: float | None = None
    learning_rate: float | None = None
    gradient_norm: float | None = None
    last: Mapping[str, float] = field(default_factory=dict)


class MetricsRecorder(Callback):
    """Records the metrics of each epoch and keeps them in a file.

    The rows and the sums of the current epoch are part of a checkpoint, and the file is written from the rows
    alone: after a resume no row is missing, repeated, or later than the checkpoint.

    Args:
        file: metrics.csv of the run; None keeps the rows in memory only.
        monitor: measures the nearest-neighbor accuracy; None measures nothing.
        group: processes of the run, of which the first measures and writes.
        label_free: measures that need no labels; None for none.

    Attributes:
        rows: metrics of each epoch so far.
    """

    def __init__(
        self,
        file: Path | None,
        monitor: Monitor | None,
        group: ProcessGroup | None = None,
        label_free: LabelFree | None = None,
    ) -> None:
        self.file = file
        self.monitor = monitor
        self.label_free = label_free
        self.group = group or ProcessGroup()
        self.rows: list[EpochMetrics] = []
        self.loss_sum: float | Tensor = 0.0  # in double precision, on the device of the training
        self.gradient_norm_sum = 0.0
        self.term_sums: dict[str, float | Tensor] = {}
        self.flops: int | None = None
        self.steps = 0
        self.seconds_before = 0.0
        self.start: float | None = None

    @property
    def seconds(self) -> float:
        """Wall-clock time of training, without measuring, over all parts of a resumed run."""
        running = 0.0 if self.start is None else time.perf_counter() - self.start
        return self.seconds_before + running

    @property
    @override
    def state_key(self) -> str:
        return "Metrics"  # the name in checkpoints, older ones included

    @override
    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert isinstance(pl_module, ContrastiveModule)
        self.start = time.perf_counter()
        pl_module.flops = self.flops
        if not self.rows and trainer.global_step == 0 and (self.monitor or self.label_free):
            knn, last = self._measure(pl_module, 0), self._diagnose(pl_module, 0)
            self.rows.append(EpochMetrics(epoch=0, step=0, knn=knn, last=last))
        self._write()

    @override
    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, ContrastiveModule)
        loss = outputs["loss"]
        assert isinstance(loss, Tensor)
        self.loss_sum = self.loss_sum + loss.detach().double()
        self.gradient_norm_sum += pl_module.gradient_norm
        for name, value in pl_module.means.items():
            self.term_sums[name] = self.term_sums.get(name, 0.0) + value.double()
        self.steps += 1
        self.flops = pl_module.flops

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert isinstance(pl_module, ContrastiveModule)
        epoch = trainer.current_epoch + 1
        last = self.group.means(pl_module.numbers(), weight=pl_module.rows)
        last |= {name: float(total) / self.steps for name, total in self.term_sums.items()}
        assert self.flops is not None
        processes = self.group.launch.count
        flops = processes * self.group.means({"flops": float(self.flops)}, weight=1)["flops"]
        last["flops"] = flops * trainer.global_step
        gradient_norm = self.gradient_norm_sum / self.steps
        row = EpochMetrics(
            epoch=epoch,
            step=trainer.global_step,
            loss=float(self.loss_sum) / self.steps,
            knn=self._measure(pl_module, epoch),
            learning_rate=pl_module.learning_rate,
            gradient_norm=None if math.isnan(gradient_norm) else gradient_norm,
            last={name: value for name, value in last.items() if name not in LEADING_COLUMNS}
            | self._diagnose(pl_module, epoch),
        )
        if self.group.is_first:
            self._warn_of_overtaken(row)
        self.rows.append(row)
        self.loss_sum, self.gradient_norm_sum, self.steps, self.term_sums = 0.0, 0.0, 0, {}
        self._write()

    @override
    def state_dict(self) -> dict[str, Any]:
        # Plain numbers, so that a checkpoint loads with `weights_only=True`.
        rows = [[*(vars(row)[name] for name in LEADING_COLUMNS), dict(row.last)] for row in self.rows]
        return {
            "rows": rows,
            "loss_sum": float(self.loss_sum),
            "gradient_norm_sum": self.gradient_norm_sum,
            "term_sums": {name: float(total) for name, total in self.term_sums.items()},
            "flops": self.flops,
            "steps": self.steps,
            "seconds": self.seconds,
        }

    @override
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.rows = [_from_numbers(row) for row in state_dict["rows"]]
        self.loss_sum, self.steps = state_dict["loss_sum"], state_dict["steps"]
        # An older version left no sum of the steps it took, so the mean of this epoch stays unknown.
        unknown = math.nan if self.steps else 0.0
        self.gradient_norm_sum = state_dict.get("gradient_norm_sum", unknown)
        self.term_sums = dict(state_dict.get("term_sums", {}))
        self.flops = state_dict.get("flops")
        self.seconds_before = state_dict["seconds"]

    def _warn_of_overtaken(self, row: EpochMetrics) -> None:
        """Say once in a run, resumed or not, that epsilon is too large for the encoder."""
        if any(_overtaken(each) >= OVERTAKEN for each in self.rows) or _overtaken(row) < OVERTAKEN:
            return
        warnings.warn(
            f"epoch {row.epoch}: epsilon moves the positives of {_overtaken(row):.0%} of the anchors below "
            "all their negatives, so that the modified loss cannot tell them apart: lower epsilon, unless "
            "the share falls in later epochs (overtaken_positives in metrics.csv)",
            OvertakenWarning,
            stacklevel=2,
        )

    def _measure(self, module: ContrastiveModule, epoch: int) -> float | None:
        monitor = self.monitor
        if monitor is None or not monitor.is_due(epoch, module.config.epochs):
            return None
        return self._untimed(lambda: monitor.accuracy(module.trained))

    def _diagnose(self, module: ContrastiveModule, epoch: int) -> dict[str, float]:
        label_free = self.label_free
        if label_free is None or not label_free.is_due(epoch):
            return {}
        return self._untimed(lambda: label_free.measure(module.trained))

    def _untimed(self, work: Callable[[], T]) -> T:
        """Return what process 0 measures, which does not count as training time."""
        assert self.start is not None
        before = time.perf_counter()
        found = self.group.on_first(work)
        self.start += time.perf_counter() - before
        return found

    def _write(self) -> None:
        file = self.file
        if file is not None:
            self.group.on_first(lambda: write_atomically(file, to_csv(self.rows).encode()))


def _overtaken(row: EpochMetrics) -> float:
    return row.last.get("overtaken_positives", 0.0)


def _from_numbers(numbers: Sequence[Any]) -> EpochMetrics:
    """Return the row of a checkpoint: its leading columns in order, then a mapping of all others."""
    names = FORMER_COLUMNS if len(numbers) == len(FORMER_COLUMNS) + 1 else LEADING_COLUMNS
    return EpochMetrics(**dict(zip((*names, "last"), numbers, strict=True)))


def to_csv(rows: Sequence[EpochMetrics]) -> str:
    """Return the metrics as CSV with a header; a cell is empty if a number was not measured.

    Each cell is the number's `repr`, from which exactly the same number is read.
    """
    names = [*LEADING_COLUMNS, *dict.fromkeys(name for row in rows for name in row.last)]
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, names, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        numbers = {**{name: vars(row)[name] for name in LEADING_COLUMNS}, **row.last}
        writer.writerow({name: "" if value is None else repr(value) for name, value in numbers.items()})
    return stream.getvalue()


def read_csv(path: Path) -> tuple[EpochMetrics, ...]:
    """Read a metrics.csv.

    Raises:
        ValueError: if the file is no table of numbers, or lacks the columns of epochs and steps.
        OSError: if the file cannot be read.
    """
    try:
        with check_file(path).open(newline="", encoding="utf-8") as file:
            return tuple(_from_cells(path, cells) for cells in csv.DictReader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: expected a table of numbers, got something else ({error})") from error


def _from_cells(path: Path, cells: dict[str, str]) -> EpochMetrics:
    try:
        numbers = {name: float(cell) for name, cell in cells.items() if cell}
        return EpochMetrics(
            epoch=int(numbers.pop("epoch")),
            step=int(numbers.pop("step")),
            **{name: numbers.pop(name, None) for name in LEADING_COLUMNS[2:]},
            last=numbers,
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{path}: expected numbers, with an epoch and a step, got {cells}") from error
