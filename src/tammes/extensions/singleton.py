"""Extensions of functions that are of interest for single elements only."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.extensions.distribution import Distribution, Piece
from tammes.extensions.extension import Extension, expect_mass, expect_unit_interval
from tammes.extensions.ground_set import GroundSet
from tammes.extensions.lovasz import falls
from tammes.extensions.sweep import Sweep


@dataclass(frozen=True, kw_only=True)
class Singleton(Extension):
    """F(x) = sum_j (x_(j) - x_(j+1)) f({(j)}), with x_(1) >= ... >= x_(n) and x_(n+1) = 0.

    f may be infinite for all other sets. Here sum p(S) 1_S is not x; the minima are those of f all the same
    where f is below 0 for some element.

    Source: Robinson (2023), section 8.3.1 and F.3.3. Differs: the text calls it continuous; it jumps where
    entries are equal, since the probability of the first of two equal elements is 0.

    Example:
        >>> def place(sets):
        ...     return -sets.float() @ torch.tensor([1.0, 2.0, 3.0])
        >>> Singleton()(torch.tensor([0.5, 1.0, 0.0]), place)
        tensor([-1.5000])
    """

    def distribution(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        """See `Extension.distribution`; x in [0, 1]."""
        expect_unit_interval(x)
        chain, probabilities = falls(x, ground)
        return _of_singletons(ground, chain.order, probabilities)

    def intersections(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        """See `Extension.intersections`: different singletons meet in nothing."""
        expect_unit_interval(x)
        chain, probabilities = falls(x, ground)
        return _of_singletons(ground, chain.order, probabilities.square())

    def within(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Float[Tensor, "rows total"]:
        """See `Extension.within`."""
        return x


@dataclass(frozen=True, kw_only=True)
class Permutation(Extension):
    """F(x) = sum_i x_i f({i}) for x in the simplex: the sets are the columns of a permutation matrix.

    With S an involutory permutation matrix, S p = x gives p = S x: the i-th column, the singleton {s(i)}, has
    probability x_{s(i)}. So each {i} has probability x_i, whichever the permutation is, and there is none
    to choose. (A matrix of zeros and ones that is its own inverse is a permutation matrix, so involutory
    extensions are no more than this.)

    Source: Robinson (2023), section 8.3.1 and F.3.4. Differs: the text asks for a permutation with a fixed
    point at the largest entry; every permutation gives the same F.

    Example:
        >>> def place(sets):
        ...     return sets.float() @ torch.tensor([1.0, 2.0, 3.0])
        >>> Permutation()(torch.tensor([0.5, 0.0, 0.5]), place)
        tensor([2.])
    """

    def distribution(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        """See `Extension.distribution`; x at least 0, adding up to at most 1 for each input."""
        expect_unit_interval(x)
        expect_mass(ground.sum(x), "x_1 + ... + x_n <= 1")
        order = torch.arange(ground.total, device=x.device).expand_as(x)
        return _of_singletons(ground, order, x)

    def intersections(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        """See `Extension.intersections`."""
        return self.distribution(x.square(), ground)

    def within(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Float[Tensor, "rows total"]:
        """See `Extension.within`: divided by the sum where that exceeds 1."""
        return x / ground.sum(x).clamp(min=1.0)[:, ground.owner]


def _of_singletons(ground: GroundSet, order: Tensor, probabilities: Tensor) -> Distribution:
    alone = Sweep(ground=ground, order=order, width=1)
    return Distribution(ground=ground, pieces=(Piece(support=alone, probabilities=probabilities),))
