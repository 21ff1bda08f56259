"""The Lovász extension, and the one that is restricted to small sets."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.extensions.distribution import Distribution, Piece
from tammes.extensions.extension import Extension, expect_mass, expect_unit_interval
from tammes.extensions.ground_set import GroundSet
from tammes.extensions.sweep import Sweep


def falls(x: Float[Tensor, "rows total"], ground: GroundSet) -> tuple[Sweep, Float[Tensor, "rows total"]]:
    """The level sets of x, and by how much x falls after each: x_(j) - x_(j+1), with x_(n+1) = 0.

    >>> chain, p = falls(torch.tensor([[0.25, 1.0]]), GroundSet(sizes=(2,)))
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
    """F(x) = sum_j (x_(j) - x_(j+1)) f({(1), ..., (j)}), with x_(1) >= ... >= x_(n) and x_(n+1) = 0.

    It is convex exactly if f is submodular. Of two nested sets the intersection is the smaller one, and so

        sum over S, T of p_x(S) p_x(T) f(S and T)  =  sum_j p_j (p_j + 2 sum_{l > j} p_l) f(S_j)
                                                   =  sum_j (x_(j)^2 - x_(j+1)^2) f(S_j) = F(x^2),

    eq. 8.4 for one eigenvector: the neural Lovász extension is a mean of scalar ones of squared entries.

    Source: Robinson (2023), section 8.3.1, F.3.1 and eq. 8.4.

    Example:
        >>> def at_most_one(sets):
        ...     return sets.any(dim=1).float()
        >>> Lovasz()(torch.tensor([0.5, 0.75, 0.25]), at_most_one)  # the largest entry
        tensor([0.7500])
    """

    def distribution(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        """See `Extension.distribution`; x in [0, 1]."""
        expect_unit_interval(x)
        chain, probabilities = falls(x, ground)
        return Distribution(ground=ground, pieces=(Piece(support=chain, probabilities=probabilities),))

    def intersections(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        """See `Extension.intersections`."""
        return self.distribution(x.square(), ground)

    def within(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Float[Tensor, "rows total"]:
        """See `Extension.within`."""
        return x


@dataclass(frozen=True, kw_only=True)
class BoundedLovasz(Extension):
    """The Lovász extension that looks at sets of at most k elements.

    With x sorted so that x_1 >= ... >= x_n, the sets are S_j = {1..j} for j <= k, and the windows
    S_j = {j-k+1..j} after them. That sum_j p_j 1_{S_j} = x fixes

        p_j = sum_{i = j, j+k, j+2k, ... <= n} (x_i - x_{i+1}),        p_j = (x_j - x_{j+1}) + p_{j+k},

    and sum_j p_j = x_1 + x_{1+k} + x_{1+2k} + ..., which must not exceed 1. Every set of at most k elements
    meets that, and F(1_S) = f(S); so does the simplex, and with k = n this is the Lovász extension. For
    k < n, F can jump where entries of x are equal.

    Args:
        k: the largest number of elements, at least 1.

    Raises:
        ValueError: for a k that is no positive integer.

    Source: Robinson (2023), section 8.3.1, Lemma 19. Differs: the text asks for x in the simplex, which
    holds no 1_S but singletons; the condition above is what its proof needs. Its published code does not
    flip the cumulative sum back; and the text says that the sets of the neural extension are those of the
    scalar one, but two windows meet in a smaller window: {2, 3} and {3, 4} in {3}. All of these, k for each
    place, are taken here.

    Example:
        >>> pairs = BoundedLovasz(k=2).distribution(torch.tensor([[0.5, 0.25, 0.25]]), GroundSet(sizes=(3,)))
        >>> pairs.pieces[0].probabilities.tolist()
        [[0.5, 0.0, 0.25]]
    """

    k: int

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise ValueError(f"k must be an integer of at least 1, the largest size of a set, got {self.k!r}")

    def distribution(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        """See `Extension.distribution`; x in [0, 1] with x_1 + x_{1+k} + ... <= 1, sorted."""
        expect_unit_interval(x)
        chain, probabilities = self._windows(x, ground)
        expect_mass(ground.sum(probabilities), "x_1 + x_(1+k) + x_(1+2k) + ... <= 1, sorted")
        return Distribution(ground=ground, pieces=(Piece(support=chain, probabilities=probabilities),))

    def intersections(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        """See `Extension.intersections`: two windows d places apart meet in a window of width k - d."""
        if self.k >= ground.widest:
            return Lovasz().intersections(x, ground)
        (windows,) = self.distribution(x, ground).pieces
        order = ground.descending(x)
        pieces = []
        p = ground.padded(windows.probabilities, 0.0)
        for apart in range(self.k):
            later = torch.nn.functional.pad(p[..., apart:], (0, apart))
            both = (1.0 if apart == 0 else 2.0) * p * later
            narrower = Sweep(ground=ground, order=order, width=self.k - apart)
            pieces.append(Piece(support=narrower, probabilities=ground.flat(both)))
        return Distribution(ground=ground, pieces=tuple(pieces))

    def within(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Float[Tensor, "rows total"]:
        """See `Extension.within`: divided by x_1 + x_{1+k} + ... where that exceeds 1."""
        _, probabilities = self._windows(x, ground)
        return x / ground.sum(probabilities).clamp(min=1.0)[:, ground.owner]

    def _windows(self, x: Tensor, ground: GroundSet) -> tuple[Sweep, Tensor]:
        chain, fall = falls(x, ground)
        padded = ground.padded(fall, 0.0)
        beyond = -ground.widest % self.k
        strided = torch.nn.functional.pad(padded, (0, beyond)).unflatten(-1, (-1, self.k))
        p = strided.flip(-2).cumsum(-2).flip(-2).flatten(-2)[..., : ground.widest]
        return Sweep(ground=ground, order=chain.order, width=self.k), ground.flat(p)
