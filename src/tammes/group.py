"""The processes that compute one loss together, each on its own anchors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from typing_extensions import override


class Group(ABC):
    """Process group of an objective: two reductions, and errors that all processes raise together.

    Every process must call the same methods in the same order. A process that shares its batch with no other
    is a `Single`.
    """

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of processes."""

    @property
    @abstractmethod
    def rank(self) -> int:
        """Position of this process among them, from 0."""

    @abstractmethod
    def sum(self, values: Tensor) -> Tensor:
        """Return the sum over the processes, entry by entry; without gradient, the same on every process."""

    @abstractmethod
    def largest(self, values: Tensor) -> Tensor:
        """Return the maximum over the processes, entry by entry; without gradient, the same on each."""

    @abstractmethod
    def failing_together(self, caller: object = "") -> AbstractContextManager[None]:
        """Return a context in which a ValueError of one process is raised on all of them, with its rank.

        The processes wait for each other when they leave it, so nothing within may make them wait.

        Args:
            caller: the objective that is computed; if the processes have different ones, all raise a
                ValueError that shows them.
        """

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean of the values of all processes, one number, the same on every process.

        Its gradient is `size` times that of this process' part of the mean, so that the average of the
        processes' gradients, which data-parallel training takes, is the gradient of the mean.

        Args:
            values: `(n,)` values; n may differ between processes.
        """
        if self.size == 1:
            return values.mean()
        return _Mean.apply(values, self)  # type: ignore[no-untyped-call]

    def log_sum_exp(self, values: Tensor) -> Tensor:
        """Return the logarithm of the sum over the processes of e^value, entry by entry; without gradient."""
        if self.size == 1:
            return values
        top = self.largest(values)
        shift = torch.where(top == -torch.inf, 0.0, top)
        return self.sum(torch.exp(values - shift)).log_() + shift


@dataclass(frozen=True)
class Single(Group):
    """One process, alone.

    Example:
        >>> Single().mean(torch.tensor([1.0, 3.0]))
        tensor(2.)
    """

    @property
    @override
    def size(self) -> int:
        return 1

    @property
    @override
    def rank(self) -> int:
        return 0

    @override
    def sum(self, values: Tensor) -> Tensor:
        return values

    @override
    def largest(self, values: Tensor) -> Tensor:
        return values

    @override
    def failing_together(self, caller: object = "") -> AbstractContextManager[None]:
        return nullcontext()


class _Mean(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, group: Group) -> Tensor:
        # One exchange for both; double precision holds any count.
        count = torch.tensor(len(values), dtype=torch.double, device=values.device)
        total, count = group.sum(torch.stack([values.sum(dtype=torch.double), count]))
        ctx.slope, ctx.own = group.size / count, values.shape
        return (total / count).to(values.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return (gradient * ctx.slope.to(gradient.dtype)).expand(ctx.own), None
