"""An error where a second derivative is asked for, instead of a wrong number."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def first_order_only(
    gradients: tuple[Tensor | None, ...], inputs: tuple[Tensor | None, ...]
) -> tuple[Tensor | None, ...]:
    """The gradients, tied to the inputs by a node that raises when it is differentiated.

    They are computed without a graph. Untied, they would be constants to a second
    derivative, which would then silently lack its largest part; torch's own `once_differentiable` ties them
    to nothing that leads back to the inputs.

    Args:
        gradients: what a backward pass returns.
        inputs: all tensors that the gradients depend on.
    """
    if not torch.is_grad_enabled():  # no graph of the backward pass is wanted
        return gradients
    tied = tuple(each for each in inputs if each is not None)
    return tuple(
        None if gradient is None else _FirstOrderOnly.apply(gradient, *tied)  # type: ignore[no-untyped-call]
        for gradient in gradients
    )


class _FirstOrderOnly(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gradient: Tensor, *inputs: Tensor) -> Tensor:
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        raise RuntimeError(
            "second derivatives of an objective are not available: its gradient is computed without a graph"
        )
