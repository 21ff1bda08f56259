"""A small transformer over sentences: tokens attend to each other, and their mean is the sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout
from typing_extensions import override

from tammes.checks import check_integer, check_number
from tammes.data.subwords import BytePairs, Tokenization
from tammes.data.tokens import Tokens
from tammes.encoders.attention import EXPANSION, attend
from tammes.encoders.sentence_encoder import SentenceNetwork, SentenceNetworkConfig

BUCKET = 32
"""Sentences of about one length that are padded to the longest of them."""
BASE = 10_000.0
"""Ratio of the slowest wavelength of rotary positions to the quickest."""


class TextTransformer(SentenceNetwork):
    """Transformer over sentences, normalized before each branch; a sentence is the mean of its tokens.

    Sentences of about one length go through the network together, so that little time goes into padding,
    which is masked: a vector does not depend on the other sentences, up to rounding.

    Args:
        width: width of the tokens.
        depth: number of blocks.
        heads: number of heads, each of an even width.
        max_length: tokens of the longest sentence, where positions are learned.
        positions: "rotary" turns queries and keys by angles that grow with the position, "learned" adds a
            vector for each position.
        dropout: share of the entries of each branch that training sets to zero.

    Source: Vaswani et al. (2017); Su et al., RoFormer, 2021, for rotary positions.

    Example:
        >>> network = TextTransformer(8, depth=1, heads=2, max_length=4)
        >>> network(torch.randn(3, 8), Tokens(torch.tensor([1, 2, 1]), torch.tensor([0, 2, 3]))).shape
        torch.Size([2, 8])
    """

    def __init__(
        self,
        width: int,
        *,
        depth: int,
        heads: int,
        max_length: int,
        positions: Literal["rotary", "learned"] = "rotary",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.features, self.heads = width, heads
        self.positions = nn.Embedding(max_length, width) if positions == "learned" else None
        if self.positions is not None:
            nn.init.normal_(self.positions.weight, std=width**-0.5)
        self.blocks = nn.ModuleList(_Block(width, heads=heads, dropout=dropout) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    @override
    def forward(self, embedded: Float[Tensor, "u width"], tokens: Tokens) -> Float[Tensor, "batch features"]:
        order = tokens.lengths.argsort(stable=True)
        vectors = [self._bucket(embedded, tokens, rows) for rows in order.split(BUCKET)]
        return torch.cat(vectors)[order.argsort()]

    def _bucket(self, embedded: Tensor, tokens: Tokens, rows: Int[Tensor, " b"]) -> Tensor:
        lengths = tokens.lengths[rows]
        place = torch.arange(int(lengths.max()), device=lengths.device)
        is_token = place < lengths[:, None]  # (b, longest)
        at = torch.where(is_token, tokens.offsets[rows][:, None] + place, 0)
        x = embedded[tokens.ids[at]]  # (b, longest, width)
        if self.positions is not None:
            x = x + self.positions(place)
        angles = None if self.positions is not None else _angles(place, self.features // self.heads)
        mask = None if bool(is_token.all()) else is_token[:, None, None, :]
        for block in self.blocks:
            x = block(x, mask, angles)
        x = self.norm(x).masked_fill(~is_token[:, :, None], 0.0)
        return x.sum(dim=1) / lengths[:, None]


class _Block(nn.Module):
    """Attention and a perceptron, each normalized before and beside a shortcut."""

    def __init__(self, width: int, *, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inputs, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.perceptron = nn.Sequential(
            nn.Linear(width, EXPANSION * width), nn.GELU(), nn.Linear(EXPANSION * width, width)
        )

    def forward(
        self,
        x: Float[Tensor, "b longest width"],
        mask: Bool[Tensor, "b 1 1 longest"] | None,
        angles: Float[Tensor, "longest half"] | None,
    ) -> Float[Tensor, "b longest width"]:
        """Return the tokens after both branches."""
        x = x + dropout(self._attention(self.first_norm(x), mask, angles), self.dropout, self.training)
        return x + dropout(self.perceptron(self.second_norm(x)), self.dropout, self.training)

    def _attention(self, x: Tensor, mask: Tensor | None, angles: Tensor | None) -> Tensor:
        # (b, longest, 3 width) -> 3 x (b, heads, longest, width / heads)
        queries, keys, values = self.inputs(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if angles is not None:
            queries, keys = _turned(queries, angles), _turned(keys, angles)
        mixed = attend(queries, keys, values, mask)
        return self.output(mixed.transpose(1, 2).flatten(2))


def _angles(place: Int[Tensor, " longest"], width: int) -> Float[Tensor, "longest half"]:
    """Return the angle of each position for each pair of the entries of a head."""
    pair = torch.arange(width // 2, device=place.device)
    return place[:, None] * BASE ** (-2 * pair / width)


def _turned(x: Float[Tensor, "b heads longest width"], angles: Float[Tensor, "longest half"]) -> Tensor:
    """Turn pairs of entries; the product of a query and a key depends on the distance of their positions."""
    first, second = x.chunk(2, dim=-1)
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], dim=-1)


@dataclass(frozen=True, kw_only=True)
class TextTransformerConfig(SentenceNetworkConfig):
    """Settings of a small transformer over sentences, and of their tokens.

    Args:
        width: Width of the tokens and of the features.
        depth: Number of blocks.
        heads: Number of heads, each of an even width.
        positions: Rotary positions, or learned ones.
        tokens: How text becomes tokens.
        vectors: File of word vectors in the text form of word2vec or fastText, with which the embeddings
            begin.
        max_length: Tokens of the longest sentence; the rest is cut off.
        dropout: Share of the entries of embedded tokens and of branches that training sets to zero.

    Raises:
        ValueError: a number below 1, heads that do not divide the width into even parts, unknown positions,
            a dropout outside [0, 1).

    Example:
        >>> TextTransformerConfig(width=8, heads=2).build(words=("[UNK]", "cat")).features
        8
    """

    width: int = 256
    depth: int = 4
    heads: int = 4
    positions: Literal["rotary", "learned"] = "rotary"
    tokens: Tokenization = field(default_factory=BytePairs)
    vectors: str | None = None
    max_length: int = 64
    dropout: float = 0.1

    def __post_init__(self) -> None:
        for name in ("width", "depth", "heads", "max_length"):
            check_integer(name, getattr(self, name))
        if self.width % (2 * self.heads):
            raise ValueError(
                f"heads must divide the width into even parts, got {self.heads} heads of {self.width}"
            )
        if self.positions not in ("rotary", "learned"):
            raise ValueError(f'positions must be "rotary" or "learned", got {self.positions!r}')
        check_number("dropout", self.dropout, minimum=0, below=1)

    @property
    @override
    def width_of_words(self) -> int:
        return self.width

    @override
    def network(self) -> TextTransformer:
        return TextTransformer(
            self.width,
            depth=self.depth,
            heads=self.heads,
            max_length=self.max_length,
            positions=self.positions,
            dropout=self.dropout,
        )
