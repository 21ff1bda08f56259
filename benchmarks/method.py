"""What is compared: methods that compute the same thing, task by task, and what they are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import Tensor

TEMPERATURE, BETA, CLASS_PRIOR, EPSILON = 0.5, 1.0, 0.1, 0.3

Loss = Callable[[Tensor, Tensor], Tensor]
"""From the raw embeddings of two views to a scalar."""
Step = Callable[[Tensor, Tensor], Tensor]
"""A loss and its backward pass: leaves the gradients in `.grad` and returns the value."""
Work = Callable[[], object]
"""What is timed."""


class NotReachedError(RuntimeError):
    """A method does not come to the accuracy asked for."""


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
    """One way to do a task's work.

    Args:
        name: what the table calls it.
        prepare: makes one unit of work ready for a size, or raises `NotReachedError`; only the work is
            measured.
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
class Task:
    """Methods for one thing to do; the first of `ours` is compared with the peers.

    Args:
        key: its name on the command line.
        title: what is computed.
        ours: this package.
        peers: what one would write or pick instead.
        references: for the reader, not for the comparison.
        products: how many times the rows^2 * d multiply-adds of one whole similarity matrix the task cannot
            do without, or None where the count depends on how many iterations are made.
        agree: raises where a method computes something else; takes the size.
    """

    key: str
    title: str
    ours: tuple[Method, ...]
    peers: tuple[Method, ...]
    references: tuple[Method, ...] = ()
    products: float | None = None
    agree: Callable[[Size], None] | None = None

    def methods(self, size: Size) -> tuple[Method, ...]:
        """Those that can be measured at this size, ours first."""
        every = (*self.ours, *self.peers, *self.references)
        return tuple(method for method in every if method.runs(size))

    def flops(self, size: Size) -> float | None:
        """Floating-point operations of those products."""
        return None if self.products is None else self.products * 2 * size.rows**2 * size.dim


def views(size: Size) -> tuple[Tensor, Tensor]:
    """Embeddings as an encoder leaves them, of any length, the second view near the first."""
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(size.pairs, size.dim, generator=generator)
    b = a + 0.5 * torch.randn(size.pairs, size.dim, generator=generator)
    return a.requires_grad_(), b.requires_grad_()


def training(step: Step) -> Callable[[Size], Work]:
    """The work of a loss in a training loop: its value, and the gradient at the raw embeddings."""

    def prepare(size: Size) -> Work:
        a, b = views(size)

        def work() -> None:
            a.grad = b.grad = None
            step(a, b)

        return work

    return prepare


def by_autograd(loss: Loss) -> Step:
    """The step of a loss that leaves its backward pass to autograd."""

    def step(a: Tensor, b: Tensor) -> Tensor:
        value = loss(a, b)
        value.backward()
        return value.detach()

    return step


@dataclass(frozen=True, kw_only=True)
class LossMethod:
    """One way to compute a loss; the fields are those of `Method`."""

    name: str
    step: Step
    limit: int = 10**9
    needs: str = "torch"


def loss_task(
    *,
    key: str,
    title: str,
    ours: LossMethod,
    peers: tuple[LossMethod, ...],
    products: float | None,
    references: tuple[Method, ...] = (),
) -> Task:
    """A task whose methods all compute one loss, which is checked in value and gradient."""

    def method(one: LossMethod) -> Method:
        return Method(name=one.name, prepare=training(one.step), limit=one.limit, needs=one.needs)

    def agree(size: Size) -> None:
        assert_same_loss({one.name: one.step for one in (ours, *peers) if method(one).runs(size)}, size)

    return Task(
        key=key,
        title=f"{title}, forward and backward",
        ours=(method(ours),),
        peers=tuple(method(peer) for peer in peers),
        references=references,
        products=products,
        agree=agree,
    )


def assert_same_loss(steps: dict[str, Step], size: Size) -> None:
    """Raises where a loss or its gradient is not that of the first of them.

    Raises:
        RuntimeError: names the loss.
    """
    expected: tuple[Tensor, ...] | None = None
    for name, step in steps.items():
        a, b = views(size)
        value = step(a, b)
        assert a.grad is not None
        assert b.grad is not None
        got = (value, a.grad, b.grad)
        expected = expected or got
        for one, other in zip(got, expected, strict=True):
            if not torch.allclose(one, other, rtol=1e-3, atol=1e-3 * float(other.abs().max())):
                raise RuntimeError(f"{name} computes another loss: {float(value)}, not {float(expected[0])}")
