"""Rows at unit length, and the way back."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.reduce.first_order import first_order_only


class UnitLength(torch.autograd.Function):
    """z = x / |x|."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, lengths: Tensor) -> Tensor:
        unit = rows / lengths
        ctx.save_for_backward(unit, lengths)
        return unit

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None]:
        unit, lengths = ctx.saved_tensors
        with torch.no_grad():
            found = through_unit_length(unit, lengths, gradient)
        return first_order_only((found,), (unit, gradient))[0], None


def through_unit_length(
    unit: Float[Tensor, "n d"], lengths: Float[Tensor, "n 1"], gradient: Float[Tensor, "n d"]
) -> Float[Tensor, "n d"]:
    """D x = (d z - z (z . d z)) / |x| for z = x / |x|.

    Example:
        >>> unit, gradient = torch.tensor([[1.0, 0.0]]), torch.tensor([[5.0, 3.0]])
        >>> through_unit_length(unit, torch.tensor([[2.0]]), gradient).tolist()
        [[0.0, 1.5]]
    """
    along = (unit * gradient).sum(dim=1, keepdim=True)
    return torch.addcmul(gradient, unit, along, value=-1).div_(lengths)
