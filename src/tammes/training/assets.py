"""What a run keeps beside its weights: the vocabulary of its texts, or the description of a model."""

from __future__ import annotations

from pathlib import Path

from tammes.data.graph_set import GraphSet
from tammes.data.graph_stream import GraphStream
from tammes.data.images import Images
from tammes.data.model_tokenizer import ModelTokenizer
from tammes.data.node_set import NodeSet
from tammes.data.subwords import Subwords, Words
from tammes.data.texts import Texts
from tammes.data.vocabulary import Vocabulary
from tammes.data.volumes import Volumes
from tammes.encoders import (
    BagOfWordsConfig,
    GraphEncoderConfig,
    ModelDescription,
    ResNet3DConfig,
    TextEncoderConfig,
    TransformersConfig,
)
from tammes.training.config import RunConfig, TrainingConfig

Assets = Vocabulary | Subwords | ModelDescription
"""What is needed beside the settings to build a network and to read texts."""

Tokenizer = Vocabulary | Subwords | ModelTokenizer


def new_assets(
    data: Images | Texts | GraphSet | GraphStream | NodeSet | Volumes, config: TrainingConfig
) -> Assets | None:
    """Return the assets of a new run: a vocabulary of its texts, or what a model's folder says of the model.

    Args:
        data: images, texts, graphs, nodes or volumes.
        config: configuration of the run, whose encoder takes one of them.

    Raises:
        ValueError: for data of another kind than the encoder takes; for texts without a
            word that is frequent enough; for a model that cannot be read.
        ImportError: if a package that reads them is not installed.
    """
    encoder, are_texts = config.encoder, isinstance(data, Texts)
    if isinstance(data, GraphSet | GraphStream | NodeSet) != isinstance(encoder, GraphEncoderConfig):
        kind = "other data" if isinstance(data, GraphSet | GraphStream | NodeSet) else "graphs"
        raise ValueError(
            f"{encoder!r} takes {kind}, got {data!r}: choose GINEncoderConfig() or another encoder of graphs "
            "for graphs alone"
        )
    if isinstance(data, Volumes) != isinstance(encoder, ResNet3DConfig):
        kind = "other data" if isinstance(data, Volumes) else "volumes"
        raise ValueError(f"{encoder!r} takes {kind}, got {data!r}: choose ResNet3DConfig() for volumes alone")
    if isinstance(encoder, TransformersConfig):
        if are_texts != config.takes_texts:
            kind = "Texts" if config.takes_texts else "Images"
            raise ValueError(
                f"expected {kind} with augmentation={config.augmentation!r}, got {data!r}: texts have "
                "augmentation=None, and images have one"
            )
        return encoder.describe(texts=are_texts)
    if not isinstance(encoder, TextEncoderConfig):
        if are_texts:
            raise ValueError(
                f"{encoder!r} takes images, got {data!r}: choose BagOfWordsConfig(), GRUConfig() or another "
                "encoder of texts"
            )
        return None
    if not isinstance(data, Texts):
        raise ValueError(f"{_name(encoder)} takes texts, got {data!r}: choose an encoder of images")
    return encoder.tokens.of(data.sentences)


def _name(encoder: TextEncoderConfig) -> str:
    return "a bag of words" if isinstance(encoder, BagOfWordsConfig) else repr(encoder)


def tokenizer_of(assets: Assets | None) -> Tokenizer | None:
    """Return the tokenizer of a model of texts; None for images."""
    return assets.tokenizer if isinstance(assets, ModelDescription) else assets


def assets_kind(config: RunConfig) -> type[Vocabulary] | type[Subwords] | type[ModelDescription] | None:
    """Return the class of the assets that a run keeps; None if its settings say everything."""
    encoder = config.training.encoder
    if isinstance(encoder, TransformersConfig):
        return ModelDescription
    if not isinstance(encoder, TextEncoderConfig):
        return None
    return Vocabulary if isinstance(encoder.tokens, Words) else Subwords


def load_assets(config: RunConfig, *, vocabulary: Path, description: Path) -> Assets | None:
    """Read the assets of a run back.

    Args:
        config: configuration of the run.
        vocabulary: file of the vocabulary of a bag of words.
        description: file of the description of a model of transformers.

    Raises:
        ValueError: for a file that is missing, or was changed since it was saved.
    """
    kind = assets_kind(config)
    if kind is None:
        return None
    file = description if kind is ModelDescription else vocabulary
    try:
        return kind.load(file)
    except FileNotFoundError as error:
        needs = "trained by a model of transformers" if kind is ModelDescription else "trained on texts"
        raise ValueError(
            f"the run in {file.parent} was {needs}, but its {file.name} is missing: put it back"
        ) from error
