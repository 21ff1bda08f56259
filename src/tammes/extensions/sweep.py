"""A window that slides along an order of the elements: every extension with few sets has such a support."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tammes.extensions.ground_set import GroundSet
from tammes.extensions.set_function import SetFunction
from tammes.extensions.support import Support, expect_numbers, not_a_number


@dataclass(frozen=True, eq=False, kw_only=True)
class Sweep(Support):
    """The sets of the last `width` elements up to each place of an order.

    With places counted from 0, the set that ends at place e holds those at max(0, e - width + 1), ..., e. A
    width of 1 gives the singletons; None stands for as many as there are, which gives a chain of nested sets.
    A number for each set is `(rows, total)`: entry e of an input belongs to the set that ends at place e.

    Args:
        ground: of the inputs.
        order: `(rows, total)`, the elements of each input in their order, as indices into all elements.
        width: of the window, at least 1, or None.

    Example:
        >>> sweep = Sweep(ground=GroundSet(sizes=(3,)), order=torch.tensor([[2, 0, 1]]), width=2)
        >>> sweep.members(torch.arange(3))[0].int().tolist()
        [[0, 0, 1], [1, 0, 1], [1, 1, 0]]
    """

    ground: GroundSet
    order: Int[Tensor, "rows total"]
    width: int | None = None

    @cached_property
    def rank(self) -> Int[Tensor, "rows total"]:
        """The place of each element within its input's order."""
        places = self.ground.position.expand_as(self.order)
        return torch.empty_like(self.order).scatter_(1, self.order, places)

    @cached_property
    def sizes(self) -> Int[Tensor, "rows total"]:
        """How many elements each set has."""
        size = (self.ground.position + 1).expand_as(self.order)
        return size if self.width is None else size.clamp(max=self.width)

    def members(self, ends: Int[Tensor, " steps"]) -> Bool[Tensor, "rows steps total"]:
        """The sets that end at these places; an input that is shorter repeats its last set."""
        last = self.ground.size[self.ground.owner] - 1
        end = ends.to(last.device)[:, None].minimum(last)  # (steps, total)
        return self._inside(self.rank[:, None], end)

    def values(self, f: SetFunction) -> Float[Tensor, "rows total"]:
        """See `Support.values`."""
        values = f.along(self)
        expect_numbers(values, tuple(self.order.shape))
        for row, place in values.isnan().nonzero().tolist():
            owner, end = int(self.ground.owner[place]), self.ground.position[place]
            named = self.ground.names(self.members(end[None])[row, 0], owner)
            raise ValueError(not_a_number(named, owner))
        return values

    def sum(self, numbers: Float[Tensor, "rows total"]) -> Float[Tensor, "rows inputs"]:
        """See `Support.sum`."""
        return self.ground.sum(numbers)

    def mean(self, probabilities: Float[Tensor, "rows total"]) -> Float[Tensor, "rows total"]:
        """See `Support.mean`: an element is in the sets that end at its place and width - 1 further ones."""
        padded = self.ground.padded(probabilities, 0.0)
        later = padded.flip(-1).cumsum(-1).flip(-1)
        if self.width is not None and self.width < self.ground.widest:
            later = later - torch.nn.functional.pad(later[..., self.width :], (0, self.width))
        return torch.empty_like(probabilities).scatter(1, self.order, self.ground.flat(later))

    def best(
        self, scores: Float[Tensor, "rows total"]
    ) -> tuple[Float[Tensor, "rows inputs"], Bool[Tensor, "rows total"]]:
        """See `Support.best`."""
        best = self.ground.padded(scores, -torch.inf).max(dim=-1)
        return best.values, self._inside(self.rank, best.indices[:, self.ground.owner])

    def _inside(self, rank: Tensor, end: Tensor) -> Tensor:
        inside = rank <= end
        return inside if self.width is None else inside & (rank > end - self.width)
