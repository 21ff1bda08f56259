"""What determines the weights of a run: same configuration, same images, same weights."""

from dataclasses import dataclass, field
from typing import Literal

from tammes.data.images import Images
from tammes.encoders import ConvNetConfig, ProjectionHeadConfig, ResNetConfig
from tammes.objective import Objective
from tammes.positives.augmentation import Handwriting, Photographs
from tammes.training.optimizer import Adam


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

    Raises:
        ValueError: for a batch of fewer than two images, fewer than one epoch, or a negative seed.

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

    def __post_init__(self) -> None:
        if self.batch_size < 2:
            raise ValueError(
                f"batch_size must be at least 2 (negatives come from the batch), got {self.batch_size}"
            )
        if self.epochs < 1:
            raise ValueError(f"epochs must be at least 1, got {self.epochs}")
        if self.seed < 0:
            raise ValueError(f"seed must be 0 or more, got {self.seed}")


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
