"""Extensions that look at single elements only."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.extensions.functions.support import Sweep
from tammes.extensions.ground_set import GroundSet
from tammes.extensions.scalar.extension import Distribution, Extension, check_mass, check_unit_interval
from tammes.extensions.scalar.lovasz import level_sets


@dataclass(frozen=True, kw_only=True)
class Singleton(Extension):
    """F(x) = sum_j (x_(j) - x_(j+1)) f({(j)}) for x in [0, 1]^n, sorted: x_(1) >= ... >= x_(n), x_(n+1) = 0.

    f may be infinite for all other sets. The sum of p(S) 1_S is not x here. Where f is below 0 for some
    element, the minima of F are those of f all the same.

    Source: Robinson (2023), section 8.3.1 and F.3.3. Differs: the text calls it continuous; it jumps where
    entries are equal, since the probability of the first of two equal elements is 0.

    Example:
        >>> def place(sets):
        ...     return -sets.float() @ torch.tensor([1.0, 2.0, 3.0])
        >>> Singleton()(torch.tensor([0.5, 1.0, 0.0]), place)
        tensor([-1.5000])
    """

    @override
    def distribution(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        check_unit_interval(x)
        chain, probabilities = level_sets(x, ground)
        return _of_singletons(ground, chain.order, probabilities)

    @override
    def intersections(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        check_unit_interval(x)
        chain, probabilities = level_sets(x, ground)
        # Different singletons meet in the empty set.
        return _of_singletons(ground, chain.order, probabilities.square())


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

    @override
    def distribution(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        check_unit_interval(x)
        check_mass(ground.sum(x), "x_1 + ... + x_n <= 1")
        order = torch.arange(ground.total, device=x.device).expand_as(x)
        return _of_singletons(ground, order, x)

    @override
    def intersections(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        return self.distribution(x.square(), ground)

    @override
    def within(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Float[Tensor, "rows total"]:
        return x / ground.sum(x).clamp(min=1.0)[:, ground.owner]


def _of_singletons(ground: GroundSet, order: Tensor, probabilities: Tensor) -> Distribution:
    alone = Sweep(ground=ground, order=order, width=1)
    return Distribution(supports=(alone,), probabilities=(probabilities,))
