"""The network of a run: an encoder, its projection head, and what they need to read texts."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from tammes.data.graph_batch import GraphBatch
from tammes.data.subwords import Subwords
from tammes.data.tokens import Tokens
from tammes.data.vocabulary import Vocabulary
from tammes.encoders import (
    BagOfWordsConfig,
    Encoder,
    GraphEncoder,
    GraphEncoderConfig,
    ModelDescription,
    ProjectionHead,
    ResNet3DConfig,
    SentenceEncoderConfig,
    ShortcutHead,
    TextEncoderConfig,
    TimmConfig,
    TransformersConfig,
    VisionTransformer,
)
from tammes.masked import Decoder
from tammes.positives import OwnGraph, SameInstance
from tammes.training.assets import Assets, tokenizer_of
from tammes.training.config import RunConfig
from tammes.training.seeds import Purpose, derive
from tammes.training.summaries import GraphsSummary, ImagesSummary, NodesSummary, VolumesSummary


class Model(nn.Module):
    """Encoder and projection head.

    Args:
        encoder: network from inputs to features.
        head: network from features to embeddings; None if the objective compares the features.
        assets: vocabulary of a bag of words, or description of a model of transformers; else None.
        node_head: network from the features of a node to its embedding, where nodes are compared with graphs.
        decoder: network from visible patches to all pixels, where images are reconstructed.

    Example:
        >>> from tammes.encoders import ConvNetConfig, ProjectionHeadConfig
        >>> encoder = ConvNetConfig(width=8).build(channels=1, size=8)
        >>> model = Model(encoder, ProjectionHeadConfig(dim=16).build(encoder.features))
        >>> features, embeddings = model(torch.rand(4, 1, 8, 8))
        >>> tuple(embeddings.shape)
        (4, 16)
    """

    def __init__(
        self,
        encoder: Encoder,
        head: ProjectionHead | ShortcutHead | None,
        assets: Assets | None = None,
        node_head: nn.Module | None = None,
        decoder: Decoder | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Identity() if head is None else head
        self.node_head = node_head
        self.decoder = decoder
        self.dim = encoder.features if head is None else head.dim
        self.assets = assets

    def forward(self, inputs: Tensor | Tokens | GraphBatch) -> tuple[Tensor, Tensor]:
        """Return features (batch, features) and embeddings (batch, dim).

        Args:
            inputs: images (batch, channels, size, size) or volumes (batch, 1, d, h, w) in [0, 1], sentences
                as tokens, or graphs.
        """
        features = self.encoder(inputs)
        return features, self.head(features)

    def nodes_and_graphs(self, batch: GraphBatch) -> tuple[Tensor, Tensor]:
        """Return the embeddings of the nodes and of the graphs, each by its own head."""
        assert isinstance(self.encoder, GraphEncoder)
        assert self.node_head is not None  # `build_model` gives one to a run whose positives are OwnGraph
        nodes = self.encoder.nodes(batch)
        return self.node_head(nodes), self.head(batch.sums(nodes))


def build_model(config: RunConfig, assets: Assets | None = None, *, pretrained: bool = True) -> Model:
    """Build the network of a configuration with its initial weights.

    They depend on the seed alone, or also on the pretrained weights that the configuration names.

    Args:
        config: configuration of the run.
        assets: vocabulary of a run on texts, or description of its model.
        pretrained: whether to read pretrained weights; False if others will take their place.

    Raises:
        ValueError: if the encoder cannot take images of this size, the tokenizer is not the run's, or
            pretrained weights cannot be read; if a sentence is its own positive without dropout.
    """
    training = config.training
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(training.seed, Purpose.WEIGHTS))
        encoder = _build_encoder(config, assets, pretrained)
        head = None if training.head is None else training.head.build(features=encoder.features)
        if training.masked is not None:
            assert isinstance(encoder, VisionTransformer)  # the configuration has no others
            return Model(encoder, head, assets, decoder=training.masked.build_decoder(encoder))
        if not isinstance(training.positives, OwnGraph):
            return Model(encoder, head, assets)
        of_nodes = nn.Identity() if training.head is None else training.head.build(features=encoder.features)
        return Model(encoder, head, assets, of_nodes)


def _build_encoder(config: RunConfig, assets: Assets | None, pretrained: bool) -> Encoder:
    settings, data = config.training.encoder, config.data
    if isinstance(settings, TransformersConfig | TimmConfig) and not pretrained:
        settings = replace(settings, pretrained=False)
    if isinstance(data, GraphsSummary | NodesSummary):
        assert isinstance(settings, GraphEncoderConfig)
        return settings.build(inputs=len(data.columns))
    if isinstance(data, VolumesSummary):
        assert isinstance(settings, ResNet3DConfig)
        return settings.build(size=data.size)
    if isinstance(data, ImagesSummary):
        if isinstance(settings, TransformersConfig):
            assert isinstance(assets, ModelDescription)
            return settings.build_for_images(assets, channels=data.channels, size=data.size)
        # The configuration refuses these.
        assert not isinstance(settings, TextEncoderConfig | GraphEncoderConfig | ResNet3DConfig)
        return settings.build(channels=data.channels, size=data.size)
    tokenizer = tokenizer_of(assets)
    words = 0 if tokenizer is None else len(tokenizer)
    if words != data.vocabulary:
        raise ValueError(f"expected the run's vocabulary of {data.vocabulary} words, got one of {words}")
    if isinstance(settings, BagOfWordsConfig):
        return settings.build(vocabulary_size=words)
    if isinstance(settings, SentenceEncoderConfig):
        assert isinstance(assets, Vocabulary | Subwords)
        return settings.build(assets.words, pretrained=pretrained)
    assert isinstance(settings, TransformersConfig)
    assert isinstance(assets, ModelDescription)
    encoder = settings.build_for_texts(assets)
    if isinstance(config.training.positives, SameInstance) and not encoder.has_dropout():
        raise ValueError(
            f"a sentence that is its own positive teaches nothing without dropout, and "
            f"{settings.name_or_path} has none: choose positives=SameClass() or Neighbors()"
        )
    return encoder
