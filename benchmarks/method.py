"""Methods that compute the same thing, task by task, and their inputs."""

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
    """A method does not reach the required accuracy."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """Number of pairs and of dimensions."""

    pairs: int
    dim: int

    @property
    def rows(self) -> int:
        """Number of rows of the similarity matrix of all views."""
        return 2 * self.pairs


@dataclass(frozen=True, kw_only=True)
class Method:
    """One implementation of a task.

    Args:
        name: name in the table.
        prepare: function that prepares one unit of work for a size, or raises `NotReachedError`; only the
            work is measured.
        limit: largest number of pairs; beyond it the matrices do not fit or a call takes minutes.
        needs: module that it requires.
    """

    name: str
    prepare: Callable[[Size], Work]
    limit: int = 10**9
    needs: str = "torch"

    def runs(self, size: Size) -> bool:
        """Return whether the method can be measured at this size on this machine."""
        return size.pairs <= self.limit and find_spec(self.needs) is not None


@dataclass(frozen=True, kw_only=True)
class Task:
    """Methods that do the same work; the first of `ours` is compared with the peers.

    Args:
        key: name on the command line.
        title: description of the work.
        ours: methods of this package.
        peers: hand-written methods and those of other packages.
        references: methods that are shown but not compared.
        products: number of products of a whole similarity matrix (rows^2 * d multiply-adds) that the task
            needs at least, or None if it depends on the number of iterations.
        agree: function of the size that raises if a method computes something else.
    """

    key: str
    title: str
    ours: tuple[Method, ...]
    peers: tuple[Method, ...]
    references: tuple[Method, ...] = ()
    products: float | None = None
    agree: Callable[[Size], None] | None = None

    def methods(self, size: Size) -> tuple[Method, ...]:
        """Return the methods that can be measured at this size, ours first."""
        every = (*self.ours, *self.peers, *self.references)
        return tuple(method for method in every if method.runs(size))

    def flops(self, size: Size) -> float | None:
        """Return the number of floating-point operations of these products."""
        return None if self.products is None else self.products * 2 * size.rows**2 * size.dim


def views(size: Size) -> tuple[Tensor, Tensor]:
    """Return embeddings of any length, as an encoder returns them, the second view near the first."""
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(size.pairs, size.dim, generator=generator)
    b = a + 0.5 * torch.randn(size.pairs, size.dim, generator=generator)
    return a.requires_grad_(), b.requires_grad_()


def training(step: Step) -> Callable[[Size], Work]:
    """Return the work of a loss in a training loop: its value, and the gradient of the raw embeddings."""

    def prepare(size: Size) -> Work:
        a, b = views(size)

        def work() -> None:
            a.grad = b.grad = None
            step(a, b)

        return work

    return prepare


def by_autograd(loss: Loss) -> Step:
    """Return the step of a loss whose backward pass is autograd's."""

    def step(a: Tensor, b: Tensor) -> Tensor:
        value = loss(a, b)
        value.backward()
        return value.detach()

    return step


@dataclass(frozen=True, kw_only=True)
class LossMethod:
    """One implementation of a loss; the fields are those of `Method`."""

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
    also_ours: tuple[LossMethod, ...] = (),
    references: tuple[Method, ...] = (),
) -> Task:
    """Return a task whose methods compute one loss, which is checked in value and gradient."""

    def method(one: LossMethod) -> Method:
        return Method(name=one.name, prepare=training(one.step), limit=one.limit, needs=one.needs)

    def agree(size: Size) -> None:
        every = (ours, *also_ours, *peers)
        assert_same_loss({one.name: one.step for one in every if method(one).runs(size)}, size)

    return Task(
        key=key,
        title=f"{title}, forward and backward",
        ours=tuple(method(one) for one in (ours, *also_ours)),
        peers=tuple(method(peer) for peer in peers),
        references=references,
        products=products,
        agree=agree,
    )


def assert_same_loss(steps: dict[str, Step], size: Size) -> None:
    """Raise an error if a loss or its gradient differs from that of the first method.

    Raises:
        RuntimeError: a loss or gradient that differs, by the name of its method.
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
