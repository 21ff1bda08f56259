"""What the hand-written gradients share: full precision, single entries, one derivative only, unit length."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

_NOTHING = nullcontext()

Gradients = Callable[[Tensor], tuple[Tensor | None, ...]]
"""Function from the gradient of a loss to those of its inputs."""


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Return a context without autocast, at no cost where autocast is off already.

    Example:
        >>> with torch.autocast("cpu", dtype=torch.bfloat16), without_autocast(torch.device("cpu")):
        ...     (torch.eye(2) @ torch.eye(2)).dtype
        torch.float32
    """
    if not torch.is_autocast_enabled(device.type):
        return _NOTHING
    return torch.autocast(device.type, enabled=False)


def put(into: Float[Tensor, "n m"], places: Int[Tensor, " e"], values: Float[Tensor, " e"]) -> Tensor:
    """Write values into a matrix, at places counted row by row of which no two are equal, and return it.

    Example:
        >>> put(torch.zeros(2, 2), torch.tensor([1, 2]), torch.tensor([5.0, 6.0])).tolist()
        [[0.0, 5.0], [6.0, 0.0]]
    """
    if torch.are_deterministic_algorithms_enabled():  # which refuse put_, for places that might be equal
        columns = into.shape[1]
        return into.index_put_((places // columns, places % columns), values)
    return into.put_(places, values)  # several times as quick


def first_order_only(
    gradients: tuple[Tensor | None, ...], inputs: tuple[Tensor | None, ...]
) -> tuple[Tensor | None, ...]:
    """Return the gradients, tied to the inputs by a node that raises when it is differentiated.

    The gradients are computed without a graph. Untied, they would be constants to a second derivative, which
    would then silently lack its largest part; torch's own `once_differentiable` ties them to nothing that
    leads back to the inputs.

    Args:
        gradients: gradients that a backward pass returns.
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
            "second derivatives of an objective are not available: its gradient is computed without a graph; "
            "torch.func.hessian has those of small batches, with engine=Dense()"
        )


class KnownGradient(torch.autograd.Function):
    """A number whose gradient is written by hand."""

    @staticmethod
    def forward(
        ctx: Any, evaluate: Callable[[], tuple[Tensor, Gradients]], copied: bool, *rows: Tensor
    ) -> Tensor:
        """Return the number.

        Args:
            ctx: context of the node.
            evaluate: function that returns the number and a function from its gradient to those of `rows`.
            copied: whether the gradients depend on copies of `rows`, which may then be written to.
            rows: inputs of the number.
        """
        value, ctx.gradients = evaluate()
        ctx.copied = copied
        ctx.save_for_backward(*rows)
        return value

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the rows."""
        if ctx.copied and not torch.is_grad_enabled():
            with without_autocast(gradient.device):
                return None, None, *ctx.gradients(gradient)
        inputs = *ctx.saved_tensors, gradient  # an input that was written to since is noticed here
        with torch.no_grad(), without_autocast(gradient.device):
            found = ctx.gradients(gradient)
        return None, None, *first_order_only(found, inputs)


class UnitLength(torch.autograd.Function):
    """z = x / |x|, computed before."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, lengths: Tensor, unit: Tensor) -> Tensor:
        """Return `(n, d)` unit vectors as a function of the `(n, d)` rows, of which `lengths` is `(n, 1)`."""
        ctx.save_for_backward(unit, lengths)
        return unit.detach()  # another tensor: an output that is an input would be copied

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None]:
        """Return the gradient by the rows; lengths are constants to autograd."""
        unit, lengths = ctx.saved_tensors
        with torch.no_grad():
            found = through_unit_length(unit, lengths, gradient)
        return first_order_only((found,), (unit, gradient))[0], None, None


def through_unit_length(
    unit: Float[Tensor, "n d"], lengths: Float[Tensor, "n 1"], gradient: Float[Tensor, "n d"]
) -> Float[Tensor, "n d"]:
    """Return dx = (dz - z (z . dz)) / |x|, the gradient through z = x / |x|.

    Example:
        >>> unit, gradient = torch.tensor([[1.0, 0.0]]), torch.tensor([[5.0, 3.0]])
        >>> through_unit_length(unit, torch.tensor([[2.0]]), gradient).tolist()
        [[0.0, 1.5]]
    """
    along = (unit * gradient).sum(dim=1, keepdim=True)
    return torch.addcmul(gradient, unit, along, value=-1).div_(lengths)


def through_length(
    gradient: Float[Tensor, "n d"], unit: Float[Tensor, "n d"], lengths: Float[Tensor, "n 1"] | None
) -> Float[Tensor, "n d"]:
    """Return the gradient by the rows from that by `unit`: the rows themselves, or divided by lengths."""
    return gradient if lengths is None else through_unit_length(unit, lengths, gradient)
