"""The Lovász extension, and its restriction to small sets."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_integer
from tammes.extensions.functions.support import Sweep
from tammes.extensions.ground_set import GroundSet
from tammes.extensions.scalar.extension import Distribution, Extension, check_mass, check_unit_interval


def level_sets(
    x: Float[Tensor, "rows total"], ground: GroundSet
) -> tuple[Sweep, Float[Tensor, "rows total"]]:
    """Return the level sets of x and how far x falls after each: x_(j) - x_(j+1), with x_(n+1) = 0.

    >>> chain, p = level_sets(torch.tensor([[0.25, 1.0]]), GroundSet(sizes=(2,)))
    >>> chain.order.tolist(), p.tolist()
    ([[1, 0]], [[0.75, 0.25]])
    """
    order = ground.descending(x)
    high = x.gather(1, order)
    is_last = ground.position == ground.size[ground.owner] - 1
    low = torch.nn.functional.pad(high[:, 1:], (0, 1)).masked_fill(is_last, 0.0)
    return Sweep(ground=ground, order=order), high - low


@dataclass(frozen=True, kw_only=True)
class Lovasz(Extension):
    """F(x) = sum_j (x_(j) - x_(j+1)) f({(1), ..., (j)}) for x in [0, 1]^n, sorted: x_(1) >= ... >= x_(n).

    It is convex exactly if f is submodular. Of two nested sets the smaller one is the intersection, and so

        sum over S, T of p_x(S) p_x(T) f(S and T)  =  sum_j p_j (p_j + 2 sum_{l > j} p_l) f(S_j)
                                                   =  sum_j (x_(j)^2 - x_(j+1)^2) f(S_j) = F(x^2),

    eq. 8.4 for one eigenvector: the neural Lovász extension is a mean of scalar ones of squared entries.

    Source: Robinson (2023), section 8.3.1, F.3.1 and eq. 8.4.

    Example:
        >>> def at_least_one(sets):
        ...     return sets.any(dim=1).float()
        >>> Lovasz()(torch.tensor([0.5, 0.75, 0.25]), at_least_one)  # the largest entry
        tensor([0.7500])
    """

    @override
    def distribution(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        check_unit_interval(x)
        chain, probabilities = level_sets(x, ground)
        return Distribution(supports=(chain,), probabilities=(probabilities,))

    @override
    def intersections(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        return self.distribution(x.square(), ground)


@dataclass(frozen=True, kw_only=True)
class BoundedLovasz(Extension):
    """The Lovász extension over sets of at most k elements.

    With x sorted so that x_1 >= ... >= x_n, the sets are S_j = {1..j} for j <= k, and the windows
    S_j = {j-k+1..j} after them. That sum_j p_j 1_{S_j} = x fixes

        p_j = sum_{i = j, j+k, j+2k, ... <= n} (x_i - x_{i+1}),        p_j = (x_j - x_{j+1}) + p_{j+k},

    and sum_j p_j = x_1 + x_{1+k} + x_{1+2k} + ..., which must not exceed 1. Every set of at most k elements
    meets that, and F(1_S) = f(S); so does the simplex, and with k = n this is the Lovász extension. For
    k < n, F can jump where entries of x are equal.

    Args:
        k: largest number of elements of a set, at least 1.

    Raises:
        ValueError: for a k that is no positive integer.

    Source: Robinson (2023), section 8.3.1, Lemma 19. Differs: the text asks for x in the simplex, which
    holds no 1_S but singletons; the condition above is what its proof needs. Its published code does not
    flip the cumulative sum back; and the text says that the sets of the neural extension are those of the
    scalar one, but two windows meet in a smaller window: {2, 3} and {3, 4} in {3}. All of these, k for each
    place, are taken here.

    Example:
        >>> pairs = BoundedLovasz(k=2).distribution(torch.tensor([[0.5, 0.25, 0.25]]), GroundSet(sizes=(3,)))
        >>> pairs.probabilities[0].tolist()
        [[0.5, 0.0, 0.25]]
    """

    k: int

    def __post_init__(self) -> None:
        check_integer("k", self.k, reason="it is the largest size of a set")

    @override
    def distribution(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        check_unit_interval(x)
        windows, probabilities = self._windows(x, ground)
        check_mass(ground.sum(probabilities), "x_1 + x_(1+k) + x_(1+2k) + ... <= 1, sorted")
        return Distribution(supports=(windows,), probabilities=(probabilities,))

    @override
    def intersections(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        if self.k >= ground.widest:
            return Lovasz().intersections(x, ground)
        (probabilities,) = self.distribution(x, ground).probabilities
        order = ground.descending(x)
        p = ground.pad(probabilities, 0.0)
        supports, products = [], []
        # Two windows of width k that end `apart` places from each other meet in a window of width k - apart,
        # which ends with the earlier one; each pair of different windows is drawn in two orders.
        for apart in range(self.k):
            later = torch.nn.functional.pad(p[..., apart:], (0, apart))
            both = (1.0 if apart == 0 else 2.0) * p * later
            supports.append(Sweep(ground=ground, order=order, width=self.k - apart))
            products.append(ground.unpad(both))
        return Distribution(supports=tuple(supports), probabilities=tuple(products))

    @override
    def within(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Float[Tensor, "rows total"]:
        _, probabilities = self._windows(x, ground)
        return x / ground.sum(probabilities).clamp(min=1.0)[:, ground.owner]

    def _windows(self, x: Tensor, ground: GroundSet) -> tuple[Sweep, Tensor]:
        chain, fall = level_sets(x, ground)
        # p_j = fall_j + p_{j+k}: with k places a row, a cumulative sum of the rows from the last one up.
        beyond = -ground.widest % self.k
        strided = torch.nn.functional.pad(ground.pad(fall, 0.0), (0, beyond)).unflatten(-1, (-1, self.k))
        p = strided.flip(-2).cumsum(-2).flip(-2).flatten(-2)[..., : ground.widest]
        return Sweep(ground=ground, order=chain.order, width=self.k), ground.unpad(p)
