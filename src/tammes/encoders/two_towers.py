"""Two encoders of sentences: one for a sentence, one for the contexts it is compared with."""

from __future__ import annotations

from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor, nn

from tammes.data.subwords import Tokenization
from tammes.data.tokens import Tokens
from tammes.encoders.gru import GRUConfig
from tammes.encoders.sentence_encoder import SentenceEncoder
from tammes.encoders.text_transformer import TextTransformerConfig
from tammes.encoders.transformers import TransformersTowers
from tammes.encoders.transformers_config import TransformersConfig


@dataclass(frozen=True, kw_only=True)
class TwoTowersConfig:
    """Two networks f and g over the same words, for a sentence and for its contexts.

    The features are [f(x), g(x)]. Positives from the sentences around (`Adjacent`) compare f of a sentence
    with g of the others, and those of a table (`GivenPairs`) f of an anchor with g of its positive and of the
    negatives; other positives compare the features. Two models of transformers are
    `TransformersConfig(towers=2)`.

    Args:
        tower: Network of each.

    Raises:
        ValueError: a tower of another kind.

    Source: Logeswaran and Lee, An efficient framework for learning sentence representations, 2018. Differs:
    the two networks share the embeddings of words, where the published code learns two tables.

    Example:
        >>> TwoTowersConfig(tower=GRUConfig(width=8)).build(words=("[UNK]", "cat")).features
        16
    """

    tower: GRUConfig | TextTransformerConfig = field(default_factory=GRUConfig)

    def __post_init__(self) -> None:
        if not isinstance(self.tower, GRUConfig | TextTransformerConfig):
            raise ValueError(
                f"tower must be GRUConfig() or TextTransformerConfig(), got {self.tower!r}: two models of "
                "transformers are TransformersConfig(towers=2)"
            )

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


class Tower(nn.Module):
    """One of the two networks of an encoder, by itself.

    Args:
        encoder: encoder of two towers.
        number: 0 for f, 1 for g.

    Example:
        >>> import torch
        >>> encoder = TwoTowersConfig(tower=GRUConfig(width=8)).build(words=("[UNK]", "cat"))
        >>> Tower(encoder, 1)(Tokens(torch.tensor([1, 1]), torch.tensor([0, 2]))).shape
        torch.Size([1, 8])
    """

    def __init__(self, encoder: SentenceEncoder | TransformersTowers, number: int) -> None:
        super().__init__()
        self.encoder, self.number = encoder, number

    def forward(self, tokens: Tokens) -> Float[Tensor, "batch d"]:
        """Return the vectors of sentences."""
        return self.encoder.of_tower(tokens, self.number)


def has_two_towers(encoder: object) -> bool:
    """Return whether the features of an encoder with these settings are those of two networks f and g.

    Example:
        >>> has_two_towers(TwoTowersConfig()), has_two_towers(GRUConfig())
        (True, False)
    """
    if isinstance(encoder, TransformersConfig):
        return encoder.towers == 2
    return isinstance(encoder, TwoTowersConfig)
