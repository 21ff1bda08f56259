"""Set functions: what is extended."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_shape
from tammes.extensions.ground_set import GroundSet, Listed, Members, Order, Support, Sweep

ENTRIES_AT_ONCE = 1 << 24
"""Entries of the indicator vectors that one call of `SetFunction.values` gets along a sweep."""


class SetFunction(ABC):
    """A set function f on the ground set of every input of a batch, with f(empty set) = 0.

    A subclass gives `ground` and `values`. It may override `along`, which otherwise evaluates all sets of a
    sweep by `values`, and `multilinear` with a closed form of the multilinear extension.
    """

    @property
    @abstractmethod
    def ground(self) -> GroundSet:
        """Ground sets of all inputs."""

    @abstractmethod
    def values(self, members: Bool[Tensor, "*sets total"]) -> Float[Tensor, "*sets inputs"]:
        """Return f of sets, one value for each input in every indicator vector.

        Args:
            members: indicator vectors; the first n_0 entries are those of input 0.
        """

    def along(self, sweep: Sweep) -> Float[Tensor, "rows total"]:
        """Return f of the sets of a sweep: entry e of an input is f of the set that ends at place e."""
        ground, steps = sweep.ground, max(1, ENTRIES_AT_ONCE // sweep.order.numel())
        parts = [self.values(sweep.members(ends)) for ends in torch.arange(ground.widest).split(steps)]
        values = torch.cat(parts, dim=1)  # (rows, widest, inputs)
        return values[:, ground.position, ground.owner]

    def multilinear(self, x: Float[Tensor, "rows total"]) -> Float[Tensor, "rows inputs"] | None:
        """Return E f(S) where S has each element independently with probability x, or None if unknown."""
        return None

    def grow(self, order: Order, members: Members | None = None) -> Members:
        """Return sets grown greedily: each element in its turn is added if f is higher with it.

        Args:
            order: elements of each input in their order.
            members: sets to begin with; the empty sets unless given.

        Example:
            >>> f = BlackBox(functions=(lambda sets: (sets.sum(1) == 2).double(),), sizes=(3,))
            >>> f.grow(torch.tensor([2, 1, 0]), torch.tensor([True, False, False])).tolist()
            [True, False, True]
        """
        members = self.ground.empty_sets if members is None else members
        best, places = self.values(members), self.ground.places(order)
        for place in range(self.ground.widest):
            candidate = members | (places == place)
            found = self.values(candidate)
            better = found > best
            members = candidate.where(better[self.ground.owner], members)
            best = found.where(better, best)
        return members

    @cached_property
    def at_empty_set(self) -> Float[Tensor, " inputs"]:
        """f(empty set)."""
        return self.values(self.ground.empty_sets)

    def on(self, support: Support) -> Float[Tensor, "..."]:
        """Return f of every set of a support, in the support's shape.

        Raises:
            ValueError: if f gives another shape or NaN; the message names the set.
        """
        values = self.values(support.members) if isinstance(support, Listed) else self.along(support)
        check_shape("the values of a set function", values.shape, support.shape)
        for index in values.isnan().nonzero().tolist():
            raise ValueError(f"expected a number for every set, got NaN for {support.describe(index)}")
        return values


@dataclass(frozen=True, kw_only=True)
class BlackBox(SetFunction):
    """Any functions of indicator vectors, one for each input.

    Args:
        functions: functions from `(sets, n)` bool indicator vectors to `(sets,)` real numbers.
        sizes: number of elements n of each function's ground set.
        device: device of x; the CPU unless given.

    Raises:
        ValueError: if there are not as many sizes as functions; when called, if a function gives anything but
            a real tensor of the right shape.

    Example:
        >>> f = BlackBox(functions=(lambda sets: sets.sum(1).sqrt(),), sizes=(3,))
        >>> f.values(torch.tensor([[True, True, False], [False, False, False]])).shape
        torch.Size([2, 1])
    """

    functions: tuple[Callable[[Tensor], Tensor], ...]
    sizes: tuple[int, ...]
    device: torch.device | None = None

    def __post_init__(self) -> None:
        check_shape("sizes, one for each function,", (len(self.sizes),), (len(self.functions),))

    @cached_property
    @override
    def ground(self) -> GroundSet:
        return GroundSet(sizes=self.sizes, device=self.device or torch.device("cpu"))

    @override
    def values(self, members: Bool[Tensor, "*sets total"]) -> Float[Tensor, "*sets inputs"]:
        parts = members.reshape(-1, members.shape[-1]).split(list(self.sizes), dim=1)
        columns = [self._call(index, part) for index, part in enumerate(parts)]
        return torch.stack(columns, dim=-1).reshape(*members.shape[:-1], len(self.sizes))

    def _call(self, index: int, part: Tensor) -> Tensor:
        value = self.functions[index](part)
        name = f"the values of the set function of input {index}"
        if not isinstance(value, Tensor) or value.is_complex():
            got = value.dtype if isinstance(value, Tensor) else type(value).__name__
            raise ValueError(f"{name} must be a tensor of real numbers, got {got}")
        check_shape(f"{name}, one for each set,", value.shape, part.shape[:1])
        return value if value.is_floating_point() else value.to(torch.get_default_dtype())


@dataclass(frozen=True, kw_only=True)
class Normalized(SetFunction):
    """f(S) - f(empty set), for a set function f that is not 0 for the empty set.

    Args:
        function: the set function f.

    Example:
        >>> f = BlackBox(functions=(lambda sets: 2.0 + sets.sum(1),), sizes=(3,))
        >>> Normalized(function=f).values(torch.tensor([True, False, True])).item()
        2.0
    """

    function: SetFunction

    @property
    @override
    def ground(self) -> GroundSet:
        return self.function.ground

    @override
    def values(self, members: Bool[Tensor, "*sets total"]) -> Float[Tensor, "*sets inputs"]:
        return self.function.values(members) - self.function.at_empty_set

    @override
    def along(self, sweep: Sweep) -> Float[Tensor, "rows total"]:
        return self.function.along(sweep) - self.function.at_empty_set[self.ground.owner]

    @override
    def multilinear(self, x: Float[Tensor, "rows total"]) -> Float[Tensor, "rows inputs"] | None:
        known = self.function.multilinear(x)
        return None if known is None else known - self.function.at_empty_set
