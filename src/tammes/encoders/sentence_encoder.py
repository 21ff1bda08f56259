"""Encoders of sentences that read words in their order: embeddings of words, then one network or two."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import dropout

from tammes.data.tokens import Tokens
from tammes.data.word_vectors import read_word_vectors
from tammes.encoders.encoder import Encoder


class SentenceNetwork(nn.Module, ABC):
    """Network from the embedded words of sentences to a vector for each sentence.

    Tokens are rows of the embedded words: a word that occurs twice is embedded once.

    Attributes:
        features: width of the vectors.
    """

    features: int

    @abstractmethod
    def forward(self, embedded: Float[Tensor, "u width"], tokens: Tokens) -> Float[Tensor, "batch features"]:
        """Return a vector for each sentence.

        Args:
            embedded: embedded words.
            tokens: the sentences, as rows of the embedded words.
        """


class SentenceEncoder(Encoder):
    """Embeddings of words, and networks whose vectors are concatenated.

    With one network it is an encoder of sentences; with two, f and g, the first half of the features is f's
    vector of the sentence, the second half g's, by which quick-thoughts compares a sentence with contexts.

    Args:
        words: embeddings of the words.
        networks: one network, or f and g.
        max_length: tokens of the longest sentence; the rest is cut off.
        dropout: share of the entries of embedded words that training sets to zero.

    Attributes:
        towers: number of networks.

    Example:
        >>> from tammes.encoders import GRUConfig
        >>> encoder = GRUConfig(width=4, embedding=3).build(words=("[UNK]", "cat", "purrs"))
        >>> encoder(Tokens(torch.tensor([1, 2, 1]), torch.tensor([0, 2, 3]))).shape
        torch.Size([2, 4])
    """

    def __init__(
        self, words: nn.Embedding, *networks: SentenceNetwork, max_length: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.words = words
        self.networks = nn.ModuleList(networks)
        self.towers = len(networks)
        self.max_length = max_length
        self.dropout = dropout
        self.features = sum(network.features for network in networks)

    def forward(self, tokens: Tokens) -> Float[Tensor, "batch features"]:
        """Return the features of sentences.

        Raises:
            ValueError: a sentence without tokens, whose mean would be no number.
        """
        return self._features(tokens, self.networks)

    def of_tower(self, tokens: Tokens, tower: int) -> Float[Tensor, "batch d"]:
        """Return the vectors of one network: 0 for f, 1 for g."""
        return self._features(tokens, [self.networks[tower]])

    def _features(self, tokens: Tokens, networks: nn.ModuleList | list[nn.Module]) -> Tensor:
        if len(tokens) == 0:  # networks count their steps by the longest sentence
            return self.words.weight[:0, :1].expand(-1, self.features // self.towers * len(networks))
        tokens = tokens.cut(self.max_length)
        if len(empty := (tokens.lengths == 0).nonzero()):
            raise ValueError(f"expected at least one token in each sentence, got none in row {int(empty[0])}")
        if self.training and self.dropout:  # drawn for each token
            embedded = dropout(self.words(tokens.ids), self.dropout)
            rows = torch.arange(len(tokens.ids), device=tokens.ids.device)
        else:
            words, rows = tokens.ids.unique(return_inverse=True)
            embedded = self.words(words)
        tokens = Tokens(rows, tokens.offsets)
        vectors = [network(embedded, tokens) for network in networks]
        return vectors[0] if len(vectors) == 1 else torch.cat(vectors, dim=1)

    def has_dropout(self) -> bool:
        """Return whether two passes over one sentence differ in training."""
        one = Tokens(torch.tensor([0, 0]), torch.tensor([0, 2]))
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            first, second = self(one), self(one)
        return not torch.equal(first, second)


def embeddings_of(words: tuple[str, ...], dim: int, vectors: str | None) -> nn.Embedding:
    """Return the embeddings of words, drawn, or read from a file.

    They are drawn from a normal distribution of variance 1 / dim, so that an embedded word has a length of
    about 1. Words that the file lacks are drawn with the variance of those that it has.

    Args:
        words: words of the vocabulary in the order of their ids.
        dim: width of the embeddings.
        vectors: path of a file in the text form of word2vec or fastText; None for none.

    Raises:
        ValueError: a file with vectors of another width, or without any of the words.
    """
    embedding = nn.Embedding(len(words), dim)
    nn.init.normal_(embedding.weight, std=dim**-0.5)
    if vectors is None:
        return embedding
    found = read_word_vectors(vectors, words, dim=dim)
    with torch.no_grad():
        embedding.weight.mul_(found.vectors.std() * dim**0.5)
        embedding.weight[found.rows] = found.vectors
    return embedding


class SentenceNetworkConfig(ABC):
    """Settings of a network over embedded words, and of these: what `GRUConfig` and others share.

    Attributes:
        vectors: file of word vectors with which the embeddings begin; None for none.
        max_length: tokens of the longest sentence.
        dropout: share of the entries of embedded words that training sets to zero.
    """

    vectors: str | None
    max_length: int
    dropout: float

    @property
    @abstractmethod
    def width_of_words(self) -> int:
        """Width of the embedded words."""

    @abstractmethod
    def network(self) -> SentenceNetwork:
        """Return one network with weights from torch's generator."""

    def build(self, words: tuple[str, ...], *, towers: int = 1, pretrained: bool = True) -> SentenceEncoder:
        """Build the encoder with weights from torch's generator.

        Args:
            words: tokens of the vocabulary in the order of their ids.
            towers: number of networks whose vectors are concatenated.
            pretrained: whether to read the file of word vectors; False if other weights will follow.

        Raises:
            ValueError: word vectors of another width, or of none of the words.
        """
        return SentenceEncoder(
            embeddings_of(words, self.width_of_words, self.vectors if pretrained else None),
            *(self.network() for _ in range(towers)),
            max_length=self.max_length,
            dropout=self.dropout,
        )
