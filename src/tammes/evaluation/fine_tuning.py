"""Fine-tuning: an encoder of images and a linear head behind it, trained together on labels."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from tammes.checks import check_integer, check_number, check_seed
from tammes.data.images import Images, as_floats
from tammes.encoders import Encoder
from tammes.encoders.attention import Block
from tammes.evaluation.fine_tuned import FineTuned, device_of
from tammes.evaluation.layers import layer_groups
from tammes.positives import Augmentation, Photographs

HEAD_DEVIATION = 2e-5
"""Standard deviation of the head's first weights (He et al., 2022)."""
LARGEST_BATCH, SMALLEST_BATCH, STEPS = 1024, 16, 100
"""Bounds of a suited batch, and the steps that it leaves an epoch at least."""
VISITED, FEWEST_EPOCHS, MOST_EPOCHS = 200_000, 3, 100
"""Images that a suited fine-tuning visits, and bounds of its epochs."""
CROPS_AND_FLIPS = Photographs(jitter_probability=0.0, grayscale_probability=0.0)

Precision = Literal["32-true", "bf16-mixed"]
OnEpoch = Callable[[int, float], None]
"""Function that is given the number of an epoch, from 1, and its mean loss."""


@dataclass(frozen=True, kw_only=True)
class FineTuning:
    """Fine-tuning with AdamW, with smaller learning rates for layers nearer to the input.

        rate of layer l of L  =  learning_rate * layer_decay^(L + 1 - l) * factor

    The factor rises linearly over the warm-up and falls along half a cosine to 0. `layers_of` finds the
    layers of any network; the head is layer L + 1. The defaults are the settings of the source, for 100
    epochs of ImageNet; `suited` scales them to the data. All settings are fixed beforehand and the weights
    after the last epoch are taken: no held-out row decides anything.

    Raises:
        ValueError: a number out of its range.

    Source: Robinson (2023), Table D.6, after He et al. (2022), appendix A.1. Differs: neither RandAugment nor
    random erasing; biases, normalizations and positions have no weight decay, as in the code of He et al.

    Example:
        >>> from tammes.data import digits
        >>> from tammes.encoders import ConvNetConfig
        >>> encoder = ConvNetConfig(width=8).build(channels=1, size=8)
        >>> images = digits("train").subset(range(64))
        >>> tuned = FineTuning(epochs=1, batch_size=32, augmentation=None).fit(encoder, images)
        >>> tuned.logits(images).shape
        torch.Size([64, 10])
    """

    epochs: int = 100
    """Number of passes over the images; 0 leaves the encoder and the first head as they are."""

    batch_size: int = 1024
    """Images per step; the images that do not fill a last batch are left out of the epoch."""

    learning_rate: float = 2e-3
    """Learning rate of the head after the warm-up; the source has 5e-4 for each 256 images of a batch."""

    weight_decay: float = 0.005
    """Weight decay of AdamW."""

    warmup_epochs: float = 5.0
    """Length of the linear warm-up, in epochs (a fraction is allowed)."""

    label_smoothing: float = 0.1
    """Share of a target that is spread over all classes, from 0 to below 1."""

    drop_path: float = 0.1
    """Share of examples for which a branch of a transformer's last block is left out, from 0 to below 1."""

    layer_decay: float = 0.65
    """Factor of the learning rate from one layer to the one before it, above 0 and at most 1."""

    augmentation: Augmentation | None = CROPS_AND_FLIPS
    """Change of each image at each step; None leaves them as they are."""

    precision: Precision = "32-true"
    """Whether the network is trained in float32, or with products in bfloat16 ("bf16-mixed")."""

    seed: int = 0
    """Random seed of the head, of the order of the images and of their changes."""

    def __post_init__(self) -> None:
        check_integer("epochs", self.epochs, minimum=0)
        check_integer("batch_size", self.batch_size, minimum=2)
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("weight_decay", self.weight_decay, minimum=0)
        check_number("warmup_epochs", self.warmup_epochs, minimum=0)
        check_number("label_smoothing", self.label_smoothing, minimum=0, below=1)
        check_number("drop_path", self.drop_path, minimum=0, below=1)
        check_number("layer_decay", self.layer_decay, above=0, maximum=1)
        if self.precision not in get_args(Precision):
            raise ValueError(f"precision must be one of {get_args(Precision)}, got {self.precision!r}")
        check_seed("seed", self.seed)

    @classmethod
    def suited(
        cls,
        images: int,
        *,
        epochs: int | None = None,
        augmentation: Augmentation | None = CROPS_AND_FLIPS,
        precision: Precision = "32-true",
        seed: int = 0,
    ) -> FineTuning:
        """Return settings for a number of images, by a rule that looks at nothing else.

        The batch is the largest power of two from 16 to 1,024 that leaves an epoch at least 100 steps, and
        the learning rate goes with its square root, as Adam's should (Malladi et al., On the SDEs and Scaling
        Rules for Adaptive Gradient Algorithms, 2022). About 200,000 images are visited, in 3 to 100 epochs;
        the warm-up is a twentieth of the epochs, as in the source.

        Args:
            images: number of images to train on.
            epochs: number of epochs; None for the rule.
            augmentation: change of each image at each step.
            precision: "32-true" or "bf16-mixed".
            seed: random seed.

        Raises:
            ValueError: fewer than two images; a number out of its range.

        Example:
            >>> settings = FineTuning.suited(50_000)
            >>> settings.batch_size, settings.learning_rate, settings.epochs, settings.warmup_epochs
            (256, 0.001, 4, 0.2)
        """
        check_integer("images", images, minimum=2)
        fitting = 2 ** int(math.log2(max(1, images // STEPS)))
        batch = min(images, max(SMALLEST_BATCH, min(LARGEST_BATCH, fitting)))
        if epochs is None:
            epochs = min(MOST_EPOCHS, max(FEWEST_EPOCHS, round(VISITED / images)))
        return cls(
            epochs=epochs,
            batch_size=batch,
            learning_rate=cls.learning_rate * math.sqrt(batch / cls.batch_size),
            warmup_epochs=cls.warmup_epochs / cls.epochs * epochs,
            augmentation=augmentation,
            precision=precision,
            seed=seed,
        )

    def factor(self, step: int, steps_per_epoch: int) -> float:
        """Return the factor of the learning rates at a step, from 0."""
        warmup = round(self.warmup_epochs * steps_per_epoch)
        if step < warmup:
            return (step + 1) / warmup
        left = max(1, self.epochs * steps_per_epoch - warmup)
        return (1 + math.cos(math.pi * min(1.0, (step - warmup) / left))) / 2

    def start(self, encoder: Encoder, classes: Int[Tensor, " classes"]) -> FineTuned:
        """Return a copy of the encoder with a head of near-zero weights, before any step.

        Args:
            encoder: the encoder, which stays as it is.
            classes: label of each logit.
        """
        tuned = copy.deepcopy(encoder).requires_grad_(requires_grad=True)
        # Its weights are drawn here, not from torch's generator.
        head = nn.utils.skip_init(nn.Linear, encoder.features, len(classes))
        generator = torch.Generator().manual_seed(self.seed)
        with torch.no_grad():
            head.weight.normal_(std=HEAD_DEVIATION, generator=generator)
            head.bias.zero_()
        blocks = [each for each in tuned.modules() if isinstance(each, Block)]
        for place, block in enumerate(blocks):
            block.drop_path = self.drop_path * place / max(1, len(blocks) - 1)
        return FineTuned(tuned, head.to(device_of(encoder)), classes)

    def fit(self, encoder: Encoder, images: Images, *, on_epoch: OnEpoch | None = None) -> FineTuned:
        """Return the trained classifier, in evaluation mode, on the encoder's device.

        Args:
            encoder: encoder of images of this size; it stays as it is.
            images: labeled images to train on.
            on_epoch: function that is called after each epoch.

        Raises:
            ValueError: images without labels, fewer of them than a batch has, or a loss that is not finite.
        """
        labels = images.required_labels()
        if len(images) < self.batch_size:
            raise ValueError(
                f"expected at least {self.batch_size} images, a batch, got {len(images)}: choose a smaller "
                "batch_size, or FineTuning.suited"
            )
        classes, targets = labels.unique(return_inverse=True)
        tuned = self.start(encoder, classes)
        steps = len(images) // self.batch_size
        optimizer = torch.optim.AdamW(
            layer_groups(
                tuned.encoder,
                tuned.head,
                learning_rate=self.learning_rate,
                decay=self.layer_decay,
                weight_decay=self.weight_decay,
            )
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: self.factor(step, steps))
        for epoch in range(self.epochs):
            tuned.train()
            total = 0.0
            order = np.random.default_rng([self.seed, epoch]).permutation(len(images))
            for step in range(steps):
                rows = order[step * self.batch_size : (step + 1) * self.batch_size].tolist()
                loss = self._loss(tuned, images, rows, targets[rows], place=epoch * steps + step)
                if not math.isfinite(value := float(loss.detach())):
                    raise ValueError(
                        f"expected a finite loss, got {value:g} in epoch {epoch + 1}, step {step + 1}: lower "
                        "learning_rate"
                    )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                total += value
            if on_epoch is not None:
                on_epoch(epoch + 1, total / steps)
        return tuned.eval()

    def _loss(
        self, tuned: FineTuned, images: Images, rows: list[int], targets: Tensor, *, place: int
    ) -> Tensor:
        """Return the loss of a batch; its randomness depends on the seed and the place alone."""
        device = device_of(tuned)
        inputs = as_floats(images.batch(rows).to(device))
        seed = int(np.random.SeedSequence([self.seed, place, 1]).generate_state(1, np.uint64)[0] >> 1)
        if self.augmentation is not None:
            inputs = self.augmentation(inputs, seed)
        mixed = torch.autocast(device.type, torch.bfloat16, enabled=self.precision == "bf16-mixed")
        with mixed, _seeded(seed, device):  # a transformer leaves branches out at random
            logits = tuned(inputs)
        return cross_entropy(logits.float(), targets.to(device), label_smoothing=self.label_smoothing)


@contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Let torch draw from a seed for a block; its generators are restored afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
