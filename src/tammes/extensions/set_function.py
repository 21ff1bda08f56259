"""Set functions: what is extended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tammes.extensions.ground_set import GroundSet

if TYPE_CHECKING:
    from tammes.extensions.sweep import Sweep

MOST_AT_ONCE = 1 << 24
"""Entries of indicator vectors that are made at once."""


class SetFunction(ABC):
    """A set function f on the ground set of every input of a batch, with f(empty set) = 0.

    A subclass gives `ground` and `values`. What else it knows, it may offer: values along a sweep, which
    costs one call of `values` with all sets otherwise, and a closed form of the multilinear extension.
    """

    @property
    @abstractmethod
    def ground(self) -> GroundSet:
        """The ground sets of all inputs."""

    @abstractmethod
    def values(self, members: Bool[Tensor, "*sets total"]) -> Float[Tensor, "*sets inputs"]:
        """F of sets, one for each input in every indicator vector.

        Args:
            members: which elements are in the sets; the first n_0 entries are the first input's.
        """

    def along(self, sweep: Sweep) -> Float[Tensor, "rows total"]:
        """F of the sets of a sweep: entry e of an input is f of the set that ends at place e."""
        ground = sweep.ground
        rows, total = sweep.order.shape
        steps = max(1, MOST_AT_ONCE // (rows * total))
        parts = [
            self.values(sweep.members(torch.arange(first, min(first + steps, ground.widest))))
            for first in range(0, ground.widest, steps)
        ]
        values = torch.cat(parts, dim=1)  # (rows, widest, inputs)
        return values[:, ground.position, ground.owner]

    def multilinear(self, x: Float[Tensor, "rows total"]) -> Float[Tensor, "rows inputs"] | None:
        """E f(S) where elements are in S independently, each with probability x; None where unknown."""
        return None

    @cached_property
    def of_nothing(self) -> Float[Tensor, " inputs"]:
        """f(empty set)."""
        return self.values(torch.zeros(self.ground.total, dtype=torch.bool, device=self.ground.device))


@dataclass(frozen=True, kw_only=True)
class BlackBox(SetFunction):
    """Any functions of indicator vectors, one for each input.

    Args:
        functions: each takes `(sets, n)` indicator vectors, bool, and gives `(sets,)` numbers.
        sizes: the number of elements n of each one's ground set.
        device: that of x.

    Raises:
        ValueError: if there are not as many sizes as functions; when called, if a function gives another
            shape or something that is no tensor.

    Example:
        >>> f = BlackBox(functions=(lambda sets: sets.sum(1).sqrt(),), sizes=(3,))
        >>> f.values(torch.tensor([[True, True, False], [False, False, False]])).shape
        torch.Size([2, 1])
    """

    functions: tuple[Callable[[Tensor], Tensor], ...]
    sizes: tuple[int, ...]
    device: torch.device | None = None

    def __post_init__(self) -> None:
        if len(self.functions) != len(self.sizes):
            raise ValueError(
                f"expected a size for each function, got {len(self.functions)} functions "
                f"and {len(self.sizes)} sizes"
            )

    @cached_property
    def ground(self) -> GroundSet:
        """The ground sets, of the sizes given."""
        return GroundSet(sizes=self.sizes, device=self.device or torch.device("cpu"))

    def values(self, members: Bool[Tensor, "*sets total"]) -> Float[Tensor, "*sets inputs"]:
        """See `SetFunction.values`."""
        parts = members.flatten(0, -2) if members.dim() > 1 else members[None]
        columns = [
            self._call(number, part) for number, part in enumerate(parts.split(list(self.sizes), dim=1))
        ]
        return torch.stack(columns, dim=-1).reshape(*members.shape[:-1], len(self.sizes))

    def _call(self, number: int, part: Tensor) -> Tensor:
        given = self.functions[number](part)
        if not isinstance(given, Tensor):
            raise ValueError(
                f"expected the set function of input {number} to give a tensor, got {type(given).__name__}"
            )
        if given.shape != part.shape[:1]:
            raise ValueError(
                f"expected the set function of input {number} to give one number for each of "
                f"{len(part)} sets, shape ({len(part)},), got shape {tuple(given.shape)}"
            )
        if given.is_complex():
            raise ValueError(f"expected the set function of input {number} to be real, got {given.dtype}")
        return given if given.is_floating_point() else given.to(torch.get_default_dtype())


@dataclass(frozen=True, kw_only=True)
class Normalized(SetFunction):
    """f(S) - f(empty set): a set function that extensions can take, where f(empty set) is not 0.

    Args:
        function: f.

    Example:
        >>> f = BlackBox(functions=(lambda sets: 2.0 + sets.sum(1),), sizes=(3,))
        >>> Normalized(function=f).values(torch.tensor([True, False, True])).item()
        2.0
    """

    function: SetFunction

    @property
    def ground(self) -> GroundSet:
        """The ground sets of f."""
        return self.function.ground

    def values(self, members: Bool[Tensor, "*sets total"]) -> Float[Tensor, "*sets inputs"]:
        """See `SetFunction.values`."""
        return self.function.values(members) - self.function.of_nothing

    def along(self, sweep: Sweep) -> Float[Tensor, "rows total"]:
        """See `SetFunction.along`."""
        return self.function.along(sweep) - self.function.of_nothing[self.ground.owner]

    def multilinear(self, x: Float[Tensor, "rows total"]) -> Float[Tensor, "rows inputs"] | None:
        """See `SetFunction.multilinear`."""
        known = self.function.multilinear(x)
        return None if known is None else known - self.function.of_nothing
