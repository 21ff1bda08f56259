"""What a run learns from, as the loop sees it: rows to be read in batches, images or sentences alike."""

import hashlib
from abc import ABC, abstractmethod
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


class Examples(ABC):
    """Data that the loop can read: everything it knows of whether they are images or sentences.

    What is read by `batch` may be made in another process, and is sent to the device as it is; `inputs`
    makes of it, there, what an encoder takes.
    """

    @property
    @abstractmethod
    def data(self) -> Data:
        """What is read."""

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary | None:
        """By which texts are read; None where there is nothing to read."""

    @abstractmethod
    def batch(self, rows: Sequence[int]) -> Inputs:
        """These rows as they are stored."""

    @abstractmethod
    def inputs(self, stored: Inputs) -> Inputs:
        """What was stored as an encoder takes it."""

    @abstractmethod
    def together(self, first: Inputs, second: Inputs) -> Inputs:
        """Both, one after the other, for an encoder that takes them in one pass."""

    @abstractmethod
    def summary(self, source: str) -> ImagesSummary | TextsSummary:
        """What is written down about them in the run's folder."""

    def __len__(self) -> int:
        return len(self.data)

    @property
    def labels(self) -> Tensor | None:
        """int64 (n,), the class of each row, where it is known."""
        return self.data.labels

    @property
    def digest(self) -> str:
        """Of names and labels: other data have another."""
        digest = hashlib.sha256("\0".join(self.data.names).encode(errors="surrogateescape"))
        if self.labels is not None:
            digest.update(self.labels.numpy().tobytes())
        return digest.hexdigest()[:12]


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageExamples(Examples):
    """Images, whose pixels travel as bytes.

    Args:
        images: the images.

    Example:
        >>> from tammes.data import digits
        >>> examples = ImageExamples(images=digits("train"))
        >>> examples.batch([0, 1]).dtype, examples.inputs(examples.batch([0, 1])).shape
        (torch.uint8, torch.Size([2, 1, 8, 8]))
    """

    images: Images

    @property
    def data(self) -> Images:
        return self.images

    @property
    def vocabulary(self) -> None:
        return None

    def batch(self, rows: Sequence[int]) -> Tensor:
        return self.images.batch(rows)

    def inputs(self, stored: Inputs) -> Tensor:
        assert isinstance(stored, Tensor)
        return as_floats(stored)

    def together(self, first: Inputs, second: Inputs) -> Tensor:
        assert isinstance(first, Tensor)
        assert isinstance(second, Tensor)
        return torch.cat([first, second])

    def summary(self, source: str) -> ImagesSummary:
        return ImagesSummary.of(self.images, source)


@dataclass(frozen=True, kw_only=True, eq=False)
class TextExamples(Examples):
    """Sentences as token ids, which are all held in memory.

    Args:
        texts: the sentences.
        known_words: the vocabulary by which they are read.
        tokens: the sentences, so read.

    Example:
        >>> texts = Texts(sentences=("a cat", "a dog"), names=("1", "2"))
        >>> examples = TextExamples.of(texts, Vocabulary.of(texts.sentences, minimum_count=1))
        >>> examples.batch([1, 0, 1])
        Tokens(3 sentences, 6 tokens)
    """

    texts: Texts
    known_words: Vocabulary
    tokens: Tokens

    @property
    def data(self) -> Texts:
        return self.texts

    @property
    def vocabulary(self) -> Vocabulary:
        return self.known_words

    @classmethod
    def of(cls, texts: Texts, vocabulary: Vocabulary) -> "TextExamples":
        """The sentences, read by this vocabulary."""
        return cls(texts=texts, known_words=vocabulary, tokens=vocabulary.encode(texts.sentences))

    def batch(self, rows: Sequence[int]) -> Tokens:
        return self.tokens.take(torch.tensor(rows, dtype=torch.int64))

    def inputs(self, stored: Inputs) -> Inputs:
        return stored

    def together(self, first: Inputs, second: Inputs) -> Tokens:
        assert isinstance(first, Tokens)
        assert isinstance(second, Tokens)
        return Tokens.cat([first, second])

    def summary(self, source: str) -> TextsSummary:
        return TextsSummary.of(self.texts, self.vocabulary, source)


def examples_of(data: Data, vocabulary: Vocabulary | None) -> Examples:
    """Data as a trained model reads them.

    Args:
        data: images or texts.
        vocabulary: of a model that reads texts; None where it takes images.

    Raises:
        ValueError: for data of the other kind.
    """
    if isinstance(data, Texts):
        if vocabulary is None:
            raise ValueError(f"this model was trained on images, but the data are {data!r}: give it images")
        return TextExamples.of(data, vocabulary)
    if vocabulary is not None:
        raise ValueError(f"this model was trained on texts, but the data are {data!r}: give it texts")
    return ImageExamples(images=data)


def learned_from(data: Data, config: TrainingConfig) -> Examples:
    """Data as a new run reads them: the vocabulary of texts is made here.

    Args:
        data: images or texts.
        config: of the run; its encoder says what it takes.

    Raises:
        ValueError: for images where the encoder takes texts, or the other way round; for texts of which no
            word is frequent enough.
        ImportError: for texts where `tokenizers` is not installed.
    """
    encoder = config.encoder
    if isinstance(encoder, BagOfWordsConfig):
        if not isinstance(data, Texts):
            raise ValueError(f"a bag of words takes texts, got {data!r}: choose an encoder of images")
        vocabulary = Vocabulary.of(
            data.sentences, minimum_count=encoder.minimum_count, lowercase=encoder.lowercase
        )
        return TextExamples.of(data, vocabulary)
    if isinstance(data, Texts):
        raise ValueError(f"{encoder!r} takes images, got {data!r}: choose BagOfWordsConfig() as the encoder")
    return ImageExamples(images=data)
