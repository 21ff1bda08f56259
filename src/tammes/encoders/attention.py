"""The block of a transformer: attention and a perceptron, each normalized before and beside a shortcut."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

EXPANSION = 4
"""Width of the perceptron's hidden layer over that of the tokens."""


class Attention(nn.Module):
    """Attention of tokens to each other, with several heads.

        softmax( Q K^T / sqrt(width / heads) ) V        for each head

    Memory is that of `torch.nn.functional.scaled_dot_product_attention`.

    Args:
        width: width of the tokens.
        heads: number of heads, which divides the width.

    Example:
        >>> Attention(8, heads=2)(torch.rand(3, 5, 8)).shape
        torch.Size([3, 5, 8])
    """

    def __init__(self, width: int, *, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inputs = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, tokens: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch tokens width"]:
        """Return, for each token, the values of all tokens in the mean that it attends to."""
        queries, keys, values = self._split(tokens)
        mixed = scaled_dot_product_attention(queries, keys, values)  # (batch, heads, tokens, width / heads)
        return self.output(mixed.transpose(1, 2).flatten(2))

    def weights(
        self, tokens: Float[Tensor, "batch tokens width"]
    ) -> Float[Tensor, "batch heads tokens tokens"]:
        """Return how much each token attends to each other one; rows sum to 1. Memory is quadratic."""
        queries, keys, _ = self._split(tokens)
        return torch.softmax(queries @ keys.mT / math.sqrt(queries.shape[-1]), dim=-1)

    def _split(self, tokens: Tensor) -> tuple[Tensor, ...]:
        # (batch, tokens, 3 width) -> 3 x (batch, heads, tokens, width / heads)
        return self.inputs(tokens).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)


class Block(nn.Module):
    """Block of a transformer, normalized before each branch.

        x := x + attention(LayerNorm(x)),        x := x + perceptron(LayerNorm(x))

    Args:
        width: width of the tokens.
        heads: number of heads, which divides the width.
        drop_path: share of examples for which a branch is left out in training; the others' branches are
            scaled to keep the mean (stochastic depth).

    Example:
        >>> Block(8, heads=2)(torch.rand(3, 5, 8)).shape
        torch.Size([3, 5, 8])
    """

    def __init__(self, width: int, *, heads: int, drop_path: float = 0.0) -> None:
        super().__init__()
        self.drop_path = drop_path
        self.first_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads=heads)
        self.second_norm = nn.LayerNorm(width)
        self.perceptron = nn.Sequential(
            nn.Linear(width, EXPANSION * width), nn.GELU(), nn.Linear(EXPANSION * width, width)
        )

    def forward(self, tokens: Float[Tensor, "batch tokens width"]) -> Float[Tensor, "batch tokens width"]:
        """Return the tokens after both branches."""
        tokens = tokens + self._kept(self.attention(self.first_norm(tokens)))
        return tokens + self._kept(self.perceptron(self.second_norm(tokens)))

    def _kept(self, branch: Tensor) -> Tensor:
        if not self.training or self.drop_path == 0:
            return branch
        keep = 1 - self.drop_path
        kept = torch.rand(len(branch), 1, 1, device=branch.device) < keep
        return branch * kept / keep
