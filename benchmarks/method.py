"""What is compared: methods that compute the same thing, in groups, and what they are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import Tensor

TEMPERATURE, BETA, CLASS_PRIOR, EPSILON = 0.5, 1.0, 0.1, 0.3

Loss = Callable[[Tensor, Tensor], Tensor]
Work = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Size:
    """How many pairs there are, in how many dimensions."""

    pairs: int
    dim: int

    @property
    def rows(self) -> int:
        """Rows of the similarity matrix of all views against all views."""
        return 2 * self.pairs


@dataclass(frozen=True, kw_only=True)
class Method:
    """One way to do a group's work.

    Args:
        name: what the table calls it.
        prepare: makes one unit of work ready for a size; only the work is measured.
        limit: up to how many pairs it is run: beyond, its matrices would not fit or it would take minutes.
        needs: the module without which it cannot run.
    """

    name: str
    prepare: Callable[[Size], Work]
    limit: int = 10**9
    needs: str = "torch"

    def runs(self, size: Size) -> bool:
        """Whether it can be measured at this size, here."""
        return size.pairs <= self.limit and find_spec(self.needs) is not None


@dataclass(frozen=True, kw_only=True)
class Group:
    """Methods for one task; `ours` come first and are compared with the rest.

    Args:
        key: its name on the command line.
        title: what is computed.
        ours: this package.
        peers: what one would write or pick instead.
        products: how many times the rows^2 * d multiply-adds of one whole similarity matrix the task cannot
            do without, or None where the count depends on how many iterations are made.
        agree: raises where a method computes something else; takes the size.
    """

    key: str
    title: str
    ours: tuple[Method, ...]
    peers: tuple[Method, ...]
    products: float | None = None
    agree: Callable[[Size], None] | None = None

    def methods(self, size: Size) -> tuple[Method, ...]:
        """Those that can be measured at this size, ours first."""
        return tuple(method for method in (*self.ours, *self.peers) if method.runs(size))

    def flops(self, size: Size) -> float | None:
        """Floating-point operations of those products."""
        return None if self.products is None else self.products * 2 * size.rows**2 * size.dim


def views(size: Size) -> tuple[Tensor, Tensor]:
    """Embeddings as an encoder leaves them, of any length, the second view near the first."""
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(size.pairs, size.dim, generator=generator)
    b = a + 0.5 * torch.randn(size.pairs, size.dim, generator=generator)
    return a.requires_grad_(), b.requires_grad_()


def training(loss: Loss) -> Callable[[Size], Work]:
    """The work of a loss in a training loop: its value, and the gradient at the raw embeddings."""

    def prepare(size: Size) -> Work:
        a, b = views(size)

        def work() -> None:
            a.grad = b.grad = None
            loss(a, b).backward()

        return work

    return prepare


def assert_same_loss(losses: dict[str, Loss], size: Size) -> None:
    """Raises where a loss or its gradient is not that of the first of them.

    Raises:
        RuntimeError: names the loss.
    """
    expected: tuple[Tensor, ...] | None = None
    for name, loss in losses.items():
        a, b = views(size)
        value = loss(a, b)
        got = (value.detach(), *torch.autograd.grad(value, (a, b)))
        expected = expected or got
        for one, other in zip(got, expected, strict=True):
            if not torch.allclose(one, other, rtol=1e-3, atol=1e-3 * float(other.abs().max())):
                raise RuntimeError(f"{name} computes another loss: {float(got[0])}, not {float(expected[0])}")
