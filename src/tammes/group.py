"""The processes that compute one loss together, each on its own anchors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


class Group(ABC):
    """What an objective needs of the other processes: two reductions, and that none fails alone.

    Every process must call the same methods in the same order. Processes without a common group, that is
    all of them unless a source says otherwise, are each a `Single`.
    """

    @property
    @abstractmethod
    def size(self) -> int:
        """How many processes there are."""

    @abstractmethod
    def sum(self, values: Tensor) -> Tensor:
        """The sum over the processes, entry by entry; without gradient, the same on every process."""

    @abstractmethod
    def largest(self, values: Tensor) -> Tensor:
        """The maximum over the processes, entry by entry; without gradient, the same on every process."""

    @abstractmethod
    def failing_together(self) -> AbstractContextManager[None]:
        """Within it, a ValueError on one process is raised on all of them, with the rank it came from.

        On leaving, the processes wait for each other; so nothing within may make them wait.
        """

    def mean(self, values: Tensor) -> Tensor:
        """The mean of the values of all processes, a number, the same on every process.

        Its gradient is `size` times that of this process' part of the mean, so that the average of the
        processes' gradients, which data-parallel training takes, is the gradient of the mean.

        Args:
            values: `(n,)`, where n may differ between processes.
        """
        if self.size == 1:
            return values.mean()
        return _Mean.apply(values, self)  # type: ignore[no-untyped-call]

    def log_sum_exp(self, values: Tensor) -> Tensor:
        """Log of the sum over the processes of e^value, entry by entry; without gradient."""
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
    def size(self) -> int:
        """1."""
        return 1

    def sum(self, values: Tensor) -> Tensor:
        """The values."""
        return values

    def largest(self, values: Tensor) -> Tensor:
        """The values."""
        return values

    def failing_together(self) -> AbstractContextManager[None]:
        """Nobody waits."""
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
