"""Rules for the parts of a training, by the kind of its data: graphs, volumes, texts or images."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tammes.checks import check_integer
from tammes.encoders import (
    BagOfWordsConfig,
    ProjectionHeadConfig,
    SentenceEncoderConfig,
    TransformersConfig,
    has_two_towers,
)
from tammes.positives import (
    Active,
    Adjacent,
    GivenPairs,
    GraphAugmentation,
    Identity,
    OwnGraph,
    SameClass,
    SameInstance,
    Scans,
    Targeted,
)
from tammes.sources import InBatch

if TYPE_CHECKING:
    from tammes.training.config import TrainingConfig

BETTER: Mapping[str, int] = {"rankme": 1, "projection_rankme": 1, "lidar": 1, "uniformity": -1}
"""Label-free measures that can end a training: 1 if a larger value is better, -1 if a smaller one is."""
VIEWS_OF_ONE_ROW = SameInstance | Active | Targeted | OwnGraph
"""Positives that show the same row of the data as their anchor."""


def check_graph_parts(config: TrainingConfig) -> None:
    """Refuse parts that make no sense for graphs.

    Raises:
        ValueError: with the part and what to choose instead.
    """
    if not isinstance(config.augmentation, GraphAugmentation | None):
        raise ValueError(
            f"{config.augmentation!r} changes images, and {config.encoder!r} takes graphs: choose "
            "OneChange(), another change of graphs, or augmentation=None"
        )
    if not isinstance(config.positives, OwnGraph | SameInstance | SameClass):
        raise ValueError(
            f"{config.positives!r} is not for graphs: choose OwnGraph(), SameInstance() or SameClass()"
        )
    if isinstance(config.positives, OwnGraph) and config.augmentation is not None:
        raise ValueError(
            "OwnGraph() compares the nodes of a graph with the graph, without views, got "
            f"augmentation={config.augmentation!r}: choose None, or positives=SameInstance()"
        )
    if isinstance(config.positives, OwnGraph) and not isinstance(config.negatives, InBatch):
        raise ValueError("OwnGraph() takes its negatives from the batch: leave the queue out")
    if isinstance(config.positives, SameInstance) and config.augmentation is None:
        raise ValueError(
            "a graph that is its own positive needs an augmentation, or both views are the same: choose "
            "OneChange(), or positives=OwnGraph()"
        )
    if config.chunk is not None:
        raise ValueError(
            f"chunks are cut of images and texts, got chunk={config.chunk} for graphs: leave it out"
        )


def check_volume_parts(config: TrainingConfig) -> None:
    """Refuse parts that make no sense for volumes.

    Raises:
        ValueError: with the part and what to choose instead.
    """
    if not isinstance(config.augmentation, Scans):
        raise ValueError(
            f"{config.encoder!r} takes volumes, whose views Scans() makes, got "
            f"augmentation={config.augmentation!r}: choose Scans()"
        )
    if not isinstance(config.positives, SameInstance | SameClass):
        raise ValueError(f"{config.positives!r} is not for volumes: choose SameInstance() or SameClass()")


def check_text_parts(config: TrainingConfig) -> None:
    """Refuse parts that make no sense for texts.

    Raises:
        ValueError: with the part and what to choose instead.
    """
    _check_no_graphs(config)
    if config.augmentation is not None:
        raise ValueError(f"texts are not augmented, got {config.augmentation!r}: choose augmentation=None")
    if isinstance(config.positives, Active | Targeted):
        raise ValueError(
            f"{type(config.positives).__name__} needs augmented views, which texts do not have: choose "
            "positives=SameClass() or Neighbors()"
        )
    if isinstance(config.positives, Adjacent):
        _check_adjacent(config, config.positives)
    if isinstance(config.positives, Adjacent | GivenPairs) and has_two_towers(config.encoder):
        _check_no_head(config)
    if isinstance(config.encoder, SentenceEncoderConfig):
        if isinstance(config.positives, SameInstance) and config.encoder.dropout == 0:
            raise ValueError(
                "a sentence that is its own positive teaches nothing without dropout, and "
                f"{config.encoder!r} has none: choose a dropout such as 0.1, or positives=Adjacent()"
            )
        return
    if not isinstance(config.encoder, BagOfWordsConfig):
        return
    if isinstance(config.positives, SameInstance):
        raise ValueError(
            "a sentence that is its own positive teaches nothing, since both views are the same: "
            "choose positives=SameClass() or Neighbors(), or an encoder with dropout, TextTransformerConfig()"
        )
    if config.chunk is not None:
        raise ValueError(
            f"a bag of words has no activations that chunks would save, got chunk={config.chunk}: "
            "leave it out"
        )


def _check_no_head(config: TrainingConfig) -> None:
    if config.head is not None:
        raise ValueError(
            "two towers are compared without a head, f of a sentence with g of others, got "
            f"head={config.head!r}: choose head=None"
        )


def _check_adjacent(config: TrainingConfig, positives: Adjacent) -> None:
    run = config.batch_size if positives.run is None else positives.run
    if config.batch_size % run:
        raise ValueError(f"run must divide the batch of {config.batch_size} sentences, got {run}")
    if config.batch_size <= 2 * positives.window + 1:
        raise ValueError(
            f"window={positives.window} leaves no negatives in a batch of {config.batch_size} sentences: "
            f"choose a batch of more than {2 * positives.window + 1}"
        )
    if positives.whole_documents:
        _check_half_full(config, positives)


def _check_half_full(config: TrainingConfig, positives: Adjacent) -> None:
    """Refuse what a batch of whole documents, which may be little more than half full, has no room for."""
    negatives = config.batch_size // 2 - 2 * positives.window
    if negatives < 1:
        raise ValueError(
            f"window={positives.window} leaves no negatives in a batch of whole documents that is half of "
            f"{config.batch_size} sentences: choose a batch of at least {4 * positives.window + 2}"
        )
    k = config.objective.selection.subset_size
    if k is not None and k > negatives:
        raise ValueError(
            f"a batch of whole documents may be half of {config.batch_size} sentences, whose anchors have "
            f"{negatives} negatives, but {config.objective.selection!r} takes {k}: choose a smaller k, or a "
            f"batch of at least {2 * (k + 2 * positives.window)}"
        )


def check_image_parts(config: TrainingConfig) -> None:
    """Refuse parts that make no sense for images.

    Raises:
        ValueError: with the part and what to choose instead.
    """
    _check_no_graphs(config)
    if isinstance(config.positives, Adjacent | GivenPairs):
        raise ValueError(
            f"{config.positives!r} is for sentences: images have no reading order, and no columns"
        )
    if isinstance(config.augmentation, Scans):
        raise ValueError(
            f"Scans() changes volumes, and {config.encoder!r} takes none: choose Photographs() or "
            "Handwriting(), or encoder=ResNet3DConfig()"
        )
    if isinstance(config.encoder, TransformersConfig):
        config.encoder.check_images()
    if config.augmentation is None:
        raise ValueError(
            "views of images are made by an augmentation, got None: choose Photographs(), Handwriting(), "
            "or Identity() if the positive is another image"
        )
    if isinstance(config.augmentation, Identity) and isinstance(config.positives, VIEWS_OF_ONE_ROW):
        raise ValueError(
            "an image that is its own positive needs an augmentation, or both views are the same: choose "
            "Photographs(), Handwriting(), or other positives"
        )
    if isinstance(config.positives, Targeted):
        assert not isinstance(config.augmentation, GraphAugmentation | Scans)
        config.positives.augmentations(config.augmentation)  # refuses a factor that it does not have


def check_chunk(config: TrainingConfig) -> None:
    """Refuse a chunk that is no number of views, or too small for the head.

    Raises:
        ValueError: with what to choose instead.
    """
    if config.chunk is None:
        return
    check_integer("chunk", config.chunk, reason="it counts views; None takes the whole batch")
    normalizes = isinstance(config.head, ProjectionHeadConfig) and config.head.batch_norm
    smallest = config.batch_size // math.ceil(config.batch_size / config.chunk)  # they are even
    if smallest == 1 and normalizes:
        raise ValueError(
            "the head normalizes over the views of a chunk, and a single one has no variance, got "
            f"chunk={config.chunk} for {config.batch_size} rows: choose "
            f"{'at least 2' if config.batch_size % 2 == 0 else 'at least 3'}, or a head with batch_norm=False"
        )


def check_stop(config: TrainingConfig) -> None:
    """Refuse label-free measures that a training does not give, and numbers outside their ranges.

    Raises:
        ValueError: with the setting and what to choose instead.
    """
    if config.diagnose_every is not None:
        check_integer("diagnose_every", config.diagnose_every, reason="it counts epochs")
    check_integer("stop_patience", config.stop_patience, reason="it counts measurements")
    if config.stop_on is not None and config.stop_on not in BETTER:
        raise ValueError(f"stop_on must be None or one of {', '.join(BETTER)}, got {config.stop_on!r}")
    if config.stop_on == "projection_rankme" and config.head is None:
        raise ValueError(
            "stop_on='projection_rankme' measures the output of a head, and there is none: choose 'rankme'"
        )
    if config.stop_on == "lidar" and not config.views_differ:
        raise ValueError(
            f"stop_on='lidar' compares two views of a row, and {config.positives!r} gives a sentence "
            "none that differ without dropout: choose 'rankme'"
        )


def _check_no_graphs(config: TrainingConfig) -> None:
    for name, part in (("positives", config.positives), ("augmentation", config.augmentation)):
        if isinstance(part, OwnGraph | GraphAugmentation):
            raise ValueError(
                f"{name}={part!r} is for graphs, and {config.encoder!r} takes none: choose "
                "GINEncoderConfig() or another encoder of graphs"
            )
