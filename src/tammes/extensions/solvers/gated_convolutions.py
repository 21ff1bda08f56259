"""Gated graph convolutions: each node's features go through a GRU that reads the sum of its neighbors'."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from tammes.extensions.equitable_partition import EquitablePartition

# Their derivatives from their values, in one pass over memory each.
sigmoid_backward, tanh_backward = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward


class GatedConvolutions(nn.Module):
    """x := GRU(x, sum over neighbors of W_l x), for each layer l: torch_geometric's `GatedGraphConv`.

    Neighbors are summed up before they are multiplied, and by one matrix, W_l times that of the GRU's input:
    A (x W_l) W' = (A x) (W_l W'). The sum is a sparse matrix product. Nodes are those of the cells of an
    equitable partition: A is its quotient matrix.

    Args:
        width: features of a node.
        layers: how often.

    Source: Li et al. (2016), as torch_geometric has it; its weights can be loaded.

    Example:
        >>> from tammes.extensions import Graphs
        >>> graph = Graphs.of(torch.tensor([[0, 1], [1, 2]]), sizes=(3,))
        >>> GatedConvolutions(width=4, layers=2)(torch.randn(3, 4), graph.singletons).shape
        torch.Size([3, 4])
    """

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        bound = width**-0.5
        self.weight = nn.Parameter(torch.empty(layers, width, width).uniform_(-bound, bound))
        self.rnn = nn.GRUCell(width, width)

    def forward(
        self, x: Float[Tensor, "cells width"], partition: EquitablePartition
    ) -> Float[Tensor, "cells width"]:
        """The features after all layers."""
        width = x.shape[1]
        # The gates' columns stand in the order n, r, z for what neighbors send, and r, z, n for a node's own.
        by_message = (self.weight @ self.rnn.weight_ih.T).roll(width, dims=2)
        read, kept = self.rnn.bias_ih.split([2 * width, width]), self.rnn.bias_hh.split([2 * width, width])
        bias = torch.cat([read[1], read[0] + kept[0], kept[1]])
        by_state, size = self.rnn.weight_hh.T, partition.size.to(x.dtype)[:, None]
        quotient = partition.quotient.to(x.dtype)
        state: Tensor = _Gated.apply(x, by_message, by_state, bias, quotient, size)  # type: ignore[no-untyped-call]
        return state


class _Gated(torch.autograd.Function):
    """All layers: x := n + z (x - n), r, z = sigmoid(s C_l + x H + b), n = tanh(s C_l + b + r (x H + b')).

    s = A x is what neighbors send. The blocks n, r, z, n' of s C_l and x H lie side by side, where s C_l has
    n, r, z and x H has r, z, n', so that each is one product, and so are their derivatives. Memory is taken
    once for the derivatives of all layers: touching new memory costs more than these operations. The
    derivative of A x needs A' = D A D^-1, with D the sizes of the cells, where torch would transpose A anew.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        by_message: Tensor,
        by_state: Tensor,
        bias: Tensor,
        quotient: Tensor,
        size: Tensor,
    ) -> Tensor:
        width = x.shape[1]
        steps = []
        for by_this in by_message:
            message = quotient @ x
            gates = bias.expand(len(x), -1).clone()  # (cells, 4 width)
            gates[:, : 3 * width].addmm_(message, by_this)
            gates[:, width:].addmm_(x, by_state)
            new, reset, update, kept = gates.split(width, dim=1)
            gates[:, width : 3 * width].sigmoid_()
            new.addcmul_(reset, kept).tanh_()
            steps += [x, message, gates]
            x = torch.lerp(new, x, update)
        ctx.save_for_backward(by_message, by_state, size, *steps)
        ctx.quotient = quotient
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None, None]:
        by_message, by_state, size, *steps = ctx.saved_tensors
        width = gradient.shape[1]
        of_by_message, of_by_state = torch.empty_like(by_message), torch.zeros_like(by_state)
        back = torch.empty_like(steps[-1])
        of_bias = back.new_zeros(4 * width)
        of_new, of_reset, of_update, of_kept = back.split(width, dim=1)
        by_read, by_kept = back[:, : 3 * width], back[:, width:]
        of_next, of_x, some = gradient.clone(), torch.empty_like(gradient), torch.empty_like(gradient)
        for layer in reversed(range(len(by_message))):
            x, message, gates = steps[3 * layer : 3 * layer + 3]
            new, reset, update, kept = gates.split(width, dim=1)
            torch.mul(of_next, update, out=of_x)
            tanh_backward(torch.sub(of_next, of_x, out=some), new, grad_input=of_new)
            torch.mul(of_new, reset, out=of_kept)
            sigmoid_backward(torch.mul(of_new, kept, out=some), reset, grad_input=of_reset)
            torch.sub(x, new, out=some).mul_(of_next)
            sigmoid_backward(some, update, grad_input=of_update)
            torch.mm(message.T, by_read, out=of_by_message[layer])
            of_by_state.addmm_(x.T, by_kept)
            of_bias += back.sum(0)
            of_x.addmm_(by_kept, by_state.T)
            torch.mm(by_read, by_message[layer].T, out=some).div_(size)
            torch.addcmul(of_x, ctx.quotient @ some, size, out=of_next)
        return of_next, of_by_message, of_by_state, of_bias, None, None
