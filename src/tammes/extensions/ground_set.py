"""GroundSet sets of different size, side by side in one flat vector."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class GroundSet:
    """The ground sets of a batch: the first n_0 elements are the first input's, the next n_1 the second's.

    Args:
        sizes: how many elements each input has.
        device: where the index tensors live; that of the vectors x.

    Raises:
        ValueError: without inputs, or where an input has no element.

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
        for number, size in enumerate(self.sizes):
            if size < 1:
                raise ValueError(
                    f"expected every input to have an element, got {size} for input {number}; "
                    "leave empty inputs (graphs without nodes) out"
                )

    @property
    def inputs(self) -> int:
        """How many inputs there are."""
        return len(self.sizes)

    @cached_property
    def total(self) -> int:
        """How many elements all inputs have together."""
        return sum(self.sizes)

    @cached_property
    def widest(self) -> int:
        """The size of the largest input."""
        return max(self.sizes)

    @cached_property
    def size(self) -> Int[Tensor, " inputs"]:
        """The sizes as a tensor."""
        return torch.tensor(self.sizes, device=self.device)

    @cached_property
    def offsets(self) -> Int[Tensor, " inputs"]:
        """Where the elements of each input begin."""
        return self.size.cumsum(0) - self.size

    @cached_property
    def owner(self) -> Int[Tensor, " total"]:
        """The input of each element."""
        return torch.arange(self.inputs, device=self.device).repeat_interleave(self.size)

    @cached_property
    def position(self) -> Int[Tensor, " total"]:
        """The number of each element within its input."""
        return torch.arange(self.total, device=self.device) - self.offsets[self.owner]

    @cached_property
    def slot(self) -> Int[Tensor, " total"]:
        """Where each element stands among inputs that are padded to the widest."""
        return self.owner * self.widest + self.position

    def sum(self, values: Shaped[Tensor, "*rows total"]) -> Shaped[Tensor, "*rows inputs"]:
        """Adds the values of each input's elements.

        >>> GroundSet(sizes=(2, 1)).sum(torch.tensor([1.0, 2.0, 3.0])).tolist()
        [3.0, 3.0]
        """
        if self.inputs == 1:
            return values.sum(-1, keepdim=True)
        zeros = values.new_zeros(*values.shape[:-1], self.inputs)
        return zeros.index_add(-1, self.owner, values)

    def running(self, counts: Int[Tensor, "*rows total"]) -> Int[Tensor, "*rows total"]:
        """Adds the integers of each input's elements up to and with each element."""
        sums = counts.cumsum(-1)
        if self.inputs == 1:
            return sums
        before = (sums - counts).index_select(-1, self.offsets)
        return sums - before.index_select(-1, self.owner)

    def padded(
        self, values: Shaped[Tensor, "*rows total"], fill: float
    ) -> Shaped[Tensor, "*rows inputs widest"]:
        """A row for each input, filled up to the widest."""
        shape = (*values.shape[:-1], self.inputs, self.widest)
        if self.inputs == 1:
            return values.reshape(shape)
        empty = values.new_full((*values.shape[:-1], self.inputs * self.widest), fill)
        return empty.index_copy(-1, self.slot, values).reshape(shape)

    def flat(self, padded: Shaped[Tensor, "*rows inputs widest"]) -> Shaped[Tensor, "*rows total"]:
        """The way back from `padded`."""
        return padded.flatten(-2).index_select(-1, self.slot)

    def descending(self, x: Float[Tensor, "*rows total"]) -> Int[Tensor, "*rows total"]:
        """Indices that sort each input's elements, the largest first; equal ones keep their order.

        >>> GroundSet(sizes=(2, 2)).descending(torch.tensor([0.1, 0.2, 0.4, 0.3])).tolist()
        [1, 0, 2, 3]
        """
        places = self.padded(x.detach(), -torch.inf).argsort(dim=-1, descending=True, stable=True)
        return self.flat(places) + self.offsets.index_select(0, self.owner)

    def names(self, members: Shaped[Tensor, " total"], number: int) -> str:
        """One input's part of an indicator vector in words.

        >>> GroundSet(sizes=(2, 2)).names(torch.tensor([True, False, True, True]), 1)
        '{0, 1}'
        """
        start = int(self.offsets[number])
        chosen = members[start : start + self.sizes[number]].nonzero().flatten().tolist()
        return "{" + ", ".join(map(str, chosen)) + "}"
