"""What determines the weights of a run: same configuration, same images, same weights."""

from dataclasses import dataclass, field, replace
from typing import Literal

from tammes.coupling import Hard
from tammes.data.images import Images
from tammes.encoders import ConvNetConfig, ProjectionHeadConfig, ResNetConfig
from tammes.finite import is_finite
from tammes.objective import Objective
from tammes.positives.augmentation import Handwriting, Photographs
from tammes.sources import InBatch
from tammes.temperature import LearnedTemperature
from tammes.training.annealing import Falling, Rising
from tammes.training.momentum import rising_momentum
from tammes.training.optimizer import Adam, Constant


@dataclass(frozen=True, kw_only=True)
class QueueConfig:
    """Negatives from earlier batches: a queue of keys, made by a momentum encoder (MoCo).

    The first view of an image is embedded by the network, the second by its momentum encoder; the first is
    compared with the second views of the batch and of those before it.

    Args:
        size: How many keys of earlier batches are held.
        momentum: m: after each step the momentum encoder keeps m of its weights and takes 1 - m of the
            network's.
        rising: Let the momentum rise to 1 over the run, along half a cosine.

    Raises:
        ValueError: for a size below 1, or a momentum outside [0, 1).

    Source: He et al., Momentum Contrast for Unsupervised Visual Representation Learning, 2020.

    Example:
        >>> QueueConfig(size=65536, momentum=0.999)
        QueueConfig(size=65536, momentum=0.999, rising=False)
    """

    size: int = 4096
    momentum: float = 0.99
    rising: bool = False

    def __post_init__(self) -> None:
        if not _is_count(self.size):
            raise ValueError(
                f"the size of the queue must be at least 1 key, as a whole number, got {self.size!r}"
            )
        if not (is_finite(self.momentum) and 0 <= self.momentum < 1):
            raise ValueError(f"momentum must be a number from 0 to below 1, got {self.momentum}")

    def momentum_at(self, *, step: int, steps: int) -> float:
        """The momentum after step `step`, from 0, of so many."""
        return rising_momentum(self.momentum, step=step, steps=steps) if self.rising else self.momentum


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Everything about a run but its images and the machine it runs on.

    Args:
        objective: What is minimized.
        encoder: The network whose features are wanted.
        head: The small network between features and the embeddings that are compared.
        augmentation: How the two views of an image are made.
        optimizer: How the weights are moved.
        batch_size: Images per step; there are two views of each.
        epochs: How often every image is visited.
        seed: Of the weights, the order of the images and their views.
        precision: Of the network's arithmetic; the objective is computed in float32 either way.
        chunk: Views that go through the network at a time, to save memory (see `GradientCache`); None for
            all of the batch. The result is the same up to rounding, except that BatchNorm, which is in the
            residual networks, then takes the statistics of a chunk.
        annealing: How the beta of hard negatives changes over the epochs; None leaves it as it is.
        learn_temperature: Learn the temperature with the network, from the objective's on.
        negatives: Where negatives come from: the batch, or a queue of earlier batches besides.

    Raises:
        ValueError: for a batch of fewer than two images, fewer than one epoch, a negative seed, a chunk
            below 1, or annealing where there is no beta or with more changes than epochs.

    Example:
        >>> import tammes
        >>> TrainingConfig(objective=tammes.recipes.simclr(temperature=0.5), epochs=3).optimizer.learning_rate
        0.001
    """

    objective: Objective
    encoder: ConvNetConfig | ResNetConfig = field(default_factory=ResNetConfig)
    head: ProjectionHeadConfig = field(default_factory=ProjectionHeadConfig)
    augmentation: Photographs | Handwriting = field(default_factory=Photographs)
    optimizer: Adam = field(default_factory=Adam)
    batch_size: int = 256
    epochs: int = 100
    seed: int = 0
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    chunk: int | None = None
    annealing: Falling | Rising | None = None
    learn_temperature: bool = False
    negatives: InBatch | QueueConfig = field(default_factory=InBatch)

    def __post_init__(self) -> None:
        if self.batch_size < 2:
            raise ValueError(
                f"batch_size must be at least 2 (negatives come from the batch), got {self.batch_size}"
            )
        if self.epochs < 1:
            raise ValueError(f"epochs must be at least 1, got {self.epochs}")
        if self.seed < 0:
            raise ValueError(f"seed must be 0 or more, got {self.seed}")
        if self.chunk is not None and not _is_count(self.chunk):
            raise ValueError(
                f"chunk must be at least 1 view, or None for the whole batch, got {self.chunk!r}"
            )
        if not isinstance(self.negatives, InBatch | QueueConfig):
            raise ValueError(f"negatives must be InBatch() or a QueueConfig(...), got {self.negatives!r}")
        if not isinstance(self.annealing, Falling | Rising | None):
            raise ValueError(f"annealing must be Falling(...), Rising(...) or None, got {self.annealing!r}")
        if self.annealing is not None:
            self._check_annealing(self.annealing)
        if self.learn_temperature:
            LearnedTemperature(initial=self.objective.temperature)  # refuses one that it cannot start from

    def _check_annealing(self, annealing: Falling | Rising) -> None:
        if not isinstance(self.objective.coupling, Hard):
            raise ValueError(
                f"annealing changes the beta of Hard, but the coupling is {self.objective.coupling!r}: "
                "leave annealing out, or weight the negatives by Hard(beta=...)"
            )
        if annealing.changes > self.epochs:
            raise ValueError(
                f"beta changes at most once an epoch: got {annealing.changes} changes in {self.epochs} epochs"
            )

    @property
    def extendable(self) -> bool:
        """Whether more epochs later are the same as more epochs at once: nothing is spread over them."""
        rises = isinstance(self.negatives, QueueConfig) and self.negatives.rising
        return isinstance(self.optimizer.schedule, Constant) and self.annealing is None and not rises

    def objective_at(self, epoch: int) -> Objective:
        """The objective after so many finished epochs: where beta is annealed, with the beta of that time.

        Example:
            >>> import tammes
            >>> objective = tammes.recipes.hcl(temperature=0.5, beta=1.0)
            >>> config = TrainingConfig(objective=objective, annealing=Falling(changes=2), epochs=2)
            >>> config.objective_at(1).coupling.beta
            0.5
        """
        coupling = self.objective.coupling
        if self.annealing is None or not isinstance(coupling, Hard):
            return self.objective
        beta = self.annealing.beta(coupling.beta, epoch=epoch, epochs=self.epochs)
        return replace(self.objective, coupling=replace(coupling, beta=beta))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


@dataclass(frozen=True, kw_only=True)
class ImagesSummary:
    """What is written down about the images of a run, so that it is continued with the same ones.

    Args:
        source: Where they came from, in the user's words: "digits", or a folder.
        count: How many there are.
        channels: 1 or 3.
        size: Height and width in pixels.

    Example:
        >>> ImagesSummary(source="digits", count=1438, channels=1, size=16).count
        1438
    """

    source: str
    count: int
    channels: int
    size: int

    @classmethod
    def of(cls, images: Images, source: str) -> "ImagesSummary":
        """The summary of these images."""
        return cls(source=source, count=len(images), channels=images.channels, size=images.size)


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The content of a run's config.yaml.

    Args:
        training: What determines the weights.
        images: What the run was trained on.
    """

    training: TrainingConfig
    images: ImagesSummary
