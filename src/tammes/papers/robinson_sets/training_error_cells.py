"""Cells of `sets-training-error`: a classifier trained by one loss at one learning rate, epoch by epoch."""

import csv
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import torch
from torch import Tensor, nn

from tammes.data import Images
from tammes.encoders import ConvNetConfig, ResNetConfig
from tammes.extensions import TrainingError

BATCH = 128
SINGLETON = "singleton extension"
SMALL, LARGE = "small convolutional network", "ResNet-18"
Loss = Callable[[Tensor, Tensor], Tensor]


def squared(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean squared distance of probabilities to the right class."""
    return nn.functional.mse_loss(
        logits.softmax(1), nn.functional.one_hot(labels, logits.shape[1]).to(logits.dtype)
    )


LOSSES: Mapping[str, Loss] = {
    SINGLETON: TrainingError(),
    "cross-entropy": nn.functional.cross_entropy,
    "hinge": nn.functional.multi_margin_loss,
    "squared error": squared,
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One training."""

    data: str
    images: int
    network: str
    loss: str
    learning_rate: float
    epochs: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What a training came to.

    `value` and `error` are those of the last epoch, over the images as they came, and `distance` is the mean
    over all epochs of the distance between the two; `validation` is the accuracy afterwards on images that
    were not trained on. Where the loss became infinite or NaN, `diverged` is true, and the others are 0.
    """

    diverged: bool
    validation: float
    value: float
    error: float
    distance: float
    seconds_per_epoch: float


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """Means over the training images, as they came."""

    epoch: int
    value: float
    error: float


class Laboratory:
    """Images to train on and to validate with.

    Args:
        train: with labels.
        validation: with labels.
        curves: a folder for what each epoch came to; made where it is missing.
    """

    def __init__(self, train: Images, validation: Images, curves: Path) -> None:
        self._train, self._validation = train, validation
        self._curves = curves
        self._classes = int(train.required_labels().max()) + 1
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def measure(self, cell: Cell) -> Measured:
        """Train one cell, and write its epochs to a file of their own."""
        torch.manual_seed(cell.seed)
        config = ResNetConfig(depth=18) if cell.network == LARGE else ConvNetConfig()
        encoder = config.build(channels=self._train.channels, size=self._train.size)
        network = nn.Sequential(encoder, nn.Linear(encoder.features, self._classes)).to(self._device)
        started = time.perf_counter()
        epochs = self._trained(network, cell)
        seconds = (time.perf_counter() - started) / cell.epochs
        self._curves.mkdir(parents=True, exist_ok=True)
        with self._file(cell).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=[field.name for field in fields(Epoch)])
            writer.writeheader()
            writer.writerows(asdict(epoch) for epoch in epochs)
        last = epochs[-1]
        if not math.isfinite(last.value):
            return Measured(
                diverged=True, validation=0.0, value=0.0, error=0.0, distance=0.0, seconds_per_epoch=seconds
            )
        return Measured(
            diverged=False,
            validation=self._accuracy(network),
            value=last.value,
            error=last.error,
            distance=sum(abs(epoch.value - epoch.error) for epoch in epochs) / len(epochs),
            seconds_per_epoch=seconds,
        )

    def epochs(self, cell: Cell) -> list[Epoch]:
        """What each epoch of a measured cell came to.

        Raises:
            OSError: where its file is not there any more.
        """
        with self._file(cell).open(newline="", encoding="utf-8") as file:
            return [
                Epoch(epoch=int(row["epoch"]), value=float(row["value"]), error=float(row["error"]))
                for row in csv.DictReader(file)
            ]

    def _file(self, cell: Cell) -> Path:
        named = f"{cell.data}-{cell.network}-{cell.loss}-{cell.learning_rate:g}-{cell.epochs}-{cell.seed}"
        return self._curves / f"{named.replace(' ', '-').lower()}.csv"

    def _trained(self, network: nn.Module, cell: Cell) -> list[Epoch]:
        """The epochs, up to one whose loss is no finite number."""
        loss, count = LOSSES[cell.loss], len(self._train)
        optimizer = torch.optim.SGD(
            network.parameters(), lr=cell.learning_rate, momentum=0.9, weight_decay=5e-4
        )
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cell.epochs)
        generator = torch.Generator().manual_seed(cell.seed)
        epochs: list[Epoch] = []
        while len(epochs) < cell.epochs and (not epochs or math.isfinite(epochs[-1].value)):
            value = error = 0.0
            for batch in torch.randperm(count, generator=generator).split(BATCH):
                pixels, labels = self._batch(self._train, batch)
                logits = network(pixels)
                found = loss(logits, labels)
                optimizer.zero_grad()
                found.backward()
                optimizer.step()
                value += found.item() * len(batch) / count
                error += (logits.argmax(1) != labels).sum().item() / count
            schedule.step()
            epochs.append(Epoch(epoch=len(epochs) + 1, value=value, error=error))
        return epochs

    @torch.no_grad()
    def _accuracy(self, network: nn.Module) -> float:
        network.eval()
        right = 0
        for batch in torch.arange(len(self._validation)).split(BATCH):
            pixels, labels = self._batch(self._validation, batch)
            right += int((network(pixels).argmax(1) == labels).sum())
        return right / len(self._validation)

    def _batch(self, images: Images, batch: Tensor) -> tuple[Tensor, Tensor]:
        pixels = images.batch(batch.tolist()).to(self._device).float() / 255
        return pixels, images.required_labels()[batch].to(self._device)
