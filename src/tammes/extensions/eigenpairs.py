"""The leading eigenpairs of Z Z^T, from the thin factor Z, with gradients that stay finite."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from tammes.checks import is_finite

FEW = 5
"""Steps between two normalizations: at a trace of 1, what they leave is far from the smallest numbers."""


class Eigensolver(ABC):
    """Finds the k leading eigenpairs of Z Z^T for each Z of a batch, without making Z Z^T where n > d."""

    @abstractmethod
    def __call__(
        self, factor: Float[Tensor, "inputs n d"], count: int
    ) -> tuple[Float[Tensor, "inputs k"], Float[Tensor, "inputs n k"]]:
        """Eigenvalues, the largest first, and unit eigenvectors as columns.

        Where Z has a lower rank than k, the remaining eigenvalues are zeros, and so are their vectors.

        Args:
            factor: Z, filled up with rows of zeros where inputs have fewer elements.
            count: k.
        """


@dataclass(frozen=True, kw_only=True)
class PowerIterations(Eigensolver):
    """Power iterations with deflation, in the space of features: a d-by-d matrix, whatever n is.

    Gradients are those of the iterations themselves, a polynomial of low degree and a normalization: no gap
    between eigenvalues is divided by. The vectors begin at a fixed point of feature space, which makes the
    result independent of the order of the elements.

    Args:
        steps: iterations for each eigenvector, at least 1.

    Raises:
        ValueError: for fewer than one step.

    Source: Robinson (2023), F.6.2, which takes 5 steps.

    Example:
        >>> values, vectors = PowerIterations()(torch.tensor([[[2.0], [0.0]]]), 1)
        >>> values.tolist(), vectors.flatten().tolist()
        ([[4.0]], [1.0, 0.0])
    """

    steps: int = 5

    def __post_init__(self) -> None:
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or self.steps < 1:
            raise ValueError(f"steps must be an integer of at least 1, got {self.steps!r}")

    def __call__(
        self, factor: Float[Tensor, "inputs n d"], count: int
    ) -> tuple[Float[Tensor, "inputs k"], Float[Tensor, "inputs n k"]]:
        """See `Eigensolver.__call__`."""
        features = factor.shape[-1]
        start = torch.randn(features, count, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        gram = factor.mT @ factor
        values, directions = _Deflated.apply(gram, start.T.to(factor), self.steps)  # type: ignore[no-untyped-call]
        return _ordered(values, _unit(factor @ directions.mT))


class _Deflated(torch.autograd.Function):
    """d = A^s b / |A^s b|, lambda = d' A d and A := A - lambda d d', for one b after another.

    Vectors are rows, which for a symmetric A are its columns, and faster. Between the steps they are brought
    to some length by numbers that are taken for constants: in d they cancel, and so does their derivative.
    """

    @staticmethod
    def forward(ctx: Any, gram: Tensor, starts: Tensor, steps: int) -> tuple[Tensor, Tensor]:
        inputs, features, _ = gram.shape
        least = _trace(gram) * features * torch.finfo(gram.dtype).eps
        tiny = torch.finfo(gram.dtype).tiny
        kept, values, directions = [], [], []
        for start in starts:
            trace = _trace(gram)
            some = trace > least  # what is left of a lower rank is rounding: its vectors are zeros
            scale = some / trace.where(some, 1.0)
            path, scales = [start.repeat(inputs, 1, 1)], []
            for step in range(1, steps + 1):
                ahead, by = path[-1] @ gram, scale
                if step % FEW == 0 or step == steps:
                    by = some / (ahead * scale).norm(dim=2, keepdim=True).clamp(min=tiny) * scale
                path.append(ahead * by)
                scales.append(by)
            direction = path[-1]
            applied = direction @ gram
            value = (applied * direction).sum(2, keepdim=True).clamp(min=0)
            kept += [gram, torch.cat(path, 1), torch.cat(scales, 1), applied, value]
            values.append(value)
            directions.append(direction)
            if len(values) < len(starts):
                gram = torch.baddbmm(gram, direction.mT, value * direction, alpha=-1)
        ctx.save_for_backward(*kept)
        return torch.cat(values, 1)[..., 0], torch.cat(directions, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_values: Tensor, by_directions: Tensor) -> tuple[Tensor, None, None]:
        # The gradient of A is left' right, a product that is made once: of all its rows, in all steps.
        left, right = by_directions[:, :0], by_directions[:, :0]
        for place in reversed(range(by_values.shape[1])):
            gram, path, scales, applied, value = ctx.saved_tensors[5 * place : 5 * place + 5]
            direction = path[:, -1:]
            before, after = (direction @ each.mT for each in (left, right))
            along = before @ right
            of_value = by_values[:, place, None, None] - (along * direction).sum(2, keepdim=True)
            back = by_directions[:, place, None] - value * (along + after @ left) + 2 * of_value * applied
            back = back - (back * direction).sum(2, keepdim=True) * direction
            backs = [of_value * direction, back * scales[:, -1:]]
            for step in reversed(range(scales.shape[1] - 1)):
                backs.append((backs[-1] @ gram) * scales[:, step, None])
            left, right = torch.cat([left, path], 1), torch.cat([right, *backs[::-1]], 1)
        return left.mT @ right, None, None


def _trace(gram: Tensor) -> Tensor:
    """As a constant, `(inputs, 1, 1)`."""
    return gram.detach().diagonal(dim1=1, dim2=2).sum(1)[:, None, None]


@dataclass(frozen=True, kw_only=True)
class ExactEigenpairs(Eigensolver):
    """The eigendecomposition of the smaller one of Z^T Z and Z Z^T.

    The derivative of an eigenvector divides by the gaps g between eigenvalues. Here 1/g is replaced by
    g / (g^2 + (broadening * largest eigenvalue)^2), which is 1/g for large gaps and 0 for none: of two equal
    eigenvalues, a rotation of their vectors into each other is no direction to descend in.

    Args:
        broadening: relative to the largest eigenvalue; positive.

    Raises:
        ValueError: for a broadening that is not positive.

    Example:
        >>> factor = torch.eye(2)[None].requires_grad_()  # two equal eigenvalues
        >>> values, vectors = ExactEigenpairs()(factor, 2)
        >>> bool(torch.autograd.grad(vectors[0, 0, 0], factor)[0].isfinite().all())
        True
    """

    broadening: float = 1e-3

    def __post_init__(self) -> None:
        if not (is_finite(self.broadening) and self.broadening > 0):
            raise ValueError(f"broadening must be a positive number, got {self.broadening}")

    def __call__(
        self, factor: Float[Tensor, "inputs n d"], count: int
    ) -> tuple[Float[Tensor, "inputs k"], Float[Tensor, "inputs n k"]]:
        """See `Eigensolver.__call__`."""
        values, vectors = _Broadened.apply(factor, self.broadening)  # type: ignore[no-untyped-call]
        most = min(count, values.shape[-1])
        missing = (0, count - most)
        return (
            torch.nn.functional.pad(values[:, :most], missing),
            torch.nn.functional.pad(vectors[..., :most], missing),
        )


class _Broadened(torch.autograd.Function):
    """All eigenpairs of X = Z Z^T that min(n, d) allows, with broadened gaps in their derivative.

    dv_i = sum_{j != i} v_j (v_j' dX v_i) / (lambda_i - lambda_j), where the v_j outside the range of Z have
    lambda_j = 0 and are the rest of the identity; dX = dZ Z' + Z dZ'. Nothing n by n is made where n > d.
    """

    @staticmethod
    def forward(ctx: Any, factor: Tensor, broadening: float) -> tuple[Tensor, Tensor]:
        elements, features = factor.shape[1:]
        if features <= elements:
            values, directions = torch.linalg.eigh(factor.mT @ factor)
            vectors = _unit(factor @ directions.flip(-1))
        else:
            values, vectors = torch.linalg.eigh(factor @ factor.mT)
            vectors = vectors.flip(-1)
        values = values.flip(-1).clamp(min=0)
        ctx.save_for_backward(factor, values, vectors)
        ctx.broadening = broadening
        return values, vectors

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_values: Tensor, by_vectors: Tensor) -> tuple[Tensor, None]:
        factor, values, vectors = ctx.saved_tensors
        width = (ctx.broadening * values[:, :1]).square().clamp(min=torch.finfo(values.dtype).tiny)
        gap = values[:, None, :] - values[:, :, None]  # of i (column) over j (row)
        within = vectors.mT @ by_vectors
        mixed = gap / (gap.square() + width[..., None]) * within + torch.diag_embed(by_values)
        outside = (by_vectors - vectors @ within) * (values / (values.square() + width))[:, None]
        left = vectors @ mixed + outside  # the gradient of X is left @ vectors'
        return left @ (vectors.mT @ factor) + vectors @ (left.mT @ factor), None


def _unit(columns: Float[Tensor, "inputs n k"]) -> Float[Tensor, "inputs n k"]:
    """Columns of length 1; those of rounding errors alone become zeros."""
    length = columns.norm(dim=1, keepdim=True)
    least = torch.finfo(columns.dtype).eps * length.detach().amax(dim=2, keepdim=True)
    some = length > least
    return torch.where(some, columns / length.where(some, 1.0), 0.0)


def _ordered(values: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """The largest first: few iterations may find a smaller one before a larger one."""
    order = values.detach().argsort(dim=1, descending=True)
    return values.gather(1, order), vectors.gather(2, order[:, None].expand_as(vectors))
