"""Batch normalization of a batch that comes in pieces, followed by ReLU."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class NormalizedReLU(nn.Module):
    """relu(w (z - mean) / std + b), with mean and std over all pieces and all axes but the last.

    v and -v enter the same statistics. Running averages serve in evaluation, as in `nn.BatchNorm1d`, whose
    numbers these are; only, no tensor need hold the whole batch, which is slow on a CPU.

    Args:
        channels: the size of the last axis.

    Raises:
        ValueError: when called in training on a single row, which has no standard deviation.

    Example:
        >>> norm = NormalizedReLU(1)
        >>> [piece.tolist() for piece in norm([torch.tensor([[2.0]]), torch.tensor([[0.0]])])]
        [[[0.9999949932098389]], [[0.0]]]
    """

    EPSILON = 1e-5
    MOMENTUM = 0.1

    mean: Tensor
    variance: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("variance", torch.ones(channels))

    def forward(self, pieces: Sequence[Float[Tensor, "*any channels"]]) -> list[Tensor]:
        with torch.autocast(self.weight.device.type, enabled=False):  # statistics need full precision
            return self._full([piece.to(self.weight.dtype) for piece in pieces])

    def _full(self, pieces: list[Tensor]) -> list[Tensor]:
        if not self.training:
            scale = self.weight * (self.variance + self.EPSILON).rsqrt()
            shift = self.bias - self.mean * scale
            return [torch.addcmul(shift, piece, scale).relu_() for piece in pieces]
        rows = sum(piece.shape[:-1].numel() for piece in pieces)
        if rows < 2:
            raise ValueError(
                f"expected at least two rows to normalize in training, got {rows}: a batch of one node; take "
                "larger batches, normalize=False, or call eval() first"
            )
        mean, variance, *normalized = _NormalizedReLU.apply(  # type: ignore[no-untyped-call]
            self.weight, self.bias, self.EPSILON, *pieces
        )
        with torch.no_grad():
            self.mean.lerp_(mean, self.MOMENTUM)
            self.variance.lerp_(variance * (rows / (rows - 1)), self.MOMENTUM)
        return normalized


class _NormalizedReLU(torch.autograd.Function):
    """The derivative of batch normalization and ReLU in two passes over pieces: sums, then what they correct.

    With g the gradient where the result is positive, and x = (z - mean) / std: d bias = sum g,
    d weight = sum g x, dz = weight / std (g - mean(g) - x mean(g x)).
    """

    @staticmethod
    def forward(
        ctx: Any, weight: Tensor, bias: Tensor, epsilon: float, *pieces: Tensor
    ) -> tuple[Tensor, ...]:
        rows = sum(piece.shape[:-1].numel() for piece in pieces)
        mean = _total(piece.flatten(0, -2) for piece in pieces) / rows
        centered = [piece - mean for piece in pieces]
        variance = _total((piece * piece).flatten(0, -2) for piece in centered) / rows
        scale = weight * (variance + epsilon).rsqrt()
        outputs = [torch.addcmul(bias, piece, scale).relu_() for piece in centered]
        ctx.save_for_backward(variance + epsilon, scale, *centered, *outputs)
        ctx.rows = rows
        ctx.mark_non_differentiable(mean, variance)
        return mean, variance, *outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_mean: Tensor, by_variance: Tensor, *gradients: Tensor) -> tuple[Any, ...]:
        with torch.autocast(ctx.saved_tensors[0].device.type, enabled=False):
            return _derivative(ctx, gradients)


def _derivative(ctx: Any, gradients: tuple[Tensor, ...]) -> tuple[Any, ...]:
    variance, scale, *rest = ctx.saved_tensors
    centered, outputs = rest[: len(gradients)], rest[len(gradients) :]
    passed = [
        torch.ops.aten.threshold_backward(gradient, output, 0)
        for gradient, output in zip(gradients, outputs, strict=True)
    ]
    total = _total(own.flatten(0, -2) for own in passed)
    pairs = zip(passed, centered, strict=True)
    product = _total((own * piece).flatten(0, -2) for own, piece in pairs)
    slope = scale * product / (variance * ctx.rows)
    offset = scale * total / ctx.rows
    by_pieces = [
        torch.addcmul(-offset, own, scale).addcmul_(piece, -slope)
        for own, piece in zip(passed, centered, strict=True)
    ]
    return product * variance.rsqrt(), total, None, *by_pieces


def _total(pieces: Iterable[Tensor]) -> Tensor:
    """The sum of all rows; on a CPU a product with ones is quicker than `sum`."""
    return torch.stack([torch.mv(piece.T, piece.new_ones(len(piece))) for piece in pieces]).sum(0)
