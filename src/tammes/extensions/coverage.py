"""How much a choice of sets covers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tammes.extensions.graphs import Graphs
from tammes.extensions.ground_set import GroundSet
from tammes.extensions.set_function import SetFunction
from tammes.extensions.sweep import Sweep


@dataclass(frozen=True, eq=False, kw_only=True)
class Covers:
    """Which things each element of the ground sets covers.

    Args:
        ground: the elements to choose from.
        things: how many there are to be covered, over all inputs.
        incidence: `(2, m)`: an element and a thing that it covers, each pair once. A thing belongs to one
            input: all elements that cover it are of that input.

    Raises:
        ValueError: for pairs out of range or repeated, and for a thing that two inputs share.

    Example:
        >>> covers = Covers(
        ...     ground=GroundSet(sizes=(2,)), things=3, incidence=torch.tensor([[0, 0, 1, 1], [0, 1, 1, 2]])
        ... )
        >>> Covered(covers=covers).values(torch.tensor([True, True])).item()
        3.0
    """

    ground: GroundSet
    things: int
    incidence: Int[Tensor, "2 m"]

    def __post_init__(self) -> None:
        element, thing = self.incidence
        if self.incidence.numel() and not (
            0 <= int(element.min()) <= int(element.max()) < self.ground.total
            and 0 <= int(thing.min()) <= int(thing.max()) < self.things
        ):
            raise ValueError(
                f"expected elements 0 to {self.ground.total - 1} and things 0 to {self.things - 1}, "
                f"got elements up to {int(element.max())} and things up to {int(thing.max())}"
            )
        if len((element * self.things + thing).unique()) < self.incidence.shape[1]:
            raise ValueError("expected each pair of an element and a thing once, got one twice")
        if bool((self.owner[thing] != self.ground.owner[element]).any()):
            raise ValueError("expected a thing to belong to one input, got one that two inputs cover")

    @classmethod
    def neighborhoods(cls, graphs: Graphs) -> Covers:
        """Every node covers itself and its neighbors."""
        nodes = torch.arange(graphs.ground.total, device=graphs.edges.device)
        element = torch.cat([nodes, graphs.edges[0], graphs.edges[1]])
        thing = torch.cat([nodes, graphs.edges[1], graphs.edges[0]])
        incidence = torch.stack([element, thing])
        return cls(ground=graphs.ground, things=graphs.ground.total, incidence=incidence)

    @cached_property
    def owner(self) -> Int[Tensor, " things"]:
        """The input of each thing; 0 for those that nothing covers."""
        owner = torch.zeros(self.things, dtype=torch.long, device=self.incidence.device)
        return owner.scatter(0, self.incidence[1], self.ground.owner[self.incidence[0]])

    @cached_property
    def covering(self) -> Int[Tensor, "things most"]:
        """The elements that cover each thing, filled up with the number of all elements."""
        element, thing = self.incidence[:, self.incidence[1].argsort(stable=True)]
        count = torch.bincount(thing, minlength=self.things)
        place = torch.arange(len(thing), device=thing.device) - (count.cumsum(0) - count)[thing]
        most = int(count.max()) if self.things else 0
        table = torch.full((self.things, most), self.ground.total, device=thing.device)
        table[thing, place] = element
        return table

    @cached_property
    def largest(self) -> int:
        """The most that a single element covers."""
        return int(torch.bincount(self.incidence[0], minlength=1).max()) if self.incidence.numel() else 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Covered(SetFunction):
    """The number of things that a set of elements covers; monotone and submodular.

    Args:
        covers: who covers what.
    """

    covers: Covers

    @property
    def ground(self) -> GroundSet:
        """The elements."""
        return self.covers.ground

    def values(self, members: Bool[Tensor, "*sets total"]) -> Float[Tensor, "*sets inputs"]:
        """See `SetFunction.values`."""
        element, thing = self.covers.incidence
        count = torch.zeros(*members.shape[:-1], self.covers.things, dtype=torch.long, device=members.device)
        count.index_add_(-1, thing, members[..., element].long())
        return self._by_input((count > 0).double())

    def along(self, sweep: Sweep) -> Float[Tensor, "rows total"]:
        """See `SetFunction.along`; O(m log m).

        With the places p of the elements that cover a thing sorted, each covers it from p until the next of
        them, or until it leaves the window at p + width.
        """
        ground, (element, thing) = sweep.ground, self.covers.incidence
        place = sweep.rank[:, element]  # (rows, m)
        order = (thing * ground.widest + place).argsort(dim=1)
        place, thing = place.gather(1, order), thing[order]
        owner = self.covers.owner[thing]
        size, start = ground.size[owner], ground.offsets[owner]
        same = torch.nn.functional.pad(thing[:, 1:] == thing[:, :-1], (0, 1))
        until = torch.nn.functional.pad(place[:, 1:], (0, 1)).where(same, size)
        if sweep.width is not None:
            until = until.minimum(place + sweep.width)
        ends = until < size
        changes = torch.zeros_like(sweep.rank)
        changes.scatter_add_(1, place + start, torch.ones_like(place))
        changes.scatter_add_(1, until.where(ends, 0) + start, -ends.long())
        return ground.running(changes).double()

    def multilinear(self, x: Float[Tensor, "rows total"]) -> Float[Tensor, "rows inputs"] | None:
        """See `SetFunction.multilinear`: sum over things of 1 - prod over who covers it of (1 - x)."""
        chance = torch.nn.functional.pad(1 - x, (0, 1), value=1.0)
        return self._by_input(1 - chance[:, self.covers.covering].prod(-1))

    def _by_input(self, values: Tensor) -> Tensor:
        zeros = values.new_zeros(*values.shape[:-1], self.ground.inputs)
        return zeros.index_add(-1, self.covers.owner, values)


@dataclass(frozen=True, eq=False, kw_only=True)
class CoverageFunction(SetFunction):
    """A function of how much a set covers and of how many elements it has.

    Args:
        covers: who covers what.
        score: from both numbers, of many sets at once, to f; 0 for the empty set.

    Example:
        >>> graph = Graphs.of(torch.tensor([[0, 1], [1, 2]]), sizes=(3,))
        >>> paid = CoverageFunction(
        ...     covers=Covers.neighborhoods(graph), score=lambda covered, size: covered - 2 * size
        ... )
        >>> paid.values(torch.tensor([False, True, False])).item()
        1.0
    """

    covers: Covers
    score: Callable[[Tensor, Tensor], Tensor]

    @property
    def ground(self) -> GroundSet:
        """The elements."""
        return self.covers.ground

    def values(self, members: Bool[Tensor, "*sets total"]) -> Float[Tensor, "*sets inputs"]:
        """See `SetFunction.values`."""
        return self.score(Covered(covers=self.covers).values(members), self.ground.sum(members.long()))

    def along(self, sweep: Sweep) -> Float[Tensor, "rows total"]:
        """See `SetFunction.along`."""
        return self.score(Covered(covers=self.covers).along(sweep), sweep.sizes)
