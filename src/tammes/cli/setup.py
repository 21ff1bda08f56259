"""What is trained on which pairs, from the shell: settings whose usual values follow from the data."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

import tyro

from tammes.cli.data import Split
from tammes.cli.encoder import Encoder
from tammes.cli.images import size_and_channels, usual_augmentation
from tammes.cli.positives import Positives
from tammes.data import Texts
from tammes.encoders import BagOfWordsConfig, ConvNetConfig, ProjectionHeadConfig, ResNetConfig
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
from tammes.training import Data

AnyEncoder = ConvNetConfig | ResNetConfig | BagOfWordsConfig
Augmentation = (
    Annotated[
        Photographs,
        tyro.conf.subcommand("photographs", default=Photographs(), description="Crops, flips and colors."),
    ]
    | Annotated[
        Handwriting,
        tyro.conf.subcommand("handwriting", default=Handwriting(), description="Shifts, rotations, noise."),
    ]
    | Annotated[
        Identity,
        tyro.conf.subcommand(
            "identity", default=Identity(), description="None, where the positive is another image."
        ),
    ]
    | Annotated[
        None, tyro.conf.subcommand("usual", default=None, description="What suits the data; none for texts.")
    ]
)


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What is trained on which pairs.

    Args:
        size: Height and width that images are scaled and cropped to, in pixels (a folder's default is 32).
        channels: 3 for color, 1 for gray (a folder's default is 3).
        encoder: The network whose features are wanted; by default `bag-of-words` for texts.
        head: The small network between features and compared embeddings.
        no_head: Leave the head out: the features themselves are compared.
        augmentation: How views of images are made; by default `handwriting` for the digits, else
            `photographs`.
        positives: What the second view of a pair shows; by default the image itself, of texts another
            sentence of the same document, or where documents are not known the sentence beside it.
    """

    size: int | None = None
    channels: Literal[1, 3] | None = None
    encoder: Encoder = None
    head: ProjectionHeadConfig = field(default_factory=ProjectionHeadConfig)
    no_head: bool = False
    augmentation: Augmentation = None
    positives: Positives = None

    def load(self, source: Split) -> tuple[Data, Data | None]:
        """The data to learn from, and those to measure on where there are labels.

        Raises:
            ValueError: for settings of images where the data are texts, or the other way round.
        """
        if source.are_texts:
            self._expect_texts(source.data)
            return source.split_texts()
        size, channels = size_and_channels(source.data, self.size, self.channels)
        images = source.split_images(size=size, channels=channels)
        if isinstance(self.encoder, BagOfWordsConfig):
            raise ValueError(f"encoder:bag-of-words is for texts, but {source.data} holds images")
        return images

    def _expect_texts(self, name: str) -> None:
        given = {"--size": self.size, "--channels": self.channels, "augmentation:": self.augmentation}
        named = [flag for flag, value in given.items() if value is not None]
        if self.encoder is not None and not isinstance(self.encoder, BagOfWordsConfig):
            named.append("that encoder:")
        if named:
            raise ValueError(f"{', '.join(named)} is for images, but {name} holds texts: leave it out")

    def encoder_for(self, data: Data, *, usual: ConvNetConfig | ResNetConfig) -> AnyEncoder:
        """The encoder that was asked for, or what suits the data.

        Args:
            data: what is learned from.
            usual: the encoder of images.
        """
        return self.encoder or (BagOfWordsConfig() if isinstance(data, Texts) else usual)

    def augmentation_for(self, data: Data, name: str) -> Photographs | Handwriting | Identity | None:
        """The augmentation that was asked for, or what suits the data of this name."""
        return None if isinstance(data, Texts) else self.augmentation or usual_augmentation(name)

    def positives_for(self, data: Data) -> SameInstance | SameClass | Neighbors | Active | Targeted:
        """The positives that were asked for, or what suits the data."""
        if self.positives is not None:
            return self.positives
        if not isinstance(data, Texts):
            return SameInstance()
        return Neighbors() if data.labels is None else SameClass()

    @property
    def used_head(self) -> ProjectionHeadConfig | None:
        """The head, unless it is left out."""
        return None if self.no_head else self.head
