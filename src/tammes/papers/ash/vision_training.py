"""Training and measurement of one encoder of the vision study, and the size of the study."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from tammes import recipes
from tammes.data import Images, as_floats
from tammes.encoders import Encoder, ResNetConfig
from tammes.evaluation import LabeledFeatures, LinearClassifier, MeanClassifier
from tammes.papers.image_sets import Parts, balanced
from tammes.positives import Photographs, SameClass
from tammes.selection import Subset
from tammes.training.seeds import Purpose, derive

LATENT = 128
"""Table 2: the dimension of f(x), whose raw inner products the logistic loss compares."""
BATCH_SIZES = (16, 64, 256)
COUNTS = (1, 4, 30, 126, 510)
"""Numbers of negatives k; the last three are all that a batch of each size has, 2 (B - 1)."""
ROUND = 1280
"""Unit of the number of images: ten classes in equal numbers make whole batches of every size."""
MEASURED_HERE = 0.1
"""Budget of the numbers in the docs."""
ROWS = 512
"""Images that are augmented or embedded at a time."""
KEPT = 2**30
"""Bytes of views that are kept for the next run with the same seed."""

Views = tuple[Tensor, Tensor]
"""Anchors and positives of one epoch, uint8 (pairs, channels, size, size) each, in random order."""


class SmallNet(Encoder):
    """Four 3x3 convolutions that halve the image, with batch normalization: (batch, 8 width).

    It stands in for ResNet-18 on a machine without a GPU. The loss compares raw inner products, to which all
    features of a network without batch normalization add the same large number: such networks (`ConvNet`)
    stay for long near the constant map, whose loss is log(1 + k).

    Example:
        >>> SmallNet(channels=1, width=16)(torch.rand(2, 1, 28, 28)).shape
        torch.Size([2, 128])
    """

    def __init__(self, *, channels: int, width: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs = channels
        for outputs in (width, 2 * width, 4 * width, 8 * width):
            convolution = nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False)
            layers += [convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
            inputs = outputs
        self.features = inputs
        self.layers = nn.Sequential(*layers)

    @override
    def forward(self, images: Float[Tensor, "batch channels size size"]) -> Float[Tensor, "batch features"]:
        # (batch, features, height, width) -> (batch, features)
        return self.layers(images).mean(dim=(2, 3))


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Size of the study.

    Args:
        build: function from channels and size of the images to the encoder before the linear map to f(x).
        encoder: name of that encoder in the table.
        learning_rate: learning rate of Adam; the paper names no weight decay.
        images: largest number of training images of each set; None for all.
        test_images: largest number of test images; None for all.
        epochs: epochs of training.
        seeds: number of seeds for every setting, unless the request has another.
    """

    build: Callable[[int, int], Encoder]
    encoder: str
    learning_rate: float = 1e-3
    images: int | None
    test_images: int | None
    epochs: int
    seeds: int


# Table 2 of the paper, and sec. 4 for the epochs. Sec. 4 has a learning rate of 1e-3, Table 2 one of 1e-4;
# the paper says that the experiments were run with the table's. It names no number of seeds: 5 is that of the
# experiments on text. Temperature 1 and no gradient clipping, so neither appears here.
PAPER = Scale(
    build=ResNetConfig(depth=18).build,
    encoder="ResNet-18",
    learning_rate=1e-4,
    images=None,
    test_images=None,
    epochs=400,
    seeds=5,
)


def scale_of(budget: float) -> Scale:
    """Return the paper's scale for the whole budget, else that of a small network on some of the images.

    Images and epochs grow like the square root of the budget.

    Example:
        >>> scale_of(1.0).encoder, scale_of(0.1).images, scale_of(0.1).epochs, scale_of(0.1).seeds
        ('ResNet-18', 1280, 24, 3)
        >>> scale_of(0.01).images, scale_of(0.01).epochs, scale_of(0.01).seeds
        (1280, 8, 1)
    """
    if budget == 1:
        return PAPER
    work = budget / MEASURED_HERE
    return Scale(
        build=lambda channels, size: SmallNet(channels=channels, width=16),
        encoder="SmallNet",
        images=ROUND * max(1, round(math.sqrt(work))),
        test_images=5000 if budget >= 0.01 else 1000,
        epochs=max(2, round(24 * math.sqrt(work))),
        seeds=min(3, max(1, round(3 * work))),
    )


@dataclass(frozen=True, kw_only=True)
class VisionRun:
    """Training of one encoder, with all settings that its score depends on.

    Args:
        data: name of the set of images.
        positives: kind of positives, "real" or "augmented".
        batch_size: B, pairs of a batch.
        k: negatives of each anchor.
        seed: random seed of the images, the weights, the views and the negatives.
        images: number of training images.
        epochs: epochs of training; 0 for the untrained network, which passes the same batches without an
            update, so that its batch normalization has their statistics.
        encoder: name of the network.
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
    """Measurements of an encoder on test images.

    Args:
        linear: accuracy of the trained linear classifier, as in Fig. 4.
        mean: accuracy of the mean classifier, as in Fig. 8.
        linear_early: `linear` after as many steps as the largest batch takes in all its epochs.
        mean_early: `mean` after as many steps.
        loss: mean training loss of the last epoch.
        steps: steps of training.
    """

    linear: float
    mean: float
    linear_early: float
    mean_early: float
    loss: float
    steps: int


def real_pairs(images: Images, seed: int) -> Views:
    """Pair images of the same class, neither of them augmented.

    Two passes of disjoint pairs are one epoch, so that an epoch has as many pairs as with augmentation.
    """
    labels = images.required_labels()
    passes = [SameClass().pairs(labels, seed=derive(seed, Purpose.ORDER, number)) for number in range(2)]
    anchors, positives = torch.cat(passes).T
    return images.batch(anchors.tolist()), images.batch(positives.tolist())


def augmented_pairs(images: Images, seed: int) -> Views:
    """Make two random views of each image; the negatives are views of others, so augmented as well."""
    generator = torch.Generator().manual_seed(derive(seed, Purpose.ORDER))
    order = torch.randperm(len(images), generator=generator)
    parts = [images.batch(rows.tolist()) for rows in order.split(ROWS)]
    augmentation = Photographs(blur_probability=0.5)

    def views(purpose: Purpose) -> Tensor:
        made = [
            augmentation(as_floats(part).to(device()), seed=derive(seed, purpose, number))
            for number, part in enumerate(parts)
        ]
        return torch.cat([(255 * view).round().to(torch.uint8).cpu() for view in made])

    return views(Purpose.FIRST_VIEW), views(Purpose.SECOND_VIEW)


POSITIVES: Mapping[str, Callable[[Images, int], Views]] = {"real": real_pairs, "augmented": augmented_pairs}


def epochs_of(images: Images, positives: str, *, seed: int) -> Callable[[int], Views]:
    """Return a function from an epoch to its pairs, which are the same for every B and k.

    Args:
        images: training images.
        positives: kind of positives.
        seed: random seed.
    """
    kept: dict[int, Views] = {}

    def views(epoch: int) -> Views:
        if epoch in kept:
            return kept[epoch]
        drawn = POSITIVES[positives](images, derive(seed, Purpose.ORDER, epoch))
        if (len(kept) + 1) * sum(part.numel() for part in drawn) <= KEPT:
            kept[epoch] = drawn
        return drawn

    return views


def measurer(sets: Mapping[str, Parts], scale: Scale, *, rate: float) -> Callable[[VisionRun], VisionScore]:
    """Return the function that trains and measures one encoder.

    Args:
        sets: sets of images by name, whole.
        scale: size of the study.
        rate: learning rate; zero for no update.
    """

    @lru_cache(maxsize=1)  # runs that differ by B and k alone follow each other and share images and views
    def prepared(data: str, positives: str, seed: int, images: int) -> tuple[Parts, Callable[[int], Views]]:
        train, test = sets[data]
        parts = balanced(train, images, seed=seed), balanced(test, scale.test_images, seed=seed)
        return parts, epochs_of(parts[0], positives, seed=seed)

    return lambda run: fit(run, scale, *prepared(run.data, run.positives, run.seed, run.images), rate=rate)


def fit(
    run: VisionRun, scale: Scale, parts: Parts, views: Callable[[int], Views], *, rate: float
) -> VisionScore:
    """Train f by the logistic loss with k negatives out of the batch, and measure it on test images."""
    train, _ = parts
    network = _network(scale, train, seed=run.seed)
    objective = recipes.logistic(selection=Subset(k=run.k))
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    generator = torch.Generator().manual_seed(derive(run.seed, Purpose.OBJECTIVE))
    largest = max(batch_size for batch_size in BATCH_SIZES if batch_size <= len(train))
    epochs, learns = run.epochs or scale.epochs, run.epochs > 0 and rate > 0
    early_at, early, step = len(train) // largest * epochs, None, 0
    losses: list[float] = []
    for epoch in range(epochs):
        anchors, positives = views(epoch)
        losses.clear()
        for first in range(0, len(anchors) - run.batch_size + 1, run.batch_size):
            rows = slice(first, first + run.batch_size)
            images = as_floats(torch.cat([anchors[rows], positives[rows]]).to(device()))
            with torch.set_grad_enabled(learns):
                loss = objective(*network(images).chunk(2), generator=generator)
            if learns:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            losses.append(loss.item())
            step += 1
            if step == early_at:
                early = accuracies(network, parts)
    linear, mean = early if early is not None and step == early_at else accuracies(network, parts)
    linear_early, mean_early = early or (linear, mean)
    return VisionScore(
        linear=linear,
        mean=mean,
        linear_early=linear_early,
        mean_early=mean_early,
        loss=sum(losses) / len(losses),
        steps=step,
    )


def accuracies(network: nn.Module, parts: Parts) -> tuple[float, float]:
    """Return the accuracies of the trained linear classifier and of the mean classifier on test images."""
    train, test = (
        LabeledFeatures(features=_embedded(network, part), labels=part.required_labels()) for part in parts
    )
    return LinearClassifier(batch_size=256).accuracy(train, test), MeanClassifier().accuracy(train, test)


def device() -> torch.device:
    """Return a GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _network(scale: Scale, images: Images, *, seed: int) -> nn.Module:
    """Return f, from images in [0, 1] to (batch, 128)."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(derive(seed, Purpose.WEIGHTS))
        encoder = scale.build(images.channels, images.size)
        return nn.Sequential(encoder, nn.Linear(encoder.features, LATENT)).to(device())


@torch.no_grad()
def _embedded(network: nn.Module, images: Images) -> Tensor:
    """Return f of all images, (n, 128); the network is left in training mode."""
    network.eval()
    parts = [
        network(as_floats(images.batch(rows.tolist())).to(device())).cpu()
        for rows in torch.arange(len(images)).split(ROWS)
    ]
    network.train()
    return torch.cat(parts)
