"""The network of a run: an encoder, its projection head, and the vocabulary of a model of texts."""

import torch
from torch import Tensor, nn

from tammes.data.tokens import Tokens
from tammes.data.vocabulary import Vocabulary
from tammes.encoders import BagOfWordsConfig, Encoder, ProjectionHead
from tammes.training.config import ImagesSummary, RunConfig
from tammes.training.seeds import Purpose, derive


class Model(nn.Module):
    """Encoder and projection head.

    Args:
        encoder: network from inputs to features.
        head: network from features to embeddings; None if the objective compares the features.
        vocabulary: vocabulary of a model of texts; None for images.

    Example:
        >>> from tammes.encoders import ConvNetConfig, ProjectionHeadConfig
        >>> encoder = ConvNetConfig(width=8).build(channels=1, size=8)
        >>> model = Model(encoder, ProjectionHeadConfig(dim=16).build(encoder.features))
        >>> features, embeddings = model(torch.rand(4, 1, 8, 8))
        >>> tuple(embeddings.shape)
        (4, 16)
    """

    def __init__(
        self, encoder: Encoder, head: ProjectionHead | None, vocabulary: Vocabulary | None = None
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Identity() if head is None else head
        self.dim = encoder.features if head is None else head.dim
        self.vocabulary = vocabulary

    def forward(self, inputs: Tensor | Tokens) -> tuple[Tensor, Tensor]:
        """Return features (batch, features) and embeddings (batch, dim).

        Args:
            inputs: images (batch, channels, size, size) in [0, 1], or sentences as tokens.
        """
        features = self.encoder(inputs)
        return features, self.head(features)


def build_model(config: RunConfig, vocabulary: Vocabulary | None = None) -> Model:
    """Build the network of a configuration with its initial weights, which depend on the seed alone.

    Args:
        config: configuration of the run.
        vocabulary: vocabulary of a run on texts.

    Raises:
        ValueError: if the encoder cannot take images of this size, or the vocabulary is not the run's.
    """
    training = config.training
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(training.seed, Purpose.WEIGHTS))
        encoder = _build_encoder(config, vocabulary)
        head = None if training.head is None else training.head.build(features=encoder.features)
        return Model(encoder, head, vocabulary)


def _build_encoder(config: RunConfig, vocabulary: Vocabulary | None) -> Encoder:
    settings, data = config.training.encoder, config.data
    if isinstance(data, ImagesSummary):
        assert not isinstance(settings, BagOfWordsConfig)  # the configuration refuses it
        return settings.build(channels=data.channels, size=data.size)
    assert isinstance(settings, BagOfWordsConfig)
    words = 0 if vocabulary is None else len(vocabulary)
    if words != data.vocabulary:
        raise ValueError(f"expected the run's vocabulary of {data.vocabulary} words, got one of {words}")
    return settings.build(vocabulary_size=words)
