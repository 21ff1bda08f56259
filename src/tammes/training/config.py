"""Configuration of a run: the same configuration and data give the same weights."""

from dataclasses import dataclass, field
from types import UnionType
from typing import Literal

from tammes.checks import check_integer, check_number, check_seed
from tammes.encoders import (
    BagOfWordsConfig,
    ConvNetConfig,
    GraphEncoderConfig,
    ModuleConfig,
    ProjectionHeadConfig,
    ResNet3DConfig,
    ResNet9Config,
    ResNetConfig,
    SentenceEncoderConfig,
    ShortcutHeadConfig,
    TextEncoderConfig,
    TimmConfig,
    TransformersConfig,
    VisionTransformerConfig,
)
from tammes.objective import Objective
from tammes.positives import (
    Active,
    Adjacent,
    GivenPairs,
    GraphAugmentation,
    Handwriting,
    Identity,
    Neighbors,
    OwnGraph,
    Photographs,
    SameClass,
    SameInstance,
    Scans,
    Targeted,
)
from tammes.sources import InBatch
from tammes.training.annealing import Falling, Oscillating, Rising
from tammes.training.attack import InputAttack
from tammes.training.care import Care
from tammes.training.kind_rules import (
    check_chunk,
    check_graph_parts,
    check_image_parts,
    check_stop,
    check_text_parts,
    check_volume_parts,
)
from tammes.training.loss_rules import (
    check_attack,
    check_crops,
    check_equivariance,
    check_negatives,
    check_queue,
    check_temperature,
)
from tammes.training.masked import Masked
from tammes.training.masked_rules import check_masked
from tammes.training.momentum import KeysConfig, LearnedNegativesConfig, QueueConfig
from tammes.training.node_rules import check_fanouts, check_graphs, check_nodes
from tammes.training.optimizer import Adam, AdamW, Constant
from tammes.training.summaries import (
    GraphsSummary,
    ImagesSummary,
    NodesSummary,
    Summary,
    TextsSummary,
    VolumesSummary,
)

EncoderConfig = (
    ConvNetConfig
    | ResNet9Config
    | ResNetConfig
    | ModuleConfig
    | TimmConfig
    | TransformersConfig
    | VisionTransformerConfig
    | BagOfWordsConfig
    | SentenceEncoderConfig
    | GraphEncoderConfig
    | ResNet3DConfig
)
AugmentationConfig = Photographs | Handwriting | Identity | GraphAugmentation | Scans
PositivesConfig = SameInstance | SameClass | Neighbors | Adjacent | GivenPairs | Active | Targeted | OwnGraph


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Settings of a run, without its data and the machine it runs on.

    The two views of a pair show a row of the data and its positive. Both views of images are augmented, and
    the usual positive is the image itself; texts are not augmented, and the positive is another sentence. Of
    graphs the usual pair is a node and its graph, or two augmented views.

    Args:
        objective: Objective to minimize.
        encoder: Network whose features are wanted.
        head: Small network between features and the embeddings that are compared; None compares the
            features.
        augmentation: Augmentation of images, volumes or graphs; None for texts. It decides what a
            `TransformersConfig` reads.
        positives: What the second view of a pair shows: the image of the first (chosen among several views,
            or made by another augmentation), another row of its class, the sentence beside it, or a
            node's graph.
        optimizer: Optimizer with its learning rate.
        batch_size: Pairs per step, over all processes; the negatives of a pair are the others of its batch.
        epochs: Number of times that every image is visited, or every sentence paired.
        seed: Random seed of the weights, the pairs, their order and their views.
        precision: Precision of the network's arithmetic; bf16-mixed is faster on recent GPUs. The objective
            is computed in float32 either way.
        chunk: Number of views that go through the network at a time, for a batch that does not fit into
            memory (see `GradientCache`); None takes all at once. It costs one more forward pass, and the
            residual networks' BatchNorm then takes the statistics of a chunk instead of the batch.
        annealing: Change of the beta of hard negatives, or of the temperature, over the epochs; None leaves
            both constant.
        learn_temperature: Whether the temperature is learned with the network, from the objective's on.
        negatives: Negatives from the batch alone, or also from a queue of earlier batches.
        crops: Number of views of each image, 2 or more; each is a positive of all others.
        equivariance: Terms beside the objective, by which augmentations rotate all embeddings alike (CARE);
            None for the objective alone.
        fanouts: Of nodes of one graph, the largest number of neighbors that a node gets at each hop from the
            nodes of a batch, with one number or more for each layer; None reads the whole graph in each step.
        attack: Attack on the images of each batch, from which a second stream of the network learns (ACL);
            None for no attack.
        masked: Reconstruction of hidden patches and denoising beside the objective (CAN, MAE), for a Vision
            Transformer; None for the objective alone.
        ema_decay: Decay of an exponential moving average of the weights, which is then what is measured and
            saved; None for the weights of the last step.
        diagnose_every: Epochs between label-free measures of the embeddings (RankMe, alignment, uniformity,
            hubness and others); None for none, or for every epoch with `stop_on`.
        stop_on: Label-free measure that ends the training once it no longer improves; None for all epochs.
        stop_patience: Measurements without improvement after which `stop_on` ends the training.

    Raises:
        ValueError: for numbers outside their ranges, and for parts that do not go together: annealing
            without a beta, or with more changes than epochs; texts with augmentation; a bag of words with
            chunks, or with a sentence as its own positive; a queue with positives from other rows; a factor
            for `Targeted` that the augmentation does not have; more than two crops of texts, or with other
            positives, a queue or equivariance; equivariance with groups that do not divide the batch, or
            without an augmentation that a group could share; data with parts for another kind of data; fewer
            fanouts than layers; masks with another encoder, or with parts that need whole images.

    Example:
        >>> import tammes
        >>> TrainingConfig(objective=tammes.recipes.simclr(temperature=0.5), epochs=3).optimizer.learning_rate
        0.001
        >>> TrainingConfig(objective=tammes.recipes.logistic(), encoder=BagOfWordsConfig(dim=64),
        ...     head=None, augmentation=None, positives=SameClass()).positives
        SameClass()
    """

    objective: Objective
    encoder: EncoderConfig = field(default_factory=ResNetConfig)
    head: ProjectionHeadConfig | ShortcutHeadConfig | None = field(default_factory=ProjectionHeadConfig)
    augmentation: AugmentationConfig | None = field(default_factory=Photographs)
    positives: PositivesConfig = field(default_factory=SameInstance)
    optimizer: Adam | AdamW = field(default_factory=Adam)
    batch_size: int = 256
    epochs: int = 100
    seed: int = 0
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    chunk: int | None = None
    annealing: Falling | Rising | Oscillating | None = None
    learn_temperature: bool = False
    negatives: InBatch | QueueConfig | LearnedNegativesConfig = field(default_factory=InBatch)
    crops: int = 2
    equivariance: Care | None = None
    fanouts: tuple[int, ...] | None = None
    attack: InputAttack | None = None
    masked: Masked | None = None
    ema_decay: float | None = None
    diagnose_every: int | None = None
    stop_on: Literal["rankme", "projection_rankme", "lidar", "uniformity"] | None = None
    stop_patience: int = 5

    def __post_init__(self) -> None:
        check_integer("crops", self.crops, minimum=2, reason="a positive is another view of its image")
        check_integer("batch_size", self.batch_size, minimum=2)
        check_integer("epochs", self.epochs)
        check_seed("seed", self.seed)
        check_chunk(self)
        check_negatives(self)
        check_temperature(self)
        check_crops(self)
        check_fanouts(self)
        if self.takes_graphs:
            check_graph_parts(self)
        elif self.takes_volumes:
            check_volume_parts(self)
        elif self.takes_texts:
            check_text_parts(self)
        else:
            check_image_parts(self)
        check_queue(self)
        check_equivariance(self)
        check_attack(self)
        check_masked(self)
        if self.ema_decay is not None:
            check_number("ema_decay", self.ema_decay, minimum=0, below=1)
        check_stop(self)

    @property
    def takes_graphs(self) -> bool:
        """Whether the encoder takes graphs."""
        return isinstance(self.encoder, GraphEncoderConfig)

    @property
    def takes_volumes(self) -> bool:
        """Whether the encoder takes volumes."""
        return isinstance(self.encoder, ResNet3DConfig)

    @property
    def takes_texts(self) -> bool:
        """Whether the encoder takes texts; a model of transformers does unless images are augmented."""
        if isinstance(self.encoder, TransformersConfig):
            return self.augmentation is None
        return isinstance(self.encoder, TextEncoderConfig)

    @property
    def measures_every(self) -> int | None:
        """Epochs between label-free measures; None for none."""
        return 1 if self.diagnose_every is None and self.stop_on is not None else self.diagnose_every

    @property
    def views_differ(self) -> bool:
        """Whether the two sides of a pair differ in evaluation mode: not by dropout, nor if paired later."""
        return not (self.takes_texts and isinstance(self.positives, SameInstance | Adjacent))

    @property
    def loss(self) -> str:
        """Objective with the terms beside it, as pages print them."""
        beside = [each for each in (self.equivariance, self.attack, self.masked) if each is not None]
        return "".join([repr(self.objective), *(f" with {each!r}" for each in beside)])

    @property
    def augmentations(self) -> tuple[AugmentationConfig | None, AugmentationConfig | None]:
        """Augmentations of the first and the second view of a pair; None for texts."""
        if self.augmentation is not None and isinstance(self.positives, Targeted):
            assert not isinstance(self.augmentation, GraphAugmentation | Scans)
            return self.positives.augmentations(self.augmentation)
        return self.augmentation, self.augmentation

    @property
    def is_extendable(self) -> bool:
        """Whether a run may be given more epochs later, because nothing is spread over their number."""
        rises = isinstance(self.negatives, KeysConfig) and self.negatives.rising
        return isinstance(self.optimizer.schedule, Constant) and self.annealing is None and not rises

    def objective_at(self, epoch: int) -> Objective:
        """Return the objective after `epoch` finished epochs, annealed to that time.

        Example:
            >>> import tammes
            >>> objective = tammes.recipes.hcl(temperature=0.5, beta=1.0)
            >>> config = TrainingConfig(objective=objective, annealing=Falling(changes=2), epochs=2)
            >>> config.objective_at(1).coupling.beta
            0.5
        """
        if self.annealing is None:
            return self.objective
        return self.annealing.at(self.objective, epoch=epoch, epochs=self.epochs)


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Content of a run's config.yaml.

    Args:
        training: Settings of the run.
        data: Description of the training data.

    Raises:
        ValueError: if the data are of another kind than the encoder takes; if a part is not for nodes of one
            graph, or for whole graphs.
    """

    training: TrainingConfig
    data: Summary

    def __post_init__(self) -> None:
        training = self.training
        kinds: dict[type | UnionType, bool] = {
            GraphsSummary | NodesSummary: training.takes_graphs,
            VolumesSummary: training.takes_volumes,
            TextsSummary: training.takes_texts,
            ImagesSummary: True,
        }
        if not isinstance(self.data, next(kind for kind, is_taken in kinds.items() if is_taken)):
            raise ValueError(f"{self.training.encoder!r} does not take data of this kind: {self.data!r}")
        if self.training.takes_graphs:
            (check_nodes if isinstance(self.data, NodesSummary) else check_graphs)(self.training)
