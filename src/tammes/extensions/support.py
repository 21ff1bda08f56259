"""The few sets that a distribution is supported on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from tammes.extensions.ground_set import GroundSet
from tammes.extensions.set_function import SetFunction


class Support(ABC):
    """Sets of every input, for each of several rows; a number for each set has a shape of the support's own.

    A row is one vector x (one eigenvector, say) of all inputs.
    """

    ground: GroundSet

    @abstractmethod
    def values(self, f: SetFunction) -> Float[Tensor, ...]:
        """F of every set.

        Raises:
            ValueError: if f gives another shape, or NaN; the set is named.
        """

    @abstractmethod
    def sum(self, numbers: Float[Tensor, ...]) -> Float[Tensor, "rows inputs"]:
        """Adds a number for each set over the sets of each row and input."""

    @abstractmethod
    def mean(self, probabilities: Float[Tensor, ...]) -> Float[Tensor, "rows total"]:
        """Sum over S of p(S) 1_S."""

    @abstractmethod
    def best(
        self, scores: Float[Tensor, ...]
    ) -> tuple[Float[Tensor, "rows inputs"], Bool[Tensor, "rows total"]]:
        """The largest score of each row and input, and the set that has it; of equals the first."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Listed(Support):
    """Sets that are written out; a number for each set is `(rows, sets, inputs)`.

    Args:
        ground: of the inputs.
        members: `(rows, sets, total)`, every indicator vector holding a set of each input.
    """

    ground: GroundSet
    members: Bool[Tensor, "rows sets total"]

    def values(self, f: SetFunction) -> Float[Tensor, "rows sets inputs"]:
        """See `Support.values`."""
        values = f.values(self.members)
        expect_numbers(values, (*self.members.shape[:-1], self.ground.inputs))
        for row, number, owner in values.isnan().nonzero().tolist():
            raise ValueError(not_a_number(self.ground.names(self.members[row, number], owner), owner))
        return values

    def sum(self, numbers: Float[Tensor, "rows sets inputs"]) -> Float[Tensor, "rows inputs"]:
        """See `Support.sum`."""
        return numbers.sum(1)

    def mean(self, probabilities: Float[Tensor, "rows sets inputs"]) -> Float[Tensor, "rows total"]:
        """See `Support.mean`."""
        return (probabilities[..., self.ground.owner] * self.members).sum(1)

    def best(
        self, scores: Float[Tensor, "rows sets inputs"]
    ) -> tuple[Float[Tensor, "rows inputs"], Bool[Tensor, "rows total"]]:
        """See `Support.best`."""
        best = scores.max(dim=1)
        chosen = best.indices[:, self.ground.owner]  # (rows, total)
        return best.values, self.members.gather(1, chosen[:, None]).squeeze(1)


def expect_numbers(values: Shaped[Tensor, ...], shape: tuple[int, ...]) -> None:
    """Refuse what a set function gave in another shape than that of the sets.

    Raises:
        ValueError: see above.
    """
    if tuple(values.shape) != shape:
        raise ValueError(
            f"expected the set function to give numbers of shape {shape}, got {tuple(values.shape)}"
        )


def not_a_number(named: str, number: int) -> str:
    """The message for a set function that is NaN somewhere."""
    return f"expected a number for every set, got NaN for the set {named} of input {number}"


def weighted(probabilities: Float[Tensor, ...], values: Float[Tensor, ...]) -> Float[Tensor, ...]:
    """P f, where p = 0 lets f be infinite.

    >>> import torch
    >>> weighted(torch.tensor([0.0, 0.5]), torch.tensor([torch.inf, 4.0])).tolist()
    [0.0, 2.0]
    """
    given = values.to(probabilities.dtype)
    outside = given.isinf() & (probabilities.detach() == 0)
    return probabilities * given.masked_fill(outside, 0.0)
