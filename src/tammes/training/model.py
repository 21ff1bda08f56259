"""The network of a run: an encoder, and the projection head that training puts behind it."""

import torch
from torch import Tensor, nn

from tammes.encoders import Encoder, ProjectionHead
from tammes.training.config import RunConfig
from tammes.training.seeds import Purpose, derive


class Model(nn.Module):
    """An encoder and its projection head.

    Example:
        >>> from tammes.encoders import ConvNetConfig, ProjectionHeadConfig
        >>> encoder = ConvNetConfig(width=8).build(channels=1, size=8)
        >>> model = Model(encoder, ProjectionHeadConfig(dim=16).build(encoder.features))
        >>> features, embeddings = model(torch.rand(4, 1, 8, 8))
        >>> tuple(embeddings.shape)
        (4, 16)
    """

    def __init__(self, encoder: Encoder, head: ProjectionHead) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """From images (batch, channels, size, size) in [0, 1] to features and embeddings, a row for each."""
        features = self.encoder(images)
        return features, self.head(features)


def build_model(config: RunConfig) -> Model:
    """The network of a configuration with its first weights, which depend on the seed alone.

    Args:
        config: of the run.

    Raises:
        ValueError: where the encoder cannot take images of this size.
    """
    training, images = config.training, config.images
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(training.seed, Purpose.WEIGHTS))
        encoder = training.encoder.build(channels=images.channels, size=images.size)
        return Model(encoder, training.head.build(features=encoder.features))
