"""What determines the weights of a run: same configuration, same data, same weights."""

import hashlib
from dataclasses import dataclass, field, replace
from typing import Literal

from tammes.coupling import Hard
from tammes.data.images import Images
from tammes.data.texts import Texts
from tammes.data.vocabulary import Vocabulary
from tammes.encoders import BagOfWordsConfig, ConvNetConfig, ProjectionHeadConfig, ResNetConfig
from tammes.objective import Objective
from tammes.positives import (
    Active,
    Handwriting,
    Identity,
    Neighbors,
    Photographs,
    SameClass,
    SameInstance,
    Targeted,
)
from tammes.sources import InBatch
from tammes.temperature import LearnedTemperature
from tammes.training.annealing import Falling, Rising
from tammes.training.config_file import FORMERLY
from tammes.training.optimizer import Adam, Constant
from tammes.training.queue_config import QueueConfig

AugmentationConfig = Photographs | Handwriting | Identity
OF_ITSELF = SameInstance | Active | Targeted
"""Positives that are views of the anchor's own row."""


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Everything about a run but its data and the machine it runs on.

    The two views of a pair are made of a row of the data and its positive: of images both are augmented,
    and the usual positive is the image itself; of texts neither is, and the positive is another sentence.

    Args:
        objective: What is minimized.
        encoder: The network whose features are wanted.
        head: The small network between features and the embeddings that are compared; None compares the
            features.
        augmentation: How a view of an image is made; None for texts, which are taken as they are.
        positives: What the second view of a pair shows: the image of the first, chosen among several views
            or made by another augmentation, or another row of its class, or the sentence beside it.
        optimizer: How the weights are moved.
        batch_size: Pairs per step, which are two views each.
        epochs: How often every image is visited, or every sentence paired.
        seed: Of the weights, the pairs, their order and their views.
        precision: Of the network's arithmetic; the objective is computed in float32 either way.
        chunk: Views that go through the network at a time, to save memory (see `GradientCache`); None for
            all of the batch. The result is the same up to rounding, except that BatchNorm, which is in the
            residual networks, then takes the statistics of a chunk.
        annealing: How the beta of hard negatives changes over the epochs; None leaves it as it is.
        learn_temperature: Learn the temperature with the network, from the objective's on.
        negatives: Where negatives come from: the batch, or a queue of earlier batches besides.

    Raises:
        ValueError: for a batch of fewer than two pairs, fewer than one epoch, a negative seed, a chunk
            below 1, annealing where there is no beta or with more changes than epochs, or parts that do not
            go together: texts with augmentation, chunks, or a sentence as its own positive; a queue, which
            knows a row that comes again by its view, with other positives than the row itself; a factor
            that is to vary freely and that the augmentation does not have.

    Example:
        >>> import tammes
        >>> TrainingConfig(objective=tammes.recipes.simclr(temperature=0.5), epochs=3).optimizer.learning_rate
        0.001
        >>> TrainingConfig(objective=tammes.recipes.logistic(), encoder=BagOfWordsConfig(dim=64),
        ...     head=None, augmentation=None, positives=SameClass()).positives
        SameClass()
    """

    objective: Objective
    encoder: ConvNetConfig | ResNetConfig | BagOfWordsConfig = field(default_factory=ResNetConfig)
    head: ProjectionHeadConfig | None = field(default_factory=ProjectionHeadConfig)
    augmentation: AugmentationConfig | None = field(default_factory=Photographs)
    positives: SameInstance | SameClass | Neighbors | Active | Targeted = field(default_factory=SameInstance)
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
        self._check_views()
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

    def _check_views(self) -> None:
        if isinstance(self.encoder, BagOfWordsConfig):
            if self.augmentation is not None:
                raise ValueError(
                    f"texts are not augmented, got {self.augmentation!r}: choose augmentation=None"
                )
            if isinstance(self.positives, Active | Targeted):
                raise ValueError(
                    f"{type(self.positives).__name__} chooses among augmented views, which texts have none "
                    "of: choose positives=SameClass() or Neighbors()"
                )
            if isinstance(self.positives, SameInstance):
                raise ValueError(
                    "a sentence that is its own positive teaches nothing, since both views are the same: "
                    "choose positives=SameClass() or Neighbors()"
                )
            if self.chunk is not None:
                raise ValueError(
                    f"a bag of words has no activations that chunks would save, got chunk={self.chunk}: "
                    "leave it out"
                )
        elif self.augmentation is None:
            raise ValueError(
                "views of images are made by an augmentation, got None: choose Photographs(), Handwriting(), "
                "or Identity() where the positive is another image"
            )
        elif isinstance(self.augmentation, Identity) and isinstance(self.positives, OF_ITSELF):
            raise ValueError(
                "an image that is its own positive needs an augmentation, or both views are the same: choose "
                "Photographs(), Handwriting(), or other positives"
            )
        if self.augmentation is not None and isinstance(self.positives, Targeted):
            self.positives.augmentations(self.augmentation)  # refuses a factor that it does not have
        if isinstance(self.negatives, QueueConfig) and not isinstance(self.positives, OF_ITSELF):
            raise ValueError(
                "a queue knows a row that comes again by its key, which is another row's where the positives "
                f"are {self.positives!r}: take negatives from the batch, or SameInstance() as the positives"
            )

    @property
    def augmentations(self) -> tuple[AugmentationConfig | None, AugmentationConfig | None]:
        """What makes the first view of a pair, and the second; None for texts."""
        if self.augmentation is not None and isinstance(self.positives, Targeted):
            return self.positives.augmentations(self.augmentation)
        return self.augmentation, self.augmentation

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
class TextsSummary:
    """What is written down about the texts of a run, so that it is continued with the same ones.

    Args:
        source: Where they came from, in the user's words: a folder, a file, the name of a data set.
        count: How many sentences there are.
        documents: How many documents they come from; 0 where that is not known.
        vocabulary: How many words the encoder knows.
        digest: Of the sentences, the documents they come from, and these words: all are small enough to be
            looked at whole.

    Example:
        >>> texts = Texts(sentences=("a cat", "a dog"), names=("1", "2"))
        >>> TextsSummary.of(texts, Vocabulary(words=("[UNK]", "a")), "pets").vocabulary
        2
    """

    source: str
    count: int
    documents: int
    vocabulary: int
    digest: str

    @classmethod
    def of(cls, texts: Texts, vocabulary: Vocabulary, source: str) -> "TextsSummary":
        """The summary of these texts, and of the words that an encoder knows."""
        content = "\0".join([*vocabulary.words, "", *texts.sentences])
        digest = hashlib.sha256(content.encode(errors="surrogatepass"))
        if texts.labels is not None:
            digest.update(texts.labels.numpy().tobytes())
        return cls(
            source=source,
            count=len(texts),
            documents=0 if texts.classes is None else len(texts.classes),
            vocabulary=len(vocabulary),
            digest=digest.hexdigest()[:12],
        )


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The content of a run's config.yaml.

    Args:
        training: What determines the weights.
        data: What the run was trained on.

    Raises:
        ValueError: where the encoder takes texts and the data are images, or the other way round.
    """

    training: TrainingConfig
    data: ImagesSummary | TextsSummary = field(metadata={FORMERLY: "images"})

    def __post_init__(self) -> None:
        reads_texts = isinstance(self.training.encoder, BagOfWordsConfig)
        if reads_texts != isinstance(self.data, TextsSummary):
            raise ValueError(f"{self.training.encoder!r} does not take what the data are, {self.data!r}")
