"""One encoder of the vision study: its positives, its training, what its representation is worth."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor, nn

from tammes import recipes
from tammes.data import Images, as_floats
from tammes.evaluation import LabeledFeatures, LinearClassifier, MeanClassifier
from tammes.papers.ash.vision_settings import BATCH_SIZES, LATENT, Scale
from tammes.positives import Photographs, SameClass
from tammes.positives.augmentation import Augmentation
from tammes.selection import Subset
from tammes.training.seeds import Purpose, derive

ROWS = 512
"""Images that are augmented or embedded at a time."""

KEPT = 2**30
"""Bytes of views that are kept for the next cell of the same seed."""


@dataclass(frozen=True, kw_only=True)
class VisionRun:
    """One representation to be trained, with all that its numbers depend on.

    Args:
        data: the set of images.
        positives: what they are, "real" or "augmented".
        batch_size: B pairs.
        k: negatives of each anchor.
        seed: of the images, the weights, the views and the draws.
        images: how many are trained on.
        epochs: of training.
        encoder: the network.
    """

    data: str
    positives: str
    batch_size: int
    k: int
    seed: int
    images: int
    epochs: int
    encoder: str


@dataclass(frozen=True, kw_only=True)
class VisionScore:
    """What a representation is worth, on test images.

    Args:
        linear: accuracy of the trained linear classifier, as in Fig. 4.
        mean: accuracy of the mean classifier, as in Fig. 8.
        linear_early: of the first, after as many steps as the largest batch takes in all its epochs.
        mean_early: of the second, likewise.
        loss: the mean training loss of the last epoch.
        steps: of training.
    """

    linear: float
    mean: float
    linear_early: float
    mean_early: float
    loss: float
    steps: int


class Positives(Protocol):
    """What makes a pair of every image."""

    def __call__(self, images: Images, *, seed: int) -> tuple[Tensor, Tensor]:
        """Anchors and positives of one epoch, uint8 (pairs, channels, size, size) each, in random order."""


@dataclass(frozen=True, kw_only=True)
class Real:
    """Another image of the same class, neither of them augmented.

    Two passes of disjoint pairs are one epoch, so that an epoch has as many pairs as with augmentation.
    """

    within: SameClass = field(default_factory=SameClass)

    def __call__(self, images: Images, *, seed: int) -> tuple[Tensor, Tensor]:
        """See `Positives`."""
        labels = images.required_labels()
        passes = [self.within.pairs(labels, seed=derive(seed, Purpose.ORDER, number)) for number in range(2)]
        anchors, positives = torch.cat(passes).T
        return images.batch(anchors.tolist()), images.batch(positives.tolist())


@dataclass(frozen=True, kw_only=True)
class Augmented:
    """Two random views of one image; the negatives are views of others, so they are augmented as well."""

    augmentation: Augmentation = field(default_factory=lambda: Photographs(blur_probability=0.5))

    def __call__(self, images: Images, *, seed: int) -> tuple[Tensor, Tensor]:
        """See `Positives`."""
        generator = torch.Generator().manual_seed(derive(seed, Purpose.ORDER))
        order = torch.randperm(len(images), generator=generator)
        parts = [images.batch(rows.tolist()) for rows in order.split(ROWS)]
        return self._views(parts, seed, Purpose.FIRST_VIEW), self._views(parts, seed, Purpose.SECOND_VIEW)

    def _views(self, parts: list[Tensor], seed: int, purpose: Purpose) -> Tensor:
        views = [
            self.augmentation(as_floats(part).to(device()), seed=derive(seed, purpose, number))
            for number, part in enumerate(parts)
        ]
        return torch.cat([(255 * view).round().to(torch.uint8).cpu() for view in views])


POSITIVES: Mapping[str, Positives] = {"real": Real(), "augmented": Augmented()}


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts:
    """The two parts of a set of images."""

    train: Images
    test: Images


class Views:
    """The pairs of every epoch of a seed: the same for all cells, so that these differ by B and k alone."""

    def __init__(self, images: Images, positives: Positives, *, seed: int) -> None:
        self.images = images
        self.positives = positives
        self.seed = seed
        self._kept: dict[int, tuple[Tensor, Tensor]] = {}

    def of(self, epoch: int) -> tuple[Tensor, Tensor]:
        """Anchors and positives, uint8 (pairs, channels, size, size) each, in the order of the batches."""
        if epoch in self._kept:
            return self._kept[epoch]
        drawn = self.positives(self.images, seed=derive(self.seed, Purpose.ORDER, epoch))
        if (len(self._kept) + 1) * sum(part.numel() for part in drawn) <= KEPT:
            self._kept[epoch] = drawn
        return drawn


class VisionRuns:
    """Trains and measures cells, one after the other.

    Args:
        sets: the sets of images by name, whole.
        scale: of the study.
    """

    def __init__(self, sets: Mapping[str, Parts], scale: Scale) -> None:
        self.sets = sets
        self.scale = scale
        self._last: tuple[tuple[str, str, int], Parts, Views] | None = None

    def measure(self, cell: VisionRun) -> VisionScore:
        """Train the representation of a cell and measure it."""
        parts, views = self._prepared(cell)
        return train(cell, self.scale, parts, views)

    def _prepared(self, cell: VisionRun) -> tuple[Parts, Views]:
        """The images of a cell and their views; cells that differ by B and k alone have the same."""
        key = cell.data, cell.positives, cell.seed
        if self._last is None or self._last[0] != key:
            whole = self.sets[cell.data]
            parts = Parts(
                train=balanced(whole.train, cell.images, seed=cell.seed),
                test=balanced(whole.test, self.scale.test_images, seed=cell.seed),
            )
            views = Views(parts.train, POSITIVES[cell.positives], seed=cell.seed)
            self._last = key, parts, views
        return self._last[1:]


def balanced(images: Images, count: int | None, *, seed: int) -> Images:
    """So many of the images, of every class as many as of the others; all where None or not fewer.

    >>> from tammes.data import digits
    >>> balanced(digits("train"), 50, seed=0).labels.bincount().tolist()
    [5, 5, 5, 5, 5, 5, 5, 5, 5, 5]
    """
    labels = images.required_labels()
    if count is None or count >= len(images):
        return images
    classes = labels.unique().tolist()
    rows = []
    for label in classes:
        of_class = (labels == label).nonzero()[:, 0]
        generator = torch.Generator().manual_seed(derive(seed, Purpose.HOLDOUT, label))
        chosen = torch.randperm(len(of_class), generator=generator)[: count // len(classes)]
        rows += of_class[chosen].tolist()
    return images.subset(sorted(rows))


def train(cell: VisionRun, scale: Scale, parts: Parts, views: Views) -> VisionScore:
    """Train f by the logistic loss with k negatives out of the batch, and measure it on test images."""
    network = _network(scale, parts.train, seed=cell.seed)
    objective = recipes.logistic(selection=Subset(k=cell.k))
    optimizer = scale.optimizer.build(network.parameters())
    generator = torch.Generator().manual_seed(derive(cell.seed, Purpose.OBJECTIVE))
    largest = max(batch_size for batch_size in BATCH_SIZES if batch_size <= len(parts.train))
    early_at, early, step = len(parts.train) // largest * cell.epochs, None, 0
    losses: list[float] = []
    for epoch in range(cell.epochs):
        anchors, positives = views.of(epoch)
        losses.clear()
        for first in range(0, len(anchors) - cell.batch_size + 1, cell.batch_size):
            rows = slice(first, first + cell.batch_size)
            images = as_floats(torch.cat([anchors[rows], positives[rows]]).to(device()))
            loss = objective(*network(images).chunk(2), generator=generator)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            step += 1
            if step == early_at:
                early = accuracies(network, parts)
    linear, mean = accuracies(network, parts)
    early = early or (linear, mean)
    return VisionScore(
        linear=linear,
        mean=mean,
        linear_early=early[0],
        mean_early=early[1],
        loss=sum(losses) / len(losses),
        steps=step,
    )


def accuracies(network: nn.Module, parts: Parts) -> tuple[float, float]:
    """Accuracy of the trained linear classifier and of the mean classifier, both from the training labels."""
    train, test = (
        LabeledFeatures(features=_embedded(network, part), labels=part.required_labels())
        for part in (parts.train, parts.test)
    )
    return LinearClassifier(batch_size=256).accuracy(train, test), MeanClassifier().accuracy(train, test)


def device() -> torch.device:
    """A GPU where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _network(scale: Scale, images: Images, *, seed: int) -> nn.Module:
    """f, from images in [0, 1] to (batch, 128)."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(derive(seed, Purpose.WEIGHTS))
        encoder = scale.encoder.build(channels=images.channels, size=images.size)
        return nn.Sequential(encoder, nn.Linear(encoder.features, LATENT)).to(device())


@torch.no_grad()
def _embedded(network: nn.Module, images: Images) -> Tensor:
    """F of all images, (n, 128); the network is left in training mode."""
    network.eval()
    parts = [
        network(as_floats(images.batch(rows.tolist())).to(device())).cpu()
        for rows in torch.arange(len(images)).split(ROWS)
    ]
    network.train()
    return torch.cat(parts)
