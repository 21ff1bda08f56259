"""Pointwise functions that the parts use, identified by a number so that a kernel can compute them too."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

Values = Float[Tensor, "*shape"]
LOG2_E = math.log2(math.e)
"""log2 e: e^y is computed as 2^(y log2 e)."""


def exponential_(values: Values) -> Values:
    """Overwrite y by e^y = 2^(y log2 e), without a graph: the digits of y that rounding leaves, and no more.

    On a CPU torch's own `exp` calls Intel's library, which on a processor of another maker takes four times
    as long as `exp2`, which torch vectorizes itself. The relative error is |y| times the rounding error of y.

    Example:
        >>> exponential_(torch.tensor([0.0, -torch.inf])).tolist()
        [1.0, 0.0]
    """
    return values.mul_(LOG2_E).exp2_()


def softplus(values: Values) -> Values:
    """Return log(1 + e^y), to the last digits of float64.

    torch's default is y itself from y = 20 on, which leaves out e^{-20} = 2e-9, and its gradient likewise.

    Example:
        >>> round((softplus(torch.tensor(21.0, dtype=torch.float64)) - 21).item() * 1e9, 4)
        0.7583
    """
    return functional.softplus(values, threshold=40)


def softplus_without_graph(values: Values) -> Values:
    """Return log(1 + e^y) as `softplus` does, without a graph and in the same time for all y.

    max(0, y) + log1p(e^{-|y|}), where log1p(e) is e itself below the rounding error. torch's softplus takes
    longer on raw inner products: for logarithms of numbers close to 1, and for e^y that are nearly subnormal.

    Example:
        >>> [round(y, 4) for y in softplus_without_graph(torch.tensor([0.0, -20.0, 90.0])).tolist()]
        [0.6931, 0.0, 90.0]
    """
    out, spare = torch.empty_like(values), torch.empty_like(values)
    _write_softplus(values, out, spare)
    return out


def softplus_and_sigmoid(values: Values, *, out: Values, spare: Values) -> Values:
    """Write log(1 + e^y) to `out`, and overwrite y by its derivative 1 / (1 + e^{-y}), without a graph.

    Args:
        values: y, which are overwritten.
        out: memory of the same shape.
        spare: further memory of the same shape.

    Returns:
        `values`.

    Example:
        >>> y, out = torch.tensor([0.0, 90.0]), torch.empty(2)
        >>> slope = softplus_and_sigmoid(y, out=out, spare=torch.empty(2))
        >>> [round(each, 4) for each in out.tolist()], slope.tolist()
        ([0.6931, 90.0], [0.5, 1.0])
    """
    _write_softplus(values, out, spare)
    # Subnormal exponentials, of large inner products, are slow.
    return values.clamp_(min=-_largest_exponent(values.dtype)).sigmoid_()


def _write_softplus(values: Values, out: Values, spare: Values) -> None:
    decay = torch.abs(values, out=spare).neg_().clamp_(min=-_largest_exponent(values.dtype)).exp_()
    # log1p(e) <= e, and equal to it where e is so small that the clamp raises it.
    torch.clamp(decay, min=torch.finfo(values.dtype).eps, out=out).log1p_()
    torch.minimum(out, decay, out=out)
    out.add_(torch.clamp(values, min=0, out=spare))


def _largest_exponent(kind: torch.dtype) -> float:
    """Return y with e^{-y} well above the smallest normal number."""
    return -0.8 * math.log(torch.finfo(kind).tiny)


class Term(ABC):
    """Monotone function f of one number, applied to each entry of a tensor.

    Any other function of a tensor may be used in the place of a term; it is then reduced in tiles, since a
    kernel cannot call it.
    """

    code: ClassVar[int]
    """Number that identifies the function in a kernel."""

    @property
    @abstractmethod
    def parameters(self) -> tuple[float, float]:
        """Two numbers that a kernel needs, zero where it needs fewer."""

    @abstractmethod
    def __call__(self, values: Values) -> Values:
        """Return f of each entry."""

    @abstractmethod
    def derivative(self, values: Values) -> Values:
        """Return f' of each entry; at a corner of f, torch's own gradient."""

    @abstractmethod
    def times(self, factor: float) -> Term:
        """Return factor * f, for a positive factor."""

    def limits(self, bound: float) -> tuple[float, float]:
        """Return the smallest and the largest value of f on [-bound, bound]."""
        low, high = sorted(self(torch.tensor([-bound, bound], dtype=torch.float64)).tolist())
        return low, high


@dataclass(frozen=True, kw_only=True)
class Linear(Term):
    """f(y) = factor * y.

    Example:
        >>> Linear(factor=2.0)(torch.tensor([-1.0, 3.0])).tolist()
        [-2.0, 6.0]
    """

    factor: float = 1.0
    code: ClassVar[int] = 1

    @property
    @override
    def parameters(self) -> tuple[float, float]:
        return self.factor, 0.0

    @override
    def __call__(self, values: Values) -> Values:
        return values if self.factor == 1.0 else self.factor * values

    @override
    def derivative(self, values: Values) -> Values:
        return torch.full_like(values, self.factor)

    @override
    def times(self, factor: float) -> Linear:
        return Linear(factor=factor * self.factor)


@dataclass(frozen=True, kw_only=True)
class Rectified(Term):
    """f(y) = max(0, gain * y + margin): the triplet loss of a difference of logits.

    Example:
        >>> Rectified(gain=2.0, margin=1.0)(torch.tensor([-1.0, 1.0])).tolist()
        [0.0, 3.0]
    """

    gain: float
    margin: float
    code: ClassVar[int] = 2

    @property
    @override
    def parameters(self) -> tuple[float, float]:
        return self.gain, self.margin

    @override
    def __call__(self, values: Values) -> Values:
        return torch.relu(self.gain * values + self.margin)

    @override
    def derivative(self, values: Values) -> Values:
        return self.gain * (self.gain * values + self.margin > 0).to(values.dtype)

    @override
    def times(self, factor: float) -> Rectified:
        return Rectified(gain=factor * self.gain, margin=factor * self.margin)


@dataclass(frozen=True, kw_only=True)
class Softened(Term):
    """f(y) = factor * log(1 + e^y), the softplus.

    Example:
        >>> round(Softened()(torch.tensor([0.0])).item(), 4)
        0.6931
    """

    factor: float = 1.0
    code: ClassVar[int] = 3

    @property
    @override
    def parameters(self) -> tuple[float, float]:
        return self.factor, 0.0

    @override
    def __call__(self, values: Values) -> Values:
        has_graph = values.requires_grad and torch.is_grad_enabled()
        softened = softplus(values) if has_graph else softplus_without_graph(values)
        return softened if self.factor == 1.0 else self.factor * softened

    @override
    def derivative(self, values: Values) -> Values:
        # Subnormal exponentials, of large inner products, are slow.
        slope = values.clamp(min=-_largest_exponent(values.dtype)).sigmoid_()
        return slope if self.factor == 1.0 else slope.mul_(self.factor)

    @override
    def times(self, factor: float) -> Softened:
        return Softened(factor=factor * self.factor)


@dataclass(frozen=True, kw_only=True)
class Clipped(Term):
    """f(y) = gain * y, cut to [-bound, bound].

    Example:
        >>> Clipped(gain=2.0, bound=1.0)(torch.tensor([-3.0, 0.25])).tolist()
        [-1.0, 0.5]
    """

    gain: float
    bound: float
    code: ClassVar[int] = 4

    @property
    @override
    def parameters(self) -> tuple[float, float]:
        return self.gain, self.bound

    @override
    def __call__(self, values: Values) -> Values:
        return (self.gain * values).clamp(-self.bound, self.bound)

    @override
    def derivative(self, values: Values) -> Values:
        return self.gain * ((self.gain * values).abs() <= self.bound).to(values.dtype)

    @override
    def times(self, factor: float) -> Clipped:
        return Clipped(gain=factor * self.gain, bound=factor * self.bound)


@dataclass(frozen=True, kw_only=True)
class Exponential(Term):
    """f(y) = factor * e^{offset - 2 y}: of a similarity y, an exponential of the squared distance.

    Example:
        >>> Exponential(offset=2.0, factor=-3.0)(torch.tensor([1.0])).tolist()
        [-3.0]
    """

    offset: float
    factor: float
    code: ClassVar[int] = 5

    @property
    @override
    def parameters(self) -> tuple[float, float]:
        return self.offset, self.factor

    @override
    def __call__(self, values: Values) -> Values:
        return self.factor * torch.exp(values * -2 + self.offset)

    @override
    def derivative(self, values: Values) -> Values:
        return -2 * self(values)

    @override
    def times(self, factor: float) -> Exponential:
        return Exponential(offset=self.offset, factor=factor * self.factor)
