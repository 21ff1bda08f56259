"""Training data in the form in which the loop reads them: rows in batches, images or sentences alike."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tammes.data.images import Images, as_floats
from tammes.data.texts import Texts
from tammes.data.tokens import Tokens
from tammes.data.vocabulary import Vocabulary
from tammes.encoders import BagOfWordsConfig
from tammes.training.config import ImagesSummary, TextsSummary, TrainingConfig

Data = Images | Texts
Inputs = Tensor | Tokens


@dataclass(frozen=True, kw_only=True, eq=False)
class Examples:
    """Data and, for texts, their tokens; all that the loop knows of the kind of data.

    Pixels travel as bytes from the worker processes to the device, where `to_inputs` makes floats of them.
    Token ids are held in memory.

    Args:
        data: n images or n sentences.
        vocabulary: vocabulary of the texts; None for images.
        tokens: token ids of the texts; None for images.

    Example:
        >>> from tammes.data import digits
        >>> examples = Examples.of(digits("train"))
        >>> examples.batch([0, 1]).dtype, to_inputs(examples.batch([0, 1])).shape
        (torch.uint8, torch.Size([2, 1, 8, 8]))
        >>> texts = Texts(sentences=("a cat", "a dog"), names=("1", "2"))
        >>> examples = Examples.of(texts, Vocabulary.of(texts.sentences, minimum_count=1))
        >>> examples.batch([1, 0, 1])
        Tokens(3 sentences, 6 tokens)
    """

    data: Data
    vocabulary: Vocabulary | None = None
    tokens: Tokens | None = None

    @classmethod
    def of(cls, data: Data, vocabulary: Vocabulary | None = None) -> "Examples":
        """Prepare data for a model: texts for one with a vocabulary, images for one without.

        Raises:
            ValueError: for data of the other kind.
        """
        if isinstance(data, Texts):
            if vocabulary is None:
                raise ValueError(
                    f"this model was trained on images, but the data are {data!r}: give it images"
                )
            return cls(data=data, vocabulary=vocabulary, tokens=vocabulary.encode(data.sentences))
        if vocabulary is not None:
            raise ValueError(f"this model was trained on texts, but the data are {data!r}: give it texts")
        return cls(data=data)

    @classmethod
    def for_training(cls, data: Data, config: TrainingConfig) -> "Examples":
        """Prepare data for a new run; the vocabulary of texts is built here.

        Args:
            data: images or texts.
            config: configuration of the run, whose encoder takes one or the other.

        Raises:
            ValueError: for images if the encoder takes texts, or the other way round; for texts without a
                word that is frequent enough.
            ImportError: for texts if `tokenizers` is not installed.
        """
        encoder = config.encoder
        if not isinstance(encoder, BagOfWordsConfig):
            if isinstance(data, Texts):
                raise ValueError(
                    f"{encoder!r} takes images, got {data!r}: choose BagOfWordsConfig() as the encoder"
                )
            return cls.of(data)
        if not isinstance(data, Texts):
            raise ValueError(f"a bag of words takes texts, got {data!r}: choose an encoder of images")
        count, lowercase = encoder.minimum_count, encoder.lowercase
        return cls.of(data, Vocabulary.of(data.sentences, minimum_count=count, lowercase=lowercase))

    def __len__(self) -> int:
        return len(self.data)

    @property
    def labels(self) -> Tensor | None:
        """int64 (n,), the class of each row; None if the data have no labels."""
        return self.data.labels

    @property
    def digest(self) -> str:
        """Checksum of names and labels."""
        digest = hashlib.sha256("\0".join(self.data.names).encode(errors="surrogateescape"))
        if self.labels is not None:
            digest.update(self.labels.numpy().tobytes())
        return digest.hexdigest()[:12]

    def batch(self, rows: Sequence[int]) -> Inputs:
        """Read rows as they are stored: pixels in bytes, or token ids."""
        if self.tokens is not None:
            return self.tokens.take(torch.tensor(rows, dtype=torch.int64))
        assert isinstance(self.data, Images)
        return self.data.batch(rows)

    def summary(self, source: str) -> ImagesSummary | TextsSummary:
        """Return the description of the data that stands in config.yaml."""
        if isinstance(self.data, Images):
            return ImagesSummary.of(self.data, source)
        assert self.vocabulary is not None
        return TextsSummary.of(self.data, self.vocabulary, source)


def to_inputs(stored: Inputs) -> Inputs:
    """Turn stored rows into an encoder's inputs: bytes into floats in [0, 1], tokens as they are."""
    return as_floats(stored) if isinstance(stored, Tensor) else stored


def concatenate(first: Inputs, second: Inputs) -> Inputs:
    """Concatenate two batches of inputs of one kind along their rows."""
    if isinstance(first, Tokens):
        assert isinstance(second, Tokens)
        return Tokens.cat([first, second])
    assert isinstance(second, Tensor)
    return torch.cat([first, second])
