"""Settings that suit the data: what a training takes for everything that its user leaves open."""

import math
from dataclasses import replace

import torch
from jaxtyping import UInt8
from torch import Tensor

from tammes.data.graph_set import GraphSet
from tammes.data.graph_stream import GraphStream
from tammes.data.images import Images
from tammes.data.node_set import NodeSet
from tammes.data.texts import Texts
from tammes.data.volumes import Volumes
from tammes.encoders import (
    BagOfWordsConfig,
    ConvNetConfig,
    GCNEncoderConfig,
    GINEncoderConfig,
    GraphEncoderConfig,
    GRUConfig,
    ProjectionHeadConfig,
    ResNet3DConfig,
    ResNet9Config,
    ResNetConfig,
    ShortcutHeadConfig,
    TextTransformerConfig,
    TimmConfig,
    TransformersConfig,
    TwoTowersConfig,
)
from tammes.objective import Objective
from tammes.positives import (
    EdgesAndFeatures,
    GivenPairs,
    Handwriting,
    Neighbors,
    OwnGraph,
    Photographs,
    SameClass,
    Scans,
)
from tammes.training.config import EncoderConfig, TrainingConfig
from tammes.training.examples import Data
from tammes.training.masked import Masked
from tammes.training.optimizer import Adam, AdamW, Cosine
from tammes.training.pretraining import fitting_transformer, with_masks

VISITED, VISITED_BY_RESNET9 = 200_000, 100_000
"""Rows that a training visits, whatever their number: texts in about a minute, small images in a few."""
FEWEST_EPOCHS_OF_GRAPHS = 10
FEWEST_EPOCHS_OF_TEXTS, FEWEST_EPOCHS_OF_IMAGES, MOST_EPOCHS = 10, 3, 100
VISITED_BY_PRETRAINED = 20_000
"""Likewise of a pretrained network, which knows most already, and forgets it in a long training."""
FEWEST_EPOCHS_OF_PRETRAINED, MOST_EPOCHS_OF_PRETRAINED = 1, 10
LARGEST_BATCH, SMALLEST_BATCH = 256, 8
LARGEST_BATCH_OF_GRAPHS = 128
FANOUT = 10
"""Neighbors of a node that a batch of nodes draws, for each layer."""
LARGEST_BATCH_OF_VOLUMES = 64
VISITED_BY_VOLUMES = 20_000  # a volume of 24 voxels a side takes as long as ten small images
LARGEST_BATCH_OF_TRANSFORMERS = 64  # and of pretrained networks
FEWEST_STEPS = 4
"""Steps of an epoch below which batches are made smaller."""

LARGEST_SMALL = 64
"""Height and width in pixels up to which images have a small network."""
WIDTH_OF_SMALL, RATE_OF_SMALL = 32, 3e-3
"""Width of a `ResNet9`, and its learning rate: batch normalization bears a larger one."""

RATE_OF_WORDS, RATE_OF_GRU, RATE_OF_TRANSFORMER = 0.1, 1e-2, 1e-3
"""Learning rates of a bag of words, of gated recurrent units, and of a transformer over words."""

SAMPLE = 128
"""Images that are looked at for the choice of their augmentation."""
EVEN_BORDER = 0.6
"""Share of the pixels on the border of gray images that must have one gray level for a background."""
SAME_GRAY = 8
"""Levels of 255 by which pixels of one background may differ."""


def suited(
    objective: Objective,
    data: Data,
    *,
    encoder: EncoderConfig | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    masked: Masked | None = None,
    mirrors: bool = True,
    seed: int = 0,
) -> TrainingConfig:
    """Return the settings of a training that suit its data, to be changed with `dataclasses.replace`.

    Texts have a bag of words of 256 dimensions, compared without a head, and a learning rate of 0.1 that
    falls along half a cosine: the embeddings of words start from a standard normal distribution, and the
    compared sentences have unit length, so that Adam's steps of 1e-3 would hardly turn them. Gated recurrent
    units have a rate of 0.01 instead and gradients of a norm of at most 5, and a transformer over words 1e-3
    after a warm-up of a tenth of the training and gradients of at most 1. Gray images on an even background
    are distorted as handwriting is, others as photographs; their learning rate falls along half a cosine
    after one epoch of warm-up, from 3e-3 for a `ResNet9` and from 1e-3 otherwise. The head of a `ResNet9` has
    batch normalization. A training visits about 200,000 rows, or 100,000 with a `ResNet9`, in at most 100
    epochs. Small sets have smaller batches, never more rows than there are.

    Graphs have InfoGraph's settings: three layers of an isomorphism network, nodes compared with graphs by
    two heads, batches of at most 128, a constant learning rate of 1e-3. Nodes of one graph have GRACE's: two
    layers of a convolutional network, two views with a fifth of the edges and features hidden, and ten
    neighbors of a node for each layer.

    Volumes have a small 3-D residual network, batches of at most 64, and otherwise the settings of images; a
    training visits about 20,000.

    A pretrained network, and any of transformers, has batches of at most 64, gradients of a norm of at most
    1, and a rate that rises for a tenth of the training and then falls along half a cosine. Its peak is 3e-5
    for a pretrained network, which larger steps would make forget what it knows, and 3e-4 for an untrained
    one. A pretrained network visits about 20,000 rows, in 1 to 10 epochs. Texts are compared without a head.

    A training with masks has a Vision Transformer of 6 blocks of width 192 with about 8 x 8 patches, the
    optimizer of the thesis's table (D.2, or D.4 without contrast) scaled to the batch and the epochs, and its
    head and views (`tammes.training.pretraining`).

    Args:
        objective: objective to minimize.
        data: images, texts, graphs, nodes or volumes to train on.
        encoder: network; by default a bag of words for texts, for images up to 64 pixels a small
            convolutional network if they look like handwriting and a `ResNet9` otherwise, a ResNet-18 above,
            an isomorphism network for graphs, a convolutional one for nodes, and a `ResNet3D` for volumes.
        epochs: number of epochs; by default what is said above.
        batch_size: pairs per step; by default what is said above.
        masked: masks of the images, and the terms beside the objective; None for the objective alone.
        mirrors: whether a mirrored photograph means the same.
        seed: random seed of the run.

    Example:
        >>> import tammes
        >>> config = suited(tammes.recipes.simclr(temperature=0.2), tammes.data.digits("train"))
        >>> config.augmentation.background, config.batch_size
        (0.0, 256)
    """
    if masked is not None and encoder is None and isinstance(data, Images):
        encoder = fitting_transformer(data.size)
    config = _suited_to_data(objective, data, encoder, mirrors=mirrors, seed=seed)
    encoder = config.encoder if encoder is None else encoder
    rows = len(data)
    is_pretrained = isinstance(encoder, TransformersConfig | TimmConfig) and encoder.pretrained
    if epochs is None and is_pretrained:
        usual = round(VISITED_BY_PRETRAINED / rows)
        epochs = max(FEWEST_EPOCHS_OF_PRETRAINED, min(MOST_EPOCHS_OF_PRETRAINED, usual))
    config = replace(config, encoder=encoder, epochs=config.epochs if epochs is None else epochs)
    if batch_size is not None:
        config = replace(config, batch_size=batch_size)
    if masked is not None:
        return with_masks(config, masked)
    if not is_pretrained and not isinstance(encoder, TransformersConfig):
        return replace(config, optimizer=_optimizer_of_words(encoder, config))
    optimizer = Adam(
        learning_rate=3e-5 if is_pretrained else 3e-4,
        schedule=Cosine(warmup_epochs=config.epochs / 10),
        clip_norm=1.0,
    )
    usual_size = _batch_size(rows, largest=LARGEST_BATCH_OF_TRANSFORMERS)
    return replace(config, optimizer=optimizer, batch_size=usual_size if batch_size is None else batch_size)


def _optimizer_of_words(encoder: EncoderConfig, config: TrainingConfig) -> Adam | AdamW:
    """Return the optimizer of a network that reads words in their order; for others that of the settings."""
    tower = encoder.tower if isinstance(encoder, TwoTowersConfig) else encoder
    if isinstance(tower, GRUConfig):
        return replace(config.optimizer, learning_rate=RATE_OF_GRU, clip_norm=5.0)
    if isinstance(tower, TextTransformerConfig):
        rising = Cosine(warmup_epochs=config.epochs / 10)
        return replace(config.optimizer, learning_rate=RATE_OF_TRANSFORMER, schedule=rising, clip_norm=1.0)
    return config.optimizer


def _suited_to_data(
    objective: Objective, data: Data, encoder: EncoderConfig | None, *, mirrors: bool, seed: int
) -> TrainingConfig:
    rows = len(data)
    if isinstance(data, Texts):
        return TrainingConfig(
            objective=objective,
            encoder=BagOfWordsConfig(dim=256, minimum_count=2, lowercase=True),
            head=None,
            augmentation=None,
            positives=_usual_positives(data),
            optimizer=Adam(learning_rate=RATE_OF_WORDS, schedule=Cosine(warmup_epochs=0)),
            batch_size=_batch_size(rows),
            epochs=_epochs(rows, VISITED, fewest=FEWEST_EPOCHS_OF_TEXTS),
            seed=seed,
        )
    if isinstance(data, GraphSet | GraphStream):
        return TrainingConfig(
            objective=objective,
            encoder=GINEncoderConfig(),
            head=ShortcutHeadConfig(),
            augmentation=None,
            positives=OwnGraph(),
            batch_size=_batch_size(rows, largest=LARGEST_BATCH_OF_GRAPHS),
            epochs=_epochs(rows, VISITED, fewest=FEWEST_EPOCHS_OF_GRAPHS),
            seed=seed,
        )
    if isinstance(data, NodeSet):
        network = (
            encoder if isinstance(encoder, GraphEncoderConfig) else GCNEncoderConfig(width=128, layers=2)
        )
        return TrainingConfig(
            objective=objective,
            encoder=network,
            augmentation=EdgesAndFeatures(),
            batch_size=_batch_size(rows),
            epochs=_epochs(rows, VISITED, fewest=FEWEST_EPOCHS_OF_GRAPHS),
            fanouts=(FANOUT,) * network.layers,
            seed=seed,
        )
    if isinstance(data, Volumes):
        return TrainingConfig(
            objective=objective,
            encoder=ResNet3DConfig(),
            augmentation=Scans(),
            optimizer=Adam(schedule=Cosine(warmup_epochs=1)),
            batch_size=_batch_size(rows, largest=LARGEST_BATCH_OF_VOLUMES),
            epochs=_epochs(rows, VISITED_BY_VOLUMES, fewest=FEWEST_EPOCHS_OF_IMAGES),
            seed=seed,
        )
    augmentation = suited_augmentation(data, mirrors=mirrors)
    encoder = _usual_encoder(data.size, augmentation) if encoder is None else encoder
    is_small = isinstance(encoder, ResNet9Config)
    adam = Adam(schedule=Cosine(warmup_epochs=1))
    return TrainingConfig(
        objective=objective,
        encoder=encoder,
        head=ProjectionHeadConfig(batch_norm=is_small),
        augmentation=augmentation,
        optimizer=replace(adam, learning_rate=RATE_OF_SMALL) if is_small else adam,
        batch_size=_batch_size(rows),
        epochs=_epochs(rows, VISITED_BY_RESNET9 if is_small else VISITED, fewest=FEWEST_EPOCHS_OF_IMAGES),
        seed=seed,
    )


def _usual_positives(texts: Texts) -> GivenPairs | Neighbors | SameClass:
    if texts.has_given_pairs:
        return GivenPairs()
    return Neighbors() if texts.labels is None else SameClass()


def _usual_encoder(size: int, augmentation: Photographs | Handwriting) -> EncoderConfig:
    if size > LARGEST_SMALL:
        return ResNetConfig(small_image_stem=False)
    # Strokes need no more: on scikit-learn's digits the larger network takes longer for as much.
    return ConvNetConfig() if isinstance(augmentation, Handwriting) else ResNet9Config(width=WIDTH_OF_SMALL)


def suited_augmentation(images: Images, *, mirrors: bool = True) -> Photographs | Handwriting:
    """Return the augmentation that suits images, judged by 128 of them.

    Images that have color as one of their features are cropped and mirrored in their own colors.

    Args:
        images: images to be augmented.
        mirrors: whether a mirrored photograph means the same.
    """
    count = min(SAMPLE, len(images))
    background = even_background(images.batch([i * len(images) // count for i in range(count)]))
    if background is not None:
        return Handwriting(background=background)
    usual = Photographs() if mirrors else Photographs(flip_probability=0.0)
    if "color" not in images.by_feature:
        return usual
    return replace(usual, jitter_probability=0.0, grayscale_probability=0.0)


def even_background(pixels: UInt8[Tensor, "n channels size size"]) -> float | None:
    """Return the gray level, from 0 to 1, behind gray images on an even background; None for other images.

    Example:
        >>> scans = torch.full((2, 1, 8, 8), 255, dtype=torch.uint8)
        >>> scans[:, :, 3:5, 3:5] = 20
        >>> even_background(scans)
        1.0
    """
    if pixels.shape[1] == 3 and not bool((pixels == pixels[:, :1]).all()):
        return None
    gray = pixels[:, 0].int()
    border = torch.cat([gray[:, 0], gray[:, -1], gray[:, 1:-1, 0], gray[:, 1:-1, -1]], dim=1).flatten()
    level = int(border.median())
    even = ((border - level).abs() <= SAME_GRAY).float().mean()
    return round(level / 255, 2) if float(even) >= EVEN_BORDER else None


def _epochs(rows: int, visited: int, *, fewest: int) -> int:
    return max(fewest, min(MOST_EPOCHS, round(visited / rows)))


def _batch_size(rows: int, *, largest: int = LARGEST_BATCH) -> int:
    """Return the largest power of two that leaves enough steps in an epoch, or all rows of a tiny set."""
    fitting = 2 ** int(math.log2(max(1, rows // FEWEST_STEPS)))
    return max(2, min(rows, max(SMALLEST_BATCH, min(largest, fitting))))
