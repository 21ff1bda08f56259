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
    *,
    every: bool = True,
) -> tuple[Float[Tensor, "states width"], Float[Tensor, "n width"]]:
    """Return the state behind each word and behind the last word of each sentence; for a CPU.

        r = s(W_r x + U_r h),   z = s(W_z x + U_z h),   n = tanh(W x + r (U h)),   h := (1 - z) n + z h

    These are the states of `torch.nn.GRU`, up to rounding. It is quicker in three ways. W x is computed once
    for each different word and not for each token. Autograd would sum the gradients of the weights step by
    step; here the gradients of all gates are kept, so that each weight's gradient is one product. And what is
    not a product is computed step by step, in memory that the next step takes again.

    Under autocast the products, and what is kept for the gradient, have its type; gates and states are
    computed in that of the weights. Autocast leaves weights in double precision as they are.

    Args:
        inputs: embeddings of the different words.
        word: row of the embeddings of each token, in the order of `Packing`.
        sizes: number of sentences that have a t-th word, for each t; falling.
        weights: `weight_ih`, `weight_hh`, `bias_ih` and `bias_hh` of a `torch.nn.GRU` of one layer.
        every: whether the states behind all words are wanted; those behind the last words always are.

    Returns:
        States in the order of the tokens, none if not wanted, and those of the sentences, the longest first.

    Example:
        >>> gru = torch.nn.GRU(3, 4)
        >>> weights = (gru.weight_ih_l0, gru.weight_hh_l0, gru.bias_ih_l0, gru.bias_hh_l0)
        >>> states, final = recurrence(torch.randn(2, 3), torch.tensor([0, 1, 1]), [2, 1], weights)
        >>> states.shape, final.shape
        (torch.Size([3, 4]), torch.Size([2, 4]))
    """
    is_cast = torch.is_autocast_enabled("cpu") and inputs.dtype != torch.float64
    kept = torch.get_autocast_dtype("cpu") if is_cast else inputs.dtype
    return _Recurrence.apply(kept, every, inputs, word, sizes, *weights)  # type: ignore[no-untyped-call]


class _Recurrence(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=torch.float32)  # type: ignore[untyped-decorator]
    def forward(
        ctx: Any,
        kept: torch.dtype,
        every: bool,
        inputs: Tensor,
        word: Tensor,
        sizes: list[int],
        weight_ih: Tensor,
        weight_hh: Tensor,
        bias_ih: Tensor,
        bias_hh: Tensor,
    ) -> tuple[Tensor, Tensor]:
        total, width = len(word), weight_hh.shape[1]
        bias, weight = bias_hh.to(kept), weight_hh.to(kept).T
        of_words = torch.addmm(bias_ih.to(kept), inputs.to(kept), weight_ih.to(kept).T).to(inputs.dtype)
        gates = inputs.new_empty(total, 3 * width, dtype=kept)
        before = inputs.new_empty(total, width, dtype=kept)  # h of each step, and U h of its third gate
        inner, states = torch.empty_like(before), inputs.new_empty(total if every else 0, width)
        state, buffer = inputs.new_zeros(sizes[0], width), inputs.new_empty(sizes[0], 3 * width)
        first = 0
        for size in sizes:
            rows, h = slice(first, first + size), state[:size]
            before[rows] = h
            recurrent = torch.addmm(bias, before[rows], weight).to(inputs.dtype)
            of_both, of_third = recurrent.split((2 * width, width), dim=1)
            inner[rows] = of_third
            each = torch.index_select(of_words, 0, word[rows], out=buffer[:size])
            r, z, n = each.split(width, dim=1)
            each[:, : 2 * width].add_(of_both).sigmoid_()
            n.addcmul_(r, of_third).mul_(2).sigmoid_().mul_(2).sub_(1)  # torch's own tanh is far slower
            gates[rows] = each
            torch.lerp(n, h, z, out=h)
            if every:
                states[rows] = h
            first += size
        ctx.sizes = sizes
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(inputs, word, weight_ih, weight_hh, gates, before, inner)
        return states, state

    @staticmethod
    @custom_bwd(device_type="cpu")  # type: ignore[untyped-decorator]
    @once_differentiable
    def backward(ctx: Any, of_states: Tensor | None, of_final: Tensor | None) -> tuple[Tensor | None, ...]:
        inputs, word, weight_ih, weight_hh, gates, before, inner = ctx.saved_tensors
        (total, width), kept, dtype = before.shape, before.dtype, inputs.dtype
        # Side by side the gradients of U h of the third gate, of both gates that have W x and U h in one sum,
        # and of W x of the third: the first three parts belong to U, the last three to W.
        of_gates = before.new_empty(total, 4 * width)
        of_words = inputs.new_zeros(len(inputs), 3 * width)
        weight = weight_hh.roll(width, 0).to(kept)  # in that order
        most = ctx.sizes[0]
        carried = inputs.new_zeros(most, width) if of_final is None else of_final.clone()
        values, buffer = inputs.new_empty(most, 3 * width), inputs.new_empty(most, 3 * width)
        spare = torch.empty_like(carried)
        first = total
        for size in reversed(ctx.sizes):
            first -= size
            rows, h, each = slice(first, first + size), carried[:size], buffer[:size]
            r, z, n = values[:size].copy_(gates[rows]).split(width, dim=1)
            of_r, of_z, of_n = each.split(width, dim=1)
            if of_states is not None:
                h += of_states[rows]
            new = torch.addcmul(h, h, z, value=-1, out=spare[:size])  # h (1 - z), the gradient of n
            torch.sub(before[rows], n, out=of_z).mul_(z).mul_(new)
            torch.mul(new, n, out=of_n)
            torch.addcmul(new, of_n, n, value=-1, out=of_n)  # of W x + r U h: h (1 - z) (1 - n^2)
            of_inner = torch.mul(of_n, r, out=new)
            torch.mul(of_inner, inner[rows], out=of_r)
            of_r.addcmul_(of_r, r, value=-1)
            of_gates[rows, :width], of_gates[rows, width:] = of_inner, each
            of_words.index_add_(0, word[rows], each)
            h *= z
            h += of_gates[rows, : 3 * width] @ weight
        of_h, low = of_gates[:, : 3 * width], of_words.to(kept)
        of_ih, of_hh = low.T @ inputs.to(kept), (of_h.T @ before).roll(-width, 0)
        of_biases = of_words.sum(0), of_h.sum(0, dtype=dtype).roll(-width, 0)
        of_inputs = low @ weight_ih.to(kept)
        return None, None, of_inputs.to(dtype), None, None, of_ih.to(dtype), of_hh.to(dtype), *of_biases
