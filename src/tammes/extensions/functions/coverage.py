"""Coverage: how many items a choice of sets covers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_indices, check_shape
from tammes.extensions.functions.set_function import SetFunction
from tammes.extensions.graphs import Graphs
from tammes.extensions.ground_set import GroundSet, Sweep


@dataclass(frozen=True, eq=False, kw_only=True)
class Covers:
    """Incidence of elements and items: which items each element of the ground sets covers.

    Args:
        ground: ground sets of the elements to choose from.
        items: number of items to be covered, over all inputs.
        incidence: `(2, m)`, pairs of an element and an item that it covers, each pair once. An item belongs
            to one input: all elements that cover it are of that input.

    Raises:
        ValueError: for pairs out of range or repeated, and for an item that two inputs share.

    Example:
        >>> covers = Covers(
        ...     ground=GroundSet(sizes=(2,)), items=3, incidence=torch.tensor([[0, 0, 1, 1], [0, 1, 1, 2]])
        ... )
        >>> Coverage(covers=covers).values(torch.tensor([True, True])).item()
        3.0
    """

    ground: GroundSet
    items: int
    incidence: Int[Tensor, "2 m"]

    def __post_init__(self) -> None:
        check_shape("incidence", self.incidence.shape, (2, None))
        element, item = self.incidence
        check_indices("elements", element, self.ground.total)
        check_indices("items", item, self.items)
        if len((element * self.items + item).unique()) < self.incidence.shape[1]:
            raise ValueError("expected each pair of an element and an item once, got one twice")
        if bool((self.owner[item] != self.ground.owner[element]).any()):
            raise ValueError("expected an item to belong to one input, got one that two inputs cover")

    @classmethod
    def neighborhoods(cls, graphs: Graphs) -> "Covers":
        """Return the covers of graphs in which every node covers itself and its neighbors."""
        nodes = torch.arange(graphs.ground.total, device=graphs.edges.device)
        incidence = torch.cat([nodes.expand(2, -1), graphs.arcs], dim=1)
        return cls(ground=graphs.ground, items=graphs.ground.total, incidence=incidence)

    @cached_property
    def owner(self) -> Int[Tensor, " items"]:
        """Input of each item; 0 for an item that no element covers."""
        owner = torch.zeros(self.items, dtype=torch.long, device=self.incidence.device)
        return owner.scatter(0, self.incidence[1], self.ground.owner[self.incidence[0]])

    @cached_property
    def largest(self) -> int:
        """Number of items that the element with the most of them covers."""
        return int(torch.bincount(self.incidence[0], minlength=1).max())


@dataclass(frozen=True, eq=False, kw_only=True)
class Coverage(SetFunction):
    """The number of items that a set covers (monotone and submodular), or a function of it and of the size.

    Args:
        covers: which items each element covers.
        score: f from the number of covered items and the number of elements of many sets at once, 0 for the
            empty set; None for the number of covered items itself.

    Example:
        >>> graph = Graphs.of(torch.tensor([[0, 1], [1, 2]]), sizes=(3,))
        >>> covers = Covers.neighborhoods(graph)
        >>> paid = Coverage(covers=covers, score=lambda covered, size: covered - 2 * size)
        >>> paid.values(torch.tensor([False, True, False])).item()
        1.0
    """

    covers: Covers
    score: Callable[[Tensor, Tensor], Tensor] | None = None

    @property
    @override
    def ground(self) -> GroundSet:
        return self.covers.ground

    @override
    def values(self, members: Bool[Tensor, "*sets total"]) -> Float[Tensor, "*sets inputs"]:
        element, item = self.covers.incidence
        count = torch.zeros(*members.shape[:-1], self.covers.items, dtype=torch.long, device=members.device)
        count.index_add_(-1, item, members[..., element].long())
        covered = self.ground.sum((count > 0).double(), self.covers.owner)
        return covered if self.score is None else self.score(covered, self.ground.sum(members.long()))

    @override
    def along(self, sweep: Sweep) -> Float[Tensor, "rows total"]:
        # In O(m log m) for m pairs. With the places p of the elements that cover an item sorted, each element
        # accounts for the item from its p until the next of them takes over, or until it leaves the window.
        ground, (element, item) = sweep.ground, self.covers.incidence
        keys = (item * ground.widest + sweep.rank[:, element]).sort(dim=1).values
        item, place = keys[0] // ground.widest, keys % ground.widest  # the items are the same in every row
        same_item = torch.nn.functional.pad(item, (0, 1), value=-1)[1:] == item
        until = torch.nn.functional.pad(place, (0, 1))[:, 1:].where(same_item, ground.widest)
        if sweep.width is not None:
            until = until.minimum(place + sweep.width)
        covered = ground.overlaps(self.covers.owner[item], place, until).double()
        return covered if self.score is None else self.score(covered, sweep.sizes)

    @override
    def multilinear(self, x: Float[Tensor, "rows total"]) -> Float[Tensor, "rows inputs"] | None:
        if self.score is not None:
            return None
        # An item is covered with probability 1 - prod (1 - x) over the elements that cover it.
        element, item = self.covers.incidence
        missed = x.new_ones(len(x), self.covers.items)
        missed = missed.scatter_reduce(1, item.expand(len(x), -1), 1 - x[:, element], "prod")
        return self.ground.sum(1 - missed, self.covers.owner)
