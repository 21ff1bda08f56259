"""Gated recurrent units: a sentence as the state behind its last word, or pooled over its words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence
from typing_extensions import override

from tammes.checks import check_integer, check_number
from tammes.data.subwords import Tokenization, Words
from tammes.data.tokens import Tokens
from tammes.encoders.recurrence import recurrence
from tammes.encoders.sentence_encoder import SentenceNetwork, SentenceNetworkConfig

Pooled = Literal["final", "mean", "max"]


class GRU(SentenceNetwork):
    """Gated recurrent units, in one direction or both, over sentences without padding.

        r = s(W_r x + U_r h),   z = s(W_z x + U_z h),   n = tanh(W x + r (U h)),   h := (1 - z) n + z h

    Step t runs over the sentences of more than t words, the longest first, so that no time goes into padding.

    Args:
        inputs: width of the embedded words.
        width: units of each direction.
        bidirectional: whether a second network reads backward; the vectors are concatenated.
        pooling: "final" for the state behind the last word (of the backward network: the first), "mean" or
            "max" over the states of all words.

    Source: Cho et al., Learning Phrase Representations using RNN Encoder-Decoder, 2014.

    Example:
        >>> network = GRU(3, width=4, bidirectional=True)
        >>> network(torch.randn(3, 3), Tokens(torch.tensor([1, 2, 1]), torch.tensor([0, 2, 3]))).shape
        torch.Size([2, 8])
    """

    def __init__(
        self, inputs: int, *, width: int, bidirectional: bool = False, pooling: Pooled = "final"
    ) -> None:
        super().__init__()
        directions = 1 + bidirectional
        self.units = nn.ModuleList(nn.GRU(inputs, width) for _ in range(directions))
        self.pooling = pooling
        self.features = width * directions

    @override
    def forward(self, embedded: Float[Tensor, "u width"], tokens: Tokens) -> Float[Tensor, "batch features"]:
        vectors = [
            self._pooled(units, embedded, Packing.of(tokens, backward=direction == 1))
            for direction, units in enumerate(self.units)
        ]
        return vectors[0] if len(vectors) == 1 else torch.cat(vectors, dim=1)

    def _pooled(self, units: nn.Module, embedded: Tensor, packed: Packing) -> Tensor:
        assert isinstance(units, nn.GRU)
        if embedded.device.type == "cpu":
            ih, hh, bias_ih, bias_hh = units.parameters()
            weights, sizes = (ih, hh, bias_ih, bias_hh), packed.sizes.tolist()
            states, final = recurrence(embedded, packed.word, sizes, weights, every=self.pooling != "final")
        else:
            outputs, final = units(PackedSequence(embedded[packed.word], packed.sizes))
            states, final = outputs.data, final[0]
        if self.pooling == "final":
            return final[packed.by_length.argsort()]
        owner, count = packed.owner, len(packed.by_length)
        if self.pooling == "mean":
            sums = states.new_zeros(count, states.shape[1]).index_add(0, owner, states)
            return sums / torch.bincount(owner, minlength=count)[:, None]
        lowest = states.new_full((count, states.shape[1]), -torch.inf)
        return lowest.scatter_reduce(0, owner[:, None].expand_as(states), states, "amax")


@dataclass(frozen=True, kw_only=True)
class Packing:
    """Tokens in the order in which a recurrent network reads them: the first words of all sentences first.

    Attributes:
        word: `(total,)` token of each place.
        owner: `(total,)` sentence of each place.
        sizes: `(longest,)` number of sentences that have a t-th word; on the CPU.
        by_length: `(n,)` sentences, the longest first.
    """

    word: Int[Tensor, " total"]
    owner: Int[Tensor, " total"]
    sizes: Int[Tensor, " longest"]
    by_length: Int[Tensor, " n"]

    @staticmethod
    def of(tokens: Tokens, *, backward: bool = False) -> Packing:
        """Return the packing of sentences.

        Args:
            tokens: the sentences.
            backward: whether sentences are read from their last word to their first.

        Example:
            >>> Packing.of(Tokens(torch.tensor([7, 8, 9]), torch.tensor([0, 1, 3]))).word.tolist()
            [8, 7, 9]
        """
        lengths = tokens.lengths
        by_length = lengths.argsort(descending=True, stable=True)
        rank = by_length.argsort()
        owner = torch.arange(len(tokens), device=lengths.device).repeat_interleave(lengths)
        place = torch.arange(len(tokens.ids), device=lengths.device) - tokens.offsets[:-1][owner]
        sizes = torch.bincount(place).cpu()
        if backward:
            place = lengths[owner] - 1 - place
        order = (place * len(tokens) + rank[owner]).argsort()
        return Packing(word=tokens.ids[order], owner=owner[order], sizes=sizes, by_length=by_length)


@dataclass(frozen=True, kw_only=True)
class GRUConfig(SentenceNetworkConfig):
    """Settings of gated recurrent units over sentences, and of their words.

    Args:
        width: Units of each direction.
        embedding: Width of the embedded words.
        bidirectional: Whether a second network reads backward.
        pooling: How one vector is made of the states of all words: final, mean or max.
        tokens: How text becomes tokens.
        vectors: File of word vectors in the text form of word2vec or fastText, with which the embeddings
            begin.
        max_length: Tokens of the longest sentence; the rest is cut off.
        dropout: Share of the entries of embedded words that training sets to zero.

    Raises:
        ValueError: a width or length below 1, an unknown pooling, a dropout outside [0, 1).

    Example:
        >>> GRUConfig(width=8, bidirectional=True).build(words=("[UNK]", "cat")).features
        16
    """

    width: int = 256
    embedding: int = 256
    bidirectional: bool = False
    pooling: Pooled = "final"
    tokens: Tokenization = field(default_factory=Words)
    vectors: str | None = None
    max_length: int = 64
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("width", "embedding", "max_length"):
            check_integer(name, getattr(self, name))
        if self.pooling not in get_args(Pooled):
            raise ValueError(f"pooling must be one of {', '.join(get_args(Pooled))}, got {self.pooling!r}")
        check_number("dropout", self.dropout, minimum=0, below=1)

    @property
    @override
    def width_of_words(self) -> int:
        return self.embedding

    @override
    def network(self) -> GRU:
        return GRU(self.embedding, width=self.width, bidirectional=self.bidirectional, pooling=self.pooling)
