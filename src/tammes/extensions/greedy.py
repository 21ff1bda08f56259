"""A set built element by element, in a given order."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tammes.extensions.set_function import SetFunction


def extend(
    worth: SetFunction, order: Int[Tensor, " total"], members: Bool[Tensor, " total"] | None = None
) -> tuple[Float[Tensor, " inputs"], Bool[Tensor, " total"]]:
    """Takes each input's elements in an order, each one if that makes the set worth more.

    Args:
        worth: minus infinity for sets that are not allowed.
        order: the elements of each input in their order, as indices into all elements.
        members: the sets to begin with, allowed ones; left out, the empty ones.

    Returns:
        What the sets are worth, and the sets as one indicator vector.

    Source: Robinson (2023), F.6.3: how Erdős goes neural decodes, in order of falling probability.

    Example:
        >>> from tammes.extensions import Graphs, MaximumIndependentSet
        >>> graph = Graphs.of(torch.tensor([[0, 1], [1, 2]]), sizes=(3,))
        >>> worth, members = extend(MaximumIndependentSet(graphs=graph).worth, torch.tensor([2, 1, 0]))
        >>> worth.item(), members.tolist()
        (2.0, [True, False, True])
    """
    ground = worth.ground
    if members is None:
        members = torch.zeros(ground.total, dtype=torch.bool, device=order.device)
    best = worth.values(members)
    for place in range(ground.widest):
        has = ground.size > place
        element = order[(ground.offsets + place).where(has, ground.offsets)]
        candidate = members.clone()
        candidate[element] = members[element] | has
        found = worth.values(candidate)
        better = found > best
        members = candidate.where(better[ground.owner], members)
        best = found.where(better, best)
    return best, members
