"""Two encoders of sentences: one for a sentence, one for the contexts it is compared with."""

from __future__ import annotations

from dataclasses import dataclass, field

from tammes.data.subwords import Tokenization
from tammes.encoders.gru import GRUConfig
from tammes.encoders.sentence_encoder import SentenceEncoder
from tammes.encoders.text_transformer import TextTransformerConfig


@dataclass(frozen=True, kw_only=True)
class TwoTowersConfig:
    """Two networks f and g over the same words, for a sentence and for its contexts.

    The features are [f(x), g(x)]. Positives from the sentences around (`Adjacent`) compare f of a sentence
    with g of the others; other positives compare the features.

    Args:
        tower: Network of each.

    Source: Logeswaran and Lee, An efficient framework for learning sentence representations, 2018. Differs:
    the two networks share the embeddings of words, where the published code learns two tables.

    Example:
        >>> TwoTowersConfig(tower=GRUConfig(width=8)).build(words=("[UNK]", "cat")).features
        16
    """

    tower: GRUConfig | TextTransformerConfig = field(default_factory=GRUConfig)

    @property
    def tokens(self) -> Tokenization:
        """How text becomes tokens."""
        return self.tower.tokens

    @property
    def max_length(self) -> int:
        """Tokens of the longest sentence."""
        return self.tower.max_length

    @property
    def dropout(self) -> float:
        """Share of entries that training sets to zero."""
        return self.tower.dropout

    def build(self, words: tuple[str, ...], *, pretrained: bool = True) -> SentenceEncoder:
        """Build the encoder with weights from torch's generator.

        Args:
            words: tokens of the vocabulary in the order of their ids.
            pretrained: whether to read the file of word vectors; False if other weights will follow.

        Raises:
            ValueError: word vectors of another width, or of none of the words.
        """
        return self.tower.build(words, towers=2, pretrained=pretrained)
