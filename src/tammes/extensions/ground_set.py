"""Ground sets of different sizes, one after the other in one flat vector."""

from dataclasses import dataclass, field
from functools import cached_property

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor


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

    def sum(self, values: Shaped[Tensor, "*rows total"]) -> Shaped[Tensor, "*rows inputs"]:
        """Sum the values of each input's elements.

        >>> GroundSet(sizes=(2, 1)).sum(torch.tensor([1.0, 2.0, 3.0])).tolist()
        [3.0, 3.0]
        """
        if self.inputs == 1:
            return values.sum(-1, keepdim=True)
        zeros = values.new_zeros(*values.shape[:-1], self.inputs)
        return zeros.index_add(-1, self.owner, values)

    def cumsum(self, counts: Int[Tensor, "*rows total"]) -> Int[Tensor, "*rows total"]:
        """Return the cumulative sums of integers within each input."""
        sums = counts.cumsum(-1)
        if self.inputs == 1:
            return sums
        # One pass over all inputs, less what the earlier inputs add up to; exact, since these are integers.
        before = (sums - counts).index_select(-1, self.offsets)
        return sums - before.index_select(-1, self.owner)

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

    def describe(self, members: Shaped[Tensor, " total"], index: int) -> str:
        """Return the set of one input in words, for error messages.

        >>> GroundSet(sizes=(2, 2)).describe(torch.tensor([True, False, True, True]), 1)
        '{0, 1} of input 1'
        """
        start = int(self.offsets[index])
        chosen = members[start : start + self.sizes[index]].nonzero().flatten().tolist()
        return "{" + ", ".join(map(str, chosen)) + f"}} of input {index}"
