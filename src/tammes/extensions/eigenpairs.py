"""The leading eigenpairs of Z Z^T, from the thin factor Z, with gradients that stay finite."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from tammes.checks import check_finite_rows, check_integer, check_number

STEPS_PER_NORMALIZATION = 5
"""Steps between two normalizations: with A scaled to a trace of 1, so few steps cannot underflow."""

Eigenpairs = tuple[Float[Tensor, "inputs k"], Float[Tensor, "inputs n k"]]
"""Eigenvalues, the largest first, and unit eigenvectors as columns."""


Eigensolver = Callable[[Float[Tensor, "inputs n d"], int], Eigenpairs]
"""Solver for the k leading eigenpairs of Z Z^T, for each Z of a batch, without Z Z^T where n > d.

The factors Z are padded with rows of zeros where inputs have fewer elements. Where Z has a lower rank than k,
the remaining eigenvalues and their vectors are zeros.
"""


@dataclass(frozen=True, kw_only=True)
class PowerIterations:
    """Power iterations with deflation on the d-by-d matrix Z^T Z, whatever n is.

    Gradients are those of the iterations themselves, a polynomial of low degree and a normalization: nothing
    is divided by a gap between eigenvalues. The iterations start from fixed random vectors of feature space,
    so that the result does not depend on the order of the elements.

    Args:
        steps: number of iterations for each eigenvector, at least 1.

    Raises:
        ValueError: for fewer than one step, and, when called, for a factor with NaN or infinities.

    Source: Robinson (2023), F.6.2, which takes 5 steps.

    Example:
        >>> values, vectors = PowerIterations()(torch.tensor([[[2.0], [0.0]]]), 1)
        >>> values.tolist(), vectors.flatten().tolist()
        ([[4.0]], [1.0, 0.0])
    """

    steps: int = 5

    def __post_init__(self) -> None:
        check_integer("steps", self.steps)

    def __call__(self, factor: Float[Tensor, "inputs n d"], count: int) -> Eigenpairs:
        """Return the `count` leading eigenpairs of each factor, which must be finite."""
        check_finite_rows("factors", factor.flatten(1))
        features = factor.shape[-1]
        start = torch.randn(features, count, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        gram = factor.mT @ factor  # (inputs, d, d); an eigenvector d of it gives the eigenvector Z d of Z Z^T
        values, directions = _Deflated.apply(gram, start.T.to(factor), self.steps)  # type: ignore[no-untyped-call]
        vectors = _unit(factor @ directions.mT)
        values, order = values.sort(dim=1, descending=True)  # few steps may find a smaller one first
        return values, vectors.gather(2, order[:, None].expand_as(vectors))


class _Deflated(torch.autograd.Function):
    """d = A^s b / |A^s b|, lambda = d' A d and A := A - lambda d d', for one start b after another.

    Vectors are rows: b A = (A b)' for a symmetric A, and rows are quicker. Between the steps vectors are
    scaled by numbers that the backward pass takes for constants: the last normalization cancels them, and
    with them their derivative. All steps are one autograd node, instead of several nodes for each.
    """

    @staticmethod
    def forward(ctx: Any, gram: Tensor, starts: Tensor, steps: int) -> tuple[Tensor, Tensor]:
        inputs, features, _ = gram.shape
        rounding = _trace(gram) * features * torch.finfo(gram.dtype).eps
        tiny = torch.finfo(gram.dtype).tiny
        saved, values, directions = [], [], []
        for start in starts:
            trace = _trace(gram)
            some = trace > rounding  # below, Z has no further rank: the vectors become zeros
            scale = some / trace.where(some, 1.0)  # A / trace has its eigenvalues in [0, 1]
            path, scales = [start.repeat(inputs, 1, 1)], []
            for step in range(1, steps + 1):
                ahead, by = path[-1] @ gram, scale
                if step % STEPS_PER_NORMALIZATION == 0 or step == steps:
                    by = some / (ahead * scale).norm(dim=2, keepdim=True).clamp(min=tiny) * scale
                path.append(ahead * by)  # A^step b, up to a constant
                scales.append(by)
            direction = path[-1]
            applied = direction @ gram
            value = (applied * direction).sum(2, keepdim=True).clamp(min=0)
            saved += [gram, torch.cat(path, 1), torch.cat(scales, 1), applied, value]
            values.append(value)
            directions.append(direction)
            if len(values) < len(starts):  # deflate: A := A - lambda d d'
                gram = torch.baddbmm(gram, direction.mT, value * direction, alpha=-1)
        ctx.save_for_backward(*saved)
        return torch.cat(values, 1)[..., 0], torch.cat(directions, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_values: Tensor, by_directions: Tensor) -> tuple[Tensor, None, None]:
        # The gradient G of A is a sum of outer products, of each step of each eigenvector: their rows are
        # collected in `left` and `right`, and G = left' right is one matrix product at the end.
        left, right = by_directions[:, :0], by_directions[:, :0]
        for place in reversed(range(by_values.shape[1])):
            gram, path, scales, applied, value = ctx.saved_tensors[5 * place : 5 * place + 5]
            direction = path[:, -1:]
            # Later eigenvectors see A - lambda d d'. With their G, the gradient of lambda is -d G d', and
            # that of d is -lambda d (G + G'); lambda = d A d' itself adds 2 d A to the latter.
            before, after = (direction @ each.mT for each in (left, right))
            along = before @ right
            of_value = by_values[:, place, None, None] - (along * direction).sum(2, keepdim=True)
            back = by_directions[:, place, None] - value * (along + after @ left) + 2 * of_value * applied
            back = back - (back * direction).sum(2, keepdim=True) * direction  # of the normalization
            # Each step b_s = scale_s b_{s-1} A adds the outer product of b_{s-1} and its gradient; d' A d
            # adds that of d with itself.
            backs = [of_value * direction, back * scales[:, -1:]]
            for step in reversed(range(scales.shape[1] - 1)):
                backs.append((backs[-1] @ gram) * scales[:, step, None])
            left, right = torch.cat([left, path], 1), torch.cat([right, *backs[::-1]], 1)
        return left.mT @ right, None, None


def _trace(gram: Tensor) -> Tensor:
    """Return the traces, `(inputs, 1, 1)`."""
    return gram.diagonal(dim1=1, dim2=2).sum(1)[:, None, None]


@dataclass(frozen=True, kw_only=True)
class ExactEigenpairs:
    """Eigendecomposition of the smaller one of Z^T Z and Z Z^T, with an approximate derivative.

    The derivative of an eigenvector divides by the gaps g between eigenvalues. Here 1/g is replaced by
    g / (g^2 + (broadening * largest eigenvalue)^2) (Lorentzian broadening), which is 1/g for large gaps and 0
    for none: the eigenvectors of two equal eigenvalues have no derivative along rotations into each other.
    The relative error of a derivative is (broadening * largest eigenvalue / gap)^2.

    Args:
        broadening: width of the broadening as a fraction of the largest eigenvalue, positive; left out, 1e-6
            in double precision and 1e-3 in single precision, which rounding errors of equal eigenvalues stay
            far below.

    Raises:
        ValueError: for a broadening that is not positive, and, when called, for a factor with NaN or
            infinities.

    Example:
        >>> factor = torch.eye(2)[None].requires_grad_()  # two equal eigenvalues
        >>> values, vectors = ExactEigenpairs()(factor, 2)
        >>> bool(torch.autograd.grad(vectors[0, 0, 0], factor)[0].isfinite().all())
        True
    """

    broadening: float | None = None

    def __post_init__(self) -> None:
        if self.broadening is not None:
            check_number("broadening", self.broadening, above=0)

    def __call__(self, factor: Float[Tensor, "inputs n d"], count: int) -> Eigenpairs:
        """Return the `count` leading eigenpairs of each factor, which must be finite."""
        check_finite_rows("factors", factor.flatten(1))
        width = self.broadening or (1e-6 if factor.dtype == torch.float64 else 1e-3)
        values, vectors = _Broadened.apply(factor, width)  # type: ignore[no-untyped-call]
        beyond = (0, count - values.shape[-1])  # where negative, it cuts off instead of padding
        return torch.nn.functional.pad(values, beyond), torch.nn.functional.pad(vectors, beyond)


class _Broadened(torch.autograd.Function):
    """All eigenpairs of X = Z Z^T that min(n, d) allows, with broadened gaps in their derivative.

    dv_i = sum_{j != i} v_j (v_j' dX v_i) / (lambda_i - lambda_j). The v_j outside the range of Z have
    lambda_j = 0 and need not be known: their projections add up to the identity less those inside it.
    dX = dZ Z' + Z dZ', so that nothing n by n is made where n > d.
    """

    @staticmethod
    def forward(ctx: Any, factor: Tensor, broadening: float) -> tuple[Tensor, Tensor]:
        elements, features = factor.shape[1:]
        if features <= elements:
            values, directions = torch.linalg.eigh(factor.mT @ factor)
            vectors = _unit(factor @ directions)
        else:
            values, vectors = torch.linalg.eigh(factor @ factor.mT)
        values, vectors = values.flip(-1), vectors.flip(-1)
        some = values > 10 * max(elements, features) * torch.finfo(values.dtype).eps * values[:, :1]
        values, vectors = values.where(some, 0.0), vectors.where(some[:, None], 0.0)
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
    """Return the columns at length 1, and zeros for columns of rounding errors alone."""
    length = columns.norm(dim=1, keepdim=True)
    rounding = torch.finfo(columns.dtype).eps * length.detach().amax(dim=2, keepdim=True)
    some = length > rounding
    return torch.where(some, columns / length.where(some, 1.0), 0.0)
