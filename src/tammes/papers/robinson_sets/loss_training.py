"""Training of `sets-training-error`: a classifier with one loss and one learning rate, and its controls."""

import csv
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from tammes.checks import check_file
from tammes.data import Images
from tammes.encoders import ConvNetConfig, ResNetConfig
from tammes.extensions import TrainingError

BATCH = 128
SINGLETON = "singleton extension"
UNTRAINED, CONSTANT = "untrained network", "most frequent class"
"""Controls, in place of a loss: nothing is trained, with 0 epochs."""
SMALL, LARGE = "small convolutional network", "ResNet-18"
Loss = Callable[[Tensor, Tensor], Tensor]


def squared(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean squared distance between the probabilities and the one-hot label."""
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
class LossTraining:
    """Settings of one training, or of a control with 0 epochs."""

    data: str
    images: int
    network: str
    loss: str
    learning_rate: float
    epochs: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class LossScore:
    """Loss, training error and accuracy of one training.

    `value` (of the loss) and `error` are means over the batches of the last epoch, and `distance` is the mean
    absolute difference of the two over all epochs; `validation` and `test` are the final accuracies on
    validation and on test images. If the loss became infinite or NaN, `diverged` is true, and the others are
    0. A control has its error on all training images, and no loss.
    """

    diverged: bool = False
    validation: float = 0.0
    test: float = 0.0
    value: float = 0.0
    error: float = 0.0
    distance: float = 0.0
    seconds_per_epoch: float = 0.0


Curve = list[tuple[float, float]]
"""Mean loss and error over the batches of each epoch."""


class Classifiers:
    """Images, and the folder of the curves of the classifiers trained on them.

    Args:
        train: labeled training images.
        validation: labeled validation images.
        test: labeled test images.
        curves: folder with a file for each training, made if missing.
    """

    def __init__(self, train: Images, validation: Images, test: Images, curves: Path) -> None:
        self._train, self._validation, self._test = train, validation, test
        self._curves = curves
        self._classes = int(train.required_labels().max()) + 1
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def measure(self, cell: LossTraining) -> LossScore:
        """Train one classifier, write its curve to a file, and return its score; or that of a control."""
        if cell.loss == CONSTANT:
            often = self._train.required_labels().mode().values
            train, validation, test = (
                (images.required_labels() == often).float().mean().item()
                for images in (self._train, self._validation, self._test)
            )
            return LossScore(validation=validation, test=test, error=1 - train)
        torch.manual_seed(cell.seed)
        config = ResNetConfig(depth=18) if cell.network == LARGE else ConvNetConfig()
        encoder = config.build(channels=self._train.channels, size=self._train.size)
        network = nn.Sequential(encoder, nn.Linear(encoder.features, self._classes)).to(self._device)
        if cell.loss == UNTRAINED:
            return self._accuracies(network, error=1 - self._accuracy(network, self._train))
        started = time.perf_counter()
        curve = self._trained(network, cell)
        seconds = (time.perf_counter() - started) / cell.epochs
        self._curves.mkdir(parents=True, exist_ok=True)
        with self._file(cell).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("epoch", "value", "error"))
            writer.writerows((epoch, *means) for epoch, means in enumerate(curve, start=1))
        value, error = curve[-1]
        if not math.isfinite(value):
            return LossScore(diverged=True, seconds_per_epoch=seconds)
        distance = sum(abs(value - error) for value, error in curve) / len(curve)
        return replace(
            self._accuracies(network, error=error), value=value, distance=distance, seconds_per_epoch=seconds
        )

    def curve(self, cell: LossTraining) -> Curve:
        """Return the curve of a measured training.

        Raises:
            OSError: if its file is missing.
            ValueError: if its file is damaged.
        """
        path = check_file(self._file(cell))
        try:
            with path.open(newline="", encoding="utf-8") as file:
                return [(float(row["value"]), float(row["error"])) for row in csv.DictReader(file)]
        except (KeyError, TypeError, ValueError, csv.Error) as error:
            raise ValueError(f"expected values and errors in {path}, got something else ({error})") from error

    def _file(self, cell: LossTraining) -> Path:
        named = f"{cell.data}-{cell.network}-{cell.loss}-{cell.learning_rate:g}-{cell.epochs}-{cell.seed}"
        return self._curves / f"{named.replace(' ', '-').lower()}.csv"

    def _trained(self, network: nn.Module, cell: LossTraining) -> Curve:
        """Train, and return the curve; its last loss is infinite or NaN if the training diverged."""
        loss, count = LOSSES[cell.loss], len(self._train)
        optimizer = torch.optim.SGD(
            network.parameters(), lr=cell.learning_rate, momentum=0.9, weight_decay=5e-4
        )
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cell.epochs)
        generator = torch.Generator().manual_seed(cell.seed)
        curve: Curve = []
        while len(curve) < cell.epochs and (not curve or math.isfinite(curve[-1][0])):
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
            curve.append((value, error))
        return curve

    def _accuracies(self, network: nn.Module, *, error: float) -> LossScore:
        validation, test = (self._accuracy(network, images) for images in (self._validation, self._test))
        return LossScore(validation=validation, test=test, error=error)

    @torch.no_grad()
    def _accuracy(self, network: nn.Module, images: Images) -> float:
        network.eval()
        right = 0
        for batch in torch.arange(len(images)).split(BATCH):
            pixels, labels = self._batch(images, batch)
            right += int((network(pixels).argmax(1) == labels).sum())
        return right / len(images)

    def _batch(self, images: Images, batch: Tensor) -> tuple[Tensor, Tensor]:
        pixels = images.batch(batch.tolist()).to(self._device).float() / 255
        return pixels, images.required_labels()[batch].to(self._device)
