"""The block of a transformer: attention and a perceptron, each normalized before and beside a shortcut."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import scaled_dot_product_attention

EXPANSION = 4
"""Width of the perceptron's hidden layer over that of the tokens."""
SHORT = 256
"""Most tokens whose weights are kept: with heads 64 wide a fifth of what a block keeps without them."""
HAS_BFLOAT16 = torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()
"""Whether oneDNN multiplies bfloat16 matrices on this processor: elsewhere such products are slow."""


def attend(
    queries: Float[Tensor, "batch heads tokens part"],
    keys: Float[Tensor, "batch heads tokens part"],
    values: Float[Tensor, "batch heads tokens part"],
    mask: Bool[Tensor, "batch 1 1 tokens"] | None = None,
) -> Float[Tensor, "batch heads tokens part"]:
    """Return softmax(Q K^T / sqrt(part)) V of each head, by the quicker of two ways.

    torch's own kernel, `scaled_dot_product_attention`, keeps no weights. In bfloat16 on a CPU it takes two to
    seven times as long, gradient included, as products of matrices, which serve up to 256 tokens.

    Args:
        queries: what each token looks for.
        keys: what it is compared with.
        values: what it gets the mean of.
        mask: whether a token may be attended to, at least one of each example; None for all.

    Example:
        >>> one = torch.ones(1, 1, 2, 4)
        >>> attend(one, one, torch.arange(8.0).view(1, 1, 2, 4))[0, 0, 0].tolist()
        [2.0, 3.0, 4.0, 5.0]
    """
    is_short = HAS_BFLOAT16 and queries.device.type == "cpu" and queries.shape[2] <= SHORT
    if not is_short or queries.dtype != torch.bfloat16:
        return scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
    if mask is not None:
        mask = mask.expand(-1, queries.shape[1], -1, -1).flatten(0, 1)  # (batch heads, 1, tokens)
    with torch.autocast("cpu", enabled=False):
        each_head = (each.flatten(0, 1) for each in (queries, keys, values))  # (batch heads, tokens, part)
        mixed: Tensor = _WithWeights.apply(*each_head, mask)[0]  # type: ignore[no-untyped-call]
    return mixed.unflatten(0, queries.shape[:2])


class _WithWeights(torch.autograd.Function):
    """Attention that keeps its weights P, in bfloat16, for a gradient of four products.

    dV = P^T dO ,                 dP = dO V^T ,      dS_ij = P_ij (dP_ij - sum_k P_ik dP_ik)
    dQ = dS K / sqrt(part) ,      dK = dS^T Q / sqrt(part)
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        # The logits need float32, as in torch's kernel: bfloat16 is off by up to 0.25 at 100.
        scaled = queries.float().mul_(queries.shape[-1] ** -0.5)
        logits = scaled @ keys.float().mT
        if mask is not None:
            logits.masked_fill_(~mask, -torch.inf)
        weights = torch.softmax(logits, dim=-1).to(values.dtype)
        return weights @ values, weights

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
        queries, keys, values, _ = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(queries, keys, values, output[1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        queries, keys, values, weights = ctx.saved_tensors
        by_weights = gradient @ values.mT
        by_logits = torch._softmax_backward_data(by_weights, weights, -1, weights.dtype)
        scale = queries.shape[-1] ** -0.5
        by_queries, by_keys = (by_logits @ keys).mul_(scale), (by_logits.mT @ queries).mul_(scale)
        return by_queries, by_keys, weights.mT @ gradient, None


class Attention(nn.Module):
    """Attention of tokens to each other, with several heads.

        softmax( Q K^T / sqrt(width / heads) ) V        for each head

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
        mixed = attend(queries, keys, values)  # (batch, heads, tokens, width / heads)
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
