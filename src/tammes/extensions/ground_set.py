"""Ground sets of different sizes, one after the other in one flat vector, and families of sets in them."""

from dataclasses import dataclass, field
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

Members = Bool[Tensor, " total"]
"""A set of each input, as one indicator vector."""

Order = Int[Tensor, " total"]
"""The elements of each input in some order, as indices into all elements."""

ScoredSets = tuple[Float[Tensor, "*rows inputs"], Bool[Tensor, "*rows total"]]
"""Score of one set of each input, and these sets."""


@dataclass(frozen=True, kw_only=True)
class GroundSet:
    """Ground sets of a batch of inputs: first the n_0 elements of input 0, then the n_1 elements of input 1.

    Args:
        sizes: number of elements of each input, at least 1.
        device: device of the index tensors, the same as that of the vectors x.

    Raises:
        ValueError: if there is no input, or if an input has no element.

    Example:
        >>> ground = GroundSet(sizes=(2, 3))
        >>> ground.owner.tolist(), ground.position.tolist()
        ([0, 0, 1, 1, 1], [0, 1, 0, 1, 2])
    """

    sizes: tuple[int, ...]
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def __post_init__(self) -> None:
        if not self.sizes:
            raise ValueError("expected at least one input, got none")
        for index, size in enumerate(self.sizes):
            if size < 1:
                raise ValueError(
                    f"expected every input to have an element, got {size} for input {index}; "
                    "leave out empty inputs (graphs without nodes)"
                )

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return len(self.sizes)

    @cached_property
    def total(self) -> int:
        """Number of elements of all inputs together."""
        return sum(self.sizes)

    @cached_property
    def widest(self) -> int:
        """Size of the largest input."""
        return max(self.sizes)

    @cached_property
    def size(self) -> Int[Tensor, " inputs"]:
        """The sizes as a tensor."""
        return torch.tensor(self.sizes, device=self.device)

    @cached_property
    def offsets(self) -> Int[Tensor, " inputs"]:
        """Index of the first element of each input."""
        return self.size.cumsum(0) - self.size

    @cached_property
    def owner(self) -> Int[Tensor, " total"]:
        """Input of each element."""
        return torch.arange(self.inputs, device=self.device).repeat_interleave(self.size)

    @cached_property
    def position(self) -> Int[Tensor, " total"]:
        """Position of each element within its input."""
        return torch.arange(self.total, device=self.device) - self.offsets[self.owner]

    @cached_property
    def slot(self) -> Int[Tensor, " total"]:
        """Index of each element in the flattened `(inputs, widest)` padding."""
        return self.owner * self.widest + self.position

    @property
    def empty_sets(self) -> Members:
        """The empty set of each input."""
        return torch.zeros(self.total, dtype=torch.bool, device=self.device)

    def sum(
        self, values: Shaped[Tensor, "*rows m"], owner: Int[Tensor, " m"] | None = None
    ) -> Shaped[Tensor, "*rows inputs"]:
        """Sum the values of each input's elements, or of other things, with the input of each as `owner`.

        >>> GroundSet(sizes=(2, 1)).sum(torch.tensor([1.0, 2.0, 3.0])).tolist()
        [3.0, 3.0]
        """
        if self.inputs == 1:
            return values.sum(-1, keepdim=True)
        zeros = values.new_zeros(*values.shape[:-1], self.inputs)
        return zeros.index_add(-1, self.owner if owner is None else owner, values)

    def cumsum(self, values: Shaped[Tensor, "*rows total"]) -> Shaped[Tensor, "*rows total"]:
        """Return the cumulative sums within each input."""
        return self.unpad(self.pad(values, 0).cumsum(-1))

    def overlaps(
        self, owner: Int[Tensor, " m"], begin: Int[Tensor, "rows m"], end: Int[Tensor, "rows m"] | None = None
    ) -> Int[Tensor, "rows total"]:
        """Count at each place the intervals that it lies in: places begin, ..., end - 1 of an input.

        Args:
            owner: input of each interval.
            begin: first place of each interval.
            end: place after its last one; an interval with an end of at most `begin` is empty, one with an
                end beyond the input, or all without `end`, reach to the last place.

        >>> ends = torch.tensor([[2, 9]])
        >>> GroundSet(sizes=(4,)).overlaps(torch.tensor([0, 0]), torch.tensor([[0, 1]]), ends).tolist()
        [[1, 2, 1, 1]]
        """
        # Writing +1 at each begin and -1 at each end, the counts are the cumulative sums.
        start = self.offsets.index_select(0, owner)
        some = torch.ones_like(begin) if end is None else (begin < end).long()
        changes = begin.new_zeros(len(begin), self.total).scatter_add_(1, begin + start, some)
        if end is not None:
            ends = (begin < end) & (end < self.size[owner])
            changes.scatter_add_(1, end.where(ends, 0) + start, -ends.long())
        return self.cumsum(changes)

    def pad(
        self, values: Shaped[Tensor, "*rows total"], fill: float
    ) -> Shaped[Tensor, "*rows inputs widest"]:
        """Return one row for each input, filled up to the widest."""
        shape = (*values.shape[:-1], self.inputs, self.widest)
        if self.inputs == 1:
            return values.reshape(shape)
        empty = values.new_full((*values.shape[:-1], self.inputs * self.widest), fill)
        return empty.index_copy(-1, self.slot, values).reshape(shape)

    def unpad(self, padded: Shaped[Tensor, "*rows inputs widest"]) -> Shaped[Tensor, "*rows total"]:
        """Invert `pad`."""
        return padded.flatten(-2).index_select(-1, self.slot)

    def descending(self, x: Float[Tensor, "*rows total"]) -> Int[Tensor, "*rows total"]:
        """Return indices that sort each input's elements, the largest first; ties keep their order.

        >>> GroundSet(sizes=(2, 2)).descending(torch.tensor([0.1, 0.2, 0.4, 0.3])).tolist()
        [1, 0, 2, 3]
        """
        places = self.pad(x.detach(), -torch.inf).argsort(dim=-1, descending=True, stable=True)
        return self.unpad(places) + self.offsets.index_select(0, self.owner)

    def places(self, order: Int[Tensor, "*rows total"]) -> Int[Tensor, "*rows total"]:
        """Return the place of each element, counted from 0, in an order of its input's elements."""
        return torch.empty_like(order).scatter_(-1, order, self.position.expand_as(order))

    def best(
        self, scores: Float[Tensor, "*rows sets inputs"], members: Bool[Tensor, "*rows sets total"]
    ) -> ScoredSets:
        """Return the highest score of each input, and the first set that has it."""
        best = scores.max(dim=-2)
        chosen = best.indices[..., None, self.owner]
        return best.values, members.gather(-2, chosen).squeeze(-2)

    def describe(self, members: Shaped[Tensor, " total"], index: int) -> str:
        """Return the set of one input in words, for error messages.

        >>> GroundSet(sizes=(2, 2)).describe(torch.tensor([True, False, True, True]), 1)
        '{0, 1} of input 1'
        """
        chosen = members[self.owner == index].nonzero().flatten().tolist()
        return "{" + ", ".join(map(str, chosen)) + f"}} of input {index}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Listed:
    """Sets as indicator vectors; a number for each set has the shape `(rows, sets, inputs)`.

    A row is one vector x (for instance one eigenvector) of all inputs.

    Args:
        ground: ground sets of the inputs.
        members: `(rows, sets, total)`, indicator vectors; each one holds a set of every input.
    """

    ground: GroundSet
    members: Bool[Tensor, "rows sets total"]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a tensor with a number for each set."""
        return (*self.members.shape[:-1], self.ground.inputs)

    def describe(self, index: list[int]) -> str:
        """Return the set at an index of `shape` in words, for error messages."""
        row, place, owner = index
        return self.ground.describe(self.members[row, place], owner)

    def sum(self, numbers: Float[Tensor, "rows sets inputs"]) -> Float[Tensor, "rows inputs"]:
        """Sum a number for each set over the sets of each row and input."""
        return numbers.sum(1)

    def mean(self, probabilities: Float[Tensor, "rows sets inputs"]) -> Float[Tensor, "rows total"]:
        """Return the sum over S of p(S) 1_S."""
        return (probabilities[..., self.ground.owner] * self.members).sum(1)

    def best(self, scores: Float[Tensor, "rows sets inputs"]) -> ScoredSets:
        """Return the highest score of each row and input, and the first set that has it."""
        return self.ground.best(scores, self.members)


@dataclass(frozen=True, eq=False, kw_only=True)
class Sweep:
    """Windows that slide along an order: the last `width` elements up to each place.

    With places counted from 0, the set that ends at place e holds the elements at the places
    max(0, e - width + 1), ..., e. A width of 1 gives singletons, no width gives nested sets. A number for
    each set has the shape `(rows, total)`: entry e of an input belongs to the set that ends at place e.

    Args:
        ground: ground sets of the inputs.
        order: `(rows, total)`, the elements of each input in their order, as indices into all elements.
        width: width of the window, at least 1; None for nested sets.

    Example:
        >>> sweep = Sweep(ground=GroundSet(sizes=(3,)), order=torch.tensor([[2, 0, 1]]), width=2)
        >>> sweep.members(torch.arange(3))[0].int().tolist()
        [[0, 0, 1], [1, 0, 1], [1, 1, 0]]
    """

    ground: GroundSet
    order: Int[Tensor, "rows total"]
    width: int | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a tensor with a number for each set."""
        return tuple(self.order.shape)

    @cached_property
    def rank(self) -> Int[Tensor, "rows total"]:
        """Place of each element in its input's order."""
        return self.ground.places(self.order)

    @cached_property
    def sizes(self) -> Int[Tensor, "rows total"]:
        """Number of elements of each set."""
        size = (self.ground.position + 1).expand_as(self.order)
        return size if self.width is None else size.clamp(max=self.width)

    def members(self, ends: Int[Tensor, " steps"]) -> Bool[Tensor, "rows steps total"]:
        """Return the sets that end at these places; an input with fewer places repeats its last set."""
        last = self.ground.size[self.ground.owner] - 1
        end = ends.to(last.device)[:, None].minimum(last)  # (steps, total)
        return self._inside(self.rank[:, None], end)

    def describe(self, index: list[int]) -> str:
        """Return the set at an index of `shape` in words, for error messages."""
        row, place = index
        members = self.members(self.ground.position[place][None])[row, 0]
        return self.ground.describe(members, int(self.ground.owner[place]))

    def sum(self, numbers: Float[Tensor, "rows total"]) -> Float[Tensor, "rows inputs"]:
        """Sum a number for each set over the sets of each row and input."""
        return self.ground.sum(numbers)

    def mean(self, probabilities: Float[Tensor, "rows total"]) -> Float[Tensor, "rows total"]:
        """Return the sum over S of p(S) 1_S."""
        # The element at place a is in the sets that end at a, ..., a + width - 1: a sum of p from a on, less
        # the sum from a + width on.
        padded = self.ground.pad(probabilities.double(), 0.0)  # differences of long sums
        later = padded.flip(-1).cumsum(-1).flip(-1)
        if self.width is not None and self.width < self.ground.widest:
            later = later - torch.nn.functional.pad(later[..., self.width :], (0, self.width))
        later = self.ground.unpad(later).to(probabilities)
        return torch.empty_like(probabilities).scatter(1, self.order, later)

    def best(self, scores: Float[Tensor, "rows total"]) -> ScoredSets:
        """Return the highest score of each row and input, and the first set that has it."""
        best = self.ground.pad(scores, -torch.inf).max(dim=-1)
        return best.values, self._inside(self.rank, best.indices[:, self.ground.owner])

    def _inside(self, rank: Tensor, end: Tensor) -> Tensor:
        inside = rank <= end
        return inside if self.width is None else inside & (rank > end - self.width)


Support = Listed | Sweep
"""Sets of every input, for each of several rows, with a number (a probability, a value) for each set."""
