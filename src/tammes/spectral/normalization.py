"""Batch normalization and ReLU of a batch that is processed in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from typing_extensions import override


class NormalizedReLU(nn.Module):
    """relu(w (z - mean) / std + b), with mean and std over all pieces and all axes but the last.

    v and -v enter the same statistics. Evaluation uses running averages; the results are those of
    `nn.BatchNorm1d`, without a tensor that holds the whole batch, which is slow on a CPU.

    Args:
        channels: size of the last axis.

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

    @override
    def forward(
        self, pieces: Sequence[Float[Tensor, "... channels"]], linear: nn.Linear | None = None
    ) -> list[Tensor]:
        """Return the normalized pieces.

        Args:
            pieces: pieces of z, or of the inputs of `linear`.
            linear: map without bias that gives z. Its result for a piece is then normalized while it is in
                the processor's cache.
        """
        device = self.weight.device.type
        if linear is not None and torch.is_autocast_enabled(device):
            pieces, linear = [linear(piece) for piece in pieces], None
        with torch.autocast(device, enabled=False):  # statistics need full precision
            pieces = [piece.to(self.weight.dtype) for piece in pieces]
            return self._in_training(pieces, linear) if self.training else self._in_evaluation(pieces, linear)

    def _in_evaluation(self, pieces: list[Tensor], linear: nn.Linear | None) -> list[Tensor]:
        scale = self.weight * (self.variance + self.EPSILON).rsqrt()
        shift = self.bias - self.mean * scale
        mapped = (piece if linear is None else linear(piece) for piece in pieces)
        return [torch.addcmul(shift, piece, scale).relu_() for piece in mapped]

    def _in_training(self, pieces: list[Tensor], linear: nn.Linear | None) -> list[Tensor]:
        rows = sum(piece.shape[:-1].numel() for piece in pieces)
        if rows < 2:
            raise ValueError(
                f"expected at least two rows to normalize in training, got {rows}: a batch of one node; use "
                "larger batches or normalize=False, or call eval() first"
            )
        matrix = None if linear is None else linear.weight
        mean, variance, *normalized = _NormalizedReLU.apply(  # type: ignore[no-untyped-call]
            matrix, self.weight, self.bias, self.EPSILON, *pieces
        )
        with torch.no_grad():
            self.mean.lerp_(mean, self.MOMENTUM)
            self.variance.lerp_(variance * (rows / (rows - 1)), self.MOMENTUM)
        return normalized


class _NormalizedReLU(torch.autograd.Function):
    """z = A h for each piece h, then batch normalization and ReLU: two passes forward, two backward.

    The first pass sums over the pieces, the second one applies the sums. With g the gradient where the
    result is positive, and x = (z - mean) / std: d bias = sum g, d weight = sum g x,
    dz = weight / std (g - mean(g) - x mean(g x)). Each piece is stored minus its own mean, so that sums of
    squares do not cancel; `shift` is its mean minus the mean of all pieces, as in Chan's parallel variance.
    """

    @staticmethod
    def forward(
        ctx: Any, matrix: Tensor | None, weight: Tensor, bias: Tensor, epsilon: float, *pieces: Tensor
    ) -> tuple[Tensor, ...]:
        centered, means, squares = [], [], []
        for piece in pieces:
            mapped = piece if matrix is None else piece @ matrix.T
            own = _total(mapped) / max(1, mapped.shape[:-1].numel())
            centered.append(mapped - own if matrix is None else mapped.sub_(own))
            squares.append(_total(centered[-1] * centered[-1]))
            means.append(own)
        sizes = weight.new_tensor([piece.shape[:-1].numel() for piece in pieces])[:, None]
        rows = sizes.sum()
        mean = (sizes * torch.stack(means)).sum(0) / rows
        shifts = torch.stack(means) - mean
        variance = (torch.stack(squares) + sizes * shifts.square()).sum(0) / rows
        scale = weight * (variance + epsilon).rsqrt()
        begins = bias + shifts * scale
        outputs = [
            torch.addcmul(begin, piece, scale).relu_() for begin, piece in zip(begins, centered, strict=True)
        ]
        inputs = () if matrix is None else pieces
        ctx.save_for_backward(matrix, variance + epsilon, scale, shifts, rows, *centered, *outputs, *inputs)
        ctx.mark_non_differentiable(mean, variance)
        return mean, variance, *outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_mean: Tensor, by_variance: Tensor, *gradients: Tensor) -> tuple[Any, ...]:
        with torch.autocast(gradients[0].device.type, enabled=False):
            return _derivative(ctx, gradients)


def _derivative(ctx: Any, gradients: tuple[Tensor, ...]) -> tuple[Any, ...]:
    matrix, variance, scale, shifts, rows, *rest = ctx.saved_tensors
    count = len(gradients)
    centered, outputs, inputs = rest[:count], rest[count : 2 * count], rest[2 * count :]
    passed = []
    total, product = torch.zeros_like(scale), torch.zeros_like(scale)
    for gradient, piece, output, shift in zip(gradients, centered, outputs, shifts, strict=True):
        own = torch.ops.aten.threshold_backward(gradient, output, 0)
        part = _total(own)
        total += part
        product += torch.addcmul(_total(own * piece), part, shift)
        passed.append(own)
    slope = scale * product / (variance * rows)
    ends = -(scale * total / rows + shifts * slope)
    by_pieces: list[Tensor | None] = []
    by_matrix = None if matrix is None else torch.zeros_like(matrix)
    for number, (own, piece, end) in enumerate(zip(passed, centered, ends, strict=True)):
        by_mapped = torch.addcmul(end, own, scale).addcmul_(piece, -slope)
        if by_matrix is None:
            by_pieces.append(by_mapped)
        else:
            by_matrix.addmm_(by_mapped.flatten(0, -2).T, inputs[number].flatten(0, -2))
            by_pieces.append(by_mapped @ matrix if ctx.needs_input_grad[4 + number] else None)
    return by_matrix, product * variance.rsqrt(), total, None, *by_pieces


def _total(piece: Tensor) -> Tensor:
    """Return the sum over all axes but the last; on a CPU a product with ones is faster than `sum`."""
    flat = piece.flatten(0, -2)
    return flat.new_ones(len(flat)) @ flat
