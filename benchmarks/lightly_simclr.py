"""lightly's SimCLR loop: its transforms, head and loss, torch's DataLoader, and our network."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec

import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, Dataset

from stopwatch import Clock, Stopwatch
from tammes.data import Images
from tammes.positives import Photographs
from tammes.training import TrainingConfig

# The training loop needs a package `lightning`, which is another one.
IS_INSTALLED = find_spec("lightly") is not None


class Pictures(Dataset[tuple[list[Tensor], int]]):
    """Images in memory that become views one by one, as torchvision's `CIFAR10` has them."""

    def __init__(
        self, images: Images, transform: Callable[[Image.Image], list[Tensor]], clock: Clock
    ) -> None:
        self.pixels = images.batch(range(len(images))).permute(0, 2, 3, 1).numpy()
        self.labels = images.required_labels().tolist()
        self.transform = transform
        self.clock = clock
        self.seconds = 0.0

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, row: int) -> tuple[list[Tensor], int]:
        image = Image.fromarray(self.pixels[row])
        start = self.clock()
        views = self.transform(image)
        self.seconds += self.clock() - start
        return views, self.labels[row]


class SimCLR(nn.Module):
    """An encoder with lightly's head."""

    def __init__(self, encoder: nn.Module, features: int, dim: int) -> None:
        from lightly.models.modules import SimCLRProjectionHead

        super().__init__()
        self.encoder = encoder
        self.head = SimCLRProjectionHead(features, features, dim)

    def forward(self, images: Tensor) -> Tensor:
        """Return the embeddings of images."""
        return self.head(self.encoder(images))


def transform(augmentation: Photographs, size: int) -> Callable[[Image.Image], list[Tensor]]:
    """Return lightly's transform, with the strengths of our augmentation."""
    from lightly.transforms import SimCLRTransform

    return SimCLRTransform(
        input_size=size,
        cj_prob=augmentation.jitter_probability,
        cj_bright=augmentation.brightness,
        cj_contrast=augmentation.contrast,
        cj_sat=augmentation.saturation,
        cj_hue=augmentation.hue,
        min_scale=augmentation.smallest_crop,
        random_gray_scale=augmentation.grayscale_probability,
        gaussian_blur=augmentation.blur_probability,
        hf_prob=augmentation.flip_probability,
    )


def normalized(images: Float[Tensor, "n 3 size size"]) -> Float[Tensor, "n 3 size size"]:
    """Return images with the colors that lightly's views have."""
    from lightly.transforms.utils import IMAGENET_NORMALIZE

    mean, deviation = (torch.tensor(IMAGENET_NORMALIZE[name]).view(3, 1, 1) for name in ("mean", "std"))
    return (images - mean) / deviation


def versions() -> str:
    """Return the versions of lightly and what it needs."""
    if not IS_INSTALLED:
        return "without lightly"
    return ", ".join(f"{package} {version(package)}" for package in ("lightly", "torchvision"))


def learn(
    config: TrainingConfig,
    images: Images,
    *,
    workers: int,
    stopwatch: Stopwatch,
    measure: Callable[[nn.Module], float] | None = None,
) -> list[float]:
    """Train as lightly's documentation does, with our optimizer and schedule.

    Args:
        config: settings of our run, of which encoder, augmentation, optimizer and precision are used.
        images: images to train on.
        workers: processes of the DataLoader; 0 makes the views in this process.
        stopwatch: clock of the parts of each step.
        measure: function that measures the encoder before the first epoch and after each; its time does not
            count.

    Returns:
        What it measured.
    """
    from lightly.loss import NTXentLoss

    torch.manual_seed(config.seed)
    assert isinstance(config.augmentation, Photographs)
    assert config.head is not None
    size = images.size
    pictures = Pictures(images, transform(config.augmentation, size), stopwatch.clock)
    loader = DataLoader(
        pictures,
        batch_size=config.batch_size,
        shuffle=True,
        drop_last=True,
        num_workers=workers,
        persistent_workers=workers > 0,
    )
    encoder = config.encoder.build(channels=images.channels, size=size)
    model = SimCLR(encoder, encoder.features, dim=128)
    criterion = NTXentLoss(temperature=config.objective.temperature)
    optimizer = config.optimizer.build(model.parameters())
    steps = config.epochs * len(loader)
    scheduler = LambdaLR(optimizer, config.optimizer.rate_factor(steps=steps, steps_per_epoch=len(loader)))
    found = [] if measure is None else [measure(encoder)]
    for _ in range(config.epochs):
        stopwatch.start()
        for (first, second), _ in loader:
            stopwatch.lap("data", without=pictures.seconds)
            stopwatch.add("augmentation", pictures.seconds)
            pictures.seconds = 0.0
            with torch.autocast("cpu", torch.bfloat16, enabled=config.precision == "bf16-mixed"):
                a, b = model(first), model(second)
            stopwatch.lap("forward")
            loss = criterion(a.float(), b.float())
            stopwatch.lap("objective")
            loss.backward()
            stopwatch.lap("backward")
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            stopwatch.lap("optimizer")
        stopwatch.stop()
        if measure is not None:
            found.append(measure(encoder))
    return found
