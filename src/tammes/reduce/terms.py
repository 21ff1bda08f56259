"""The pointwise functions that the parts use, known by name so that a kernel can compute them too."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

Values = Float[Tensor, "*shape"]


class Term(ABC):
    """A monotone function f of one number, applied to each entry of a tensor.

    Any function of a tensor may stand where a term does; it is then reduced by the engine that knows
    nothing but torch.
    """

    code: ClassVar[int]
    """The number by which kernels know it."""

    @property
    @abstractmethod
    def parameters(self) -> tuple[float, float]:
        """The two numbers that a kernel needs; those that are not needed are zero."""

    @abstractmethod
    def __call__(self, values: Values) -> Values:
        """f, entry by entry."""

    @abstractmethod
    def derivative(self, values: Values) -> Values:
        """f', entry by entry; where f has a corner, what torch's own gradient says."""

    @abstractmethod
    def times(self, factor: float) -> Term:
        """Factor * f, for a positive factor."""

    def limits(self, bound: float) -> tuple[float, float]:
        """The least and the largest value of f on [-bound, bound]."""
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
    def parameters(self) -> tuple[float, float]:
        """(factor, 0)."""
        return self.factor, 0.0

    def __call__(self, values: Values) -> Values:
        """See `Term.__call__`."""
        return values if self.factor == 1.0 else self.factor * values

    def derivative(self, values: Values) -> Values:
        """See `Term.derivative`."""
        return torch.full_like(values, self.factor)

    def times(self, factor: float) -> Linear:
        """See `Term.times`."""
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
    def parameters(self) -> tuple[float, float]:
        """(gain, margin)."""
        return self.gain, self.margin

    def __call__(self, values: Values) -> Values:
        """See `Term.__call__`."""
        return torch.relu(self.gain * values + self.margin)

    def derivative(self, values: Values) -> Values:
        """See `Term.derivative`."""
        return self.gain * (self.gain * values + self.margin > 0).to(values.dtype)

    def times(self, factor: float) -> Rectified:
        """See `Term.times`."""
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
    def parameters(self) -> tuple[float, float]:
        """(factor, 0)."""
        return self.factor, 0.0

    def __call__(self, values: Values) -> Values:
        """See `Term.__call__`."""
        softplus = functional.softplus(values)
        return softplus if self.factor == 1.0 else self.factor * softplus

    def derivative(self, values: Values) -> Values:
        """See `Term.derivative`."""
        return self.factor * torch.sigmoid(values)

    def times(self, factor: float) -> Softened:
        """See `Term.times`."""
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
    def parameters(self) -> tuple[float, float]:
        """(gain, bound)."""
        return self.gain, self.bound

    def __call__(self, values: Values) -> Values:
        """See `Term.__call__`."""
        return (self.gain * values).clamp(-self.bound, self.bound)

    def derivative(self, values: Values) -> Values:
        """See `Term.derivative`."""
        return self.gain * ((self.gain * values).abs() <= self.bound).to(values.dtype)

    def times(self, factor: float) -> Clipped:
        """See `Term.times`."""
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
    def parameters(self) -> tuple[float, float]:
        """(offset, factor)."""
        return self.offset, self.factor

    def __call__(self, values: Values) -> Values:
        """See `Term.__call__`."""
        return self.factor * torch.exp(values * -2 + self.offset)

    def derivative(self, values: Values) -> Values:
        """See `Term.derivative`."""
        return -2 * self(values)

    def times(self, factor: float) -> Exponential:
        """See `Term.times`."""
        return Exponential(offset=self.offset, factor=factor * self.factor)
