"""The recurrence of gated recurrent units over packed sentences, with its gradient in a few products."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.amp import custom_bwd, custom_fwd
from torch.autograd.function import once_differentiable


def recurrence(
    inputs: Float[Tensor, "u inputs"],
    word: Int[Tensor, " total"],
    sizes: list[int],
    weights: tuple[Tensor, Tensor, Tensor, Tensor],
) -> tuple[Float[Tensor, "total width"], Float[Tensor, "n width"]]:
    """Return the state behind each word and behind the last word of each sentence; for a CPU.

        r = s(W_r x + U_r h),   z = s(W_z x + U_z h),   n = tanh(W x + r (U h)),   h := (1 - z) n + z h

    These are the states of `torch.nn.GRU`, up to rounding. It is quicker in two ways. W x is computed once
    for each different word and not for each token. And autograd would sum the gradients of the weights step
    by step; here the gradients of all gates are kept, so that each weight's gradient is one product.

    Args:
        inputs: embeddings of the different words.
        word: row of the embeddings of each token, in the order of `Packing`.
        sizes: number of sentences that have a t-th word, for each t; falling.
        weights: `weight_ih`, `weight_hh`, `bias_ih` and `bias_hh` of a `torch.nn.GRU` of one layer.

    Returns:
        States in the order of the tokens, and those of the sentences, the longest first.

    Example:
        >>> gru = torch.nn.GRU(3, 4)
        >>> weights = (gru.weight_ih_l0, gru.weight_hh_l0, gru.bias_ih_l0, gru.bias_hh_l0)
        >>> states, final = recurrence(torch.randn(2, 3), torch.tensor([0, 1, 1]), [2, 1], weights)
        >>> states.shape, final.shape
        (torch.Size([3, 4]), torch.Size([2, 4]))
    """
    return _Recurrence.apply(inputs, word, sizes, *weights)  # type: ignore[no-untyped-call]


class _Recurrence(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=torch.float32)  # type: ignore[untyped-decorator]
    def forward(
        ctx: Any,
        inputs: Tensor,
        word: Tensor,
        sizes: list[int],
        weight_ih: Tensor,
        weight_hh: Tensor,
        bias_ih: Tensor,
        bias_hh: Tensor,
    ) -> tuple[Tensor, Tensor]:
        width = weight_hh.shape[1]
        gates = torch.addmm(bias_ih, inputs, weight_ih.T).index_select(0, word)  # (total, 3 width)
        before = gates.new_empty(len(word), width)  # h of each step, and U h of its third gate
        inner = torch.empty_like(before)
        state = gates.new_zeros(sizes[0], width)
        first = 0
        for size in sizes:
            rows = slice(first, first + size)
            h, each = before[rows], gates[rows]
            h.copy_(state[:size])
            recurrent = torch.addmm(bias_hh, h, weight_hh.T)
            both, last = each[:, : 2 * width], each[:, 2 * width :]
            both.add_(recurrent[:, : 2 * width]).sigmoid_()
            inner[rows] = recurrent[:, 2 * width :]
            last.addcmul_(each[:, :width], inner[rows]).tanh_()
            torch.lerp(last, h, each[:, width : 2 * width], out=state[:size])
            first += size
        states = torch.lerp(gates[:, 2 * width :], before, gates[:, width : 2 * width])
        ctx.sizes = sizes
        ctx.save_for_backward(inputs, word, weight_ih, weight_hh, gates, before, inner)
        return states, state

    @staticmethod
    @custom_bwd(device_type="cpu")  # type: ignore[untyped-decorator]
    @once_differentiable
    def backward(ctx: Any, of_states: Tensor, of_final: Tensor) -> tuple[Tensor | None, ...]:
        inputs, word, weight_ih, weight_hh, gates, before, inner = ctx.saved_tensors
        width = before.shape[1]
        r, z, n = gates.split(width, dim=1)
        # All that does not depend on the gradient of h: how the three gates and h itself answer to it.
        of_n = (1 - z) * (1 - n * n)
        of_z = (before - n) * z * (1 - z)
        of_r = inner * r * (1 - r)
        recurrent = torch.empty_like(gates)  # gradients of U h + b, (total, 3 width)
        carried = of_final.clone()
        first = len(word)
        for size in reversed(ctx.sizes):
            first -= size
            rows = slice(first, first + size)
            h = carried[:size]
            h += of_states[rows]
            each = recurrent[rows]
            last = each[:, 2 * width :]
            torch.mul(h, of_n[rows], out=last)
            torch.mul(last, of_r[rows], out=each[:, :width])
            torch.mul(h, of_z[rows], out=each[:, width : 2 * width])
            # So far `last` is the gradient of W x + r U h; that of U h has a factor r.
            of_n[rows] = last
            last *= r[rows]
            h *= z[rows]
            h.addmm_(each, weight_hh)
        from_words = recurrent.clone()
        from_words[:, 2 * width :] = of_n
        of_words = inputs.new_zeros(len(inputs), 3 * width).index_add_(0, word, from_words)
        of_weights = (of_words.T @ inputs, recurrent.T @ before, of_words.sum(0), recurrent.sum(0))
        return of_words @ weight_ih, None, None, *of_weights
