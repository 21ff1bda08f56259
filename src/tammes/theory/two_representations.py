"""Collisions against coverage in a small example: one representation merges classes, one is noisy."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tammes.checks import check_integer, check_number
from tammes.theory.class_distribution import ClassDistribution
from tammes.theory.collision import collision_probability

UNCLIPPED = (math.sqrt(3) - 1) / 2
"""Up to this epsilon the hinge clips no loss with a collision, as the paper's sharper bound assumes."""

BLOCK = 2**20
"""Negatives drawn at a time in a simulation."""


@dataclass(frozen=True, kw_only=True)
class TwoRepresentations:
    """Example in which few negatives, and very many, select the worse representation.

    N equally likely classes of two points each, and the hinge loss. The merging representation f1 maps
    pairs of classes to one basis vector: it cannot separate them, and its supervised loss is 1. The noisy
    one f2 maps the two points of class c to (1 + epsilon) e_c and (1 - epsilon) e_c: it separates all
    classes, and its supervised loss is epsilon / 2. With few negatives f1 has the lower NCE loss, since a
    class and its twin seldom meet; with very many f1 again, since collisions see the noise.

    Raises:
        ValueError: an odd number of classes or fewer than 4, or an epsilon that is not between 0 and 1.

    Source: Ash et al. (2022), section 3, Figure 2 and appendix C.

    Example:
        >>> TwoRepresentations(classes=40, epsilon=0.35).crossings()
        (10, 68)
    """

    classes: int
    """Number N of classes, even and at least 4."""

    epsilon: float
    """Noise of f2 relative to the length of its embeddings, above 0 and below 1."""

    def __post_init__(self) -> None:
        check_integer("classes", self.classes, minimum=4)
        if self.classes % 2:
            raise ValueError(f"classes must be even, since f1 merges pairs of them, got {self.classes}")
        check_number("epsilon", self.epsilon, above=0, below=1)

    def merging_loss(self, k: int) -> float:
        """Return the NCE loss of f1: the probability that the class or its twin is among k negatives.

            1 - (1 - 2/N)^k

        Source: Ash et al. (2022), appendix C.
        """
        return collision_probability(k, ClassDistribution.uniform(self.classes // 2))

    def noisy_loss(self, k: int) -> float:
        """Return the exact NCE loss of f2.

            (1 - tau) (epsilon^2/4 + epsilon/2)  +  q (1 + epsilon)  +  (tau - q) worst(epsilon),

            q = 1 - (1 - 1/(2N))^k,    worst = 1/2 + (1 - 2 epsilon + 2 epsilon^2)/4
                                               + max(0, 1 - 2 epsilon - 2 epsilon^2)/4,

        where q is the probability that the longer point of the anchor's class is among the negatives, and
        worst the loss when only the shorter is; 1 - epsilon, where nothing is clipped.

        Differs: the paper gives bounds only (`noisy_loss_bounds`); the sum in its appendix C closes, since
        sum_t C(k, t) N^-t (1 - 1/N)^(k-t) 2^-t = (1 - 1/(2N))^k. It also says there that the hinge clips a
        loss without collision with probability 3/4; it is 1/4, and the value it gives is right.

        Source: Ash et al. (2022), appendix C.
        """
        epsilon = self.epsilon
        tau = collision_probability(k, ClassDistribution.uniform(self.classes))
        longer = collision_probability(k, ClassDistribution.uniform(2 * self.classes))
        worst = 0.5 + (1 - 2 * epsilon + 2 * epsilon**2) / 4 + max(0, 1 - 2 * epsilon - 2 * epsilon**2) / 4
        return (1 - tau) * self._apart + longer * (1 + epsilon) + (tau - longer) * worst

    def noisy_loss_bounds(self, k: int) -> tuple[float, float]:
        """Return the paper's lower and upper bound on the NCE loss of f2.

            lower  =  (1 - tau) (epsilon^2/4 + epsilon/2) + tau [+ epsilon/2 (tau - k/N (1 - 1/N)^(k-1))],
            upper  =  (1 - tau) (epsilon^2/4 + epsilon/2) + tau (1 + epsilon),

        with the bracket (the sharper of the paper's two lower bounds) for epsilon up to (sqrt(3) - 1)/2,
        where the hinge clips no loss with a collision.

        Source: Ash et al. (2022), appendix C.
        """
        tau = collision_probability(k, ClassDistribution.uniform(self.classes))
        lower = (1 - tau) * self._apart + tau
        if self.epsilon <= UNCLIPPED:
            once = k / self.classes * (1 - 1 / self.classes) ** (k - 1)  # that there is exactly one collision
            lower += self.epsilon / 2 * (tau - once)
        return lower, (1 - tau) * self._apart + tau * (1 + self.epsilon)

    @property
    def merging_supervised_loss(self) -> float:
        """Hinge loss of f1's mean classifier, 1: two classes always share the largest score."""
        return 1.0

    @property
    def noisy_supervised_loss(self) -> float:
        """Hinge loss of f2's mean classifier, epsilon / 2: half of the points fall short by epsilon."""
        return self.epsilon / 2

    def crossings(self) -> tuple[int, int] | None:
        """Return the k between which the NCE loss selects the better representation.

        Returns:
            The smallest k at which the noisy representation, the better one, has the lower loss, and the
            smallest larger k at which the merging one has the lower loss again; None if no k selects f2.

        Source: Ash et al. (2022), Figure 2, which has them for N = 40 and epsilon = 0.35.
        """
        # The difference is a sum of four powers, so it has at most two zeros in k (the rule of signs). At the
        # end of the search f1 wins: (1 - 1/(2N))^k < 1/20, and (1 - 1/N)^k is far below epsilon.
        for first in range(1, math.ceil(2 * self.classes * (3 - math.log(self.epsilon)))):
            if self.noisy_loss(first) < self.merging_loss(first):
                second = first + 1
                while self.noisy_loss(second) < self.merging_loss(second):
                    second += 1
                return first, second
        return None

    def simulate_merging(self, k: int, *, draws: int, generator: np.random.Generator) -> tuple[float, float]:
        """Estimate the NCE loss of f1 by drawing anchors, positives and k negatives.

        Args:
            k: number of negatives of an anchor, at least 1.
            draws: number of independent anchors, at least 2.
            generator: source of the randomness.

        Returns:
            The mean over the draws, and its standard error.

        Raises:
            ValueError: k below 1, or fewer than two draws.

        Example:
            >>> example = TwoRepresentations(classes=40, epsilon=0.35)
            >>> mean, error = example.simulate_merging(9, draws=1000, generator=np.random.default_rng(0))
            >>> abs(mean - example.merging_loss(9)) < 4 * error
            True
        """
        points = np.arange(2 * self.classes)
        return _simulate(points // 4, np.ones(len(points)), k, draws, generator)

    def simulate_noisy(self, k: int, *, draws: int, generator: np.random.Generator) -> tuple[float, float]:
        """Estimate the NCE loss of f2 by drawing anchors, positives and k negatives.

        Arguments, results and errors as in `simulate_merging`.
        """
        points = np.arange(2 * self.classes)
        return _simulate(points // 2, 1 + self.epsilon * (1 - 2.0 * (points % 2)), k, draws, generator)

    @property
    def _apart(self) -> float:
        """Loss of f2 without a collision."""
        return self.epsilon**2 / 4 + self.epsilon / 2


def _simulate(
    axis: Int[np.ndarray, " points"],
    length: Float[np.ndarray, " points"],
    k: int,
    draws: int,
    generator: np.random.Generator,
) -> tuple[float, float]:
    """Estimate the hinge loss of f(point) = length e_axis, where class c has the points 2c and 2c + 1."""
    check_integer("k", k)
    check_integer("draws", draws, minimum=2)
    losses = []
    for start in range(0, draws, max(1, BLOCK // k)):
        rows = min(max(1, BLOCK // k), draws - start)
        anchor = generator.integers(len(axis), size=rows)
        positive = anchor - anchor % 2 + generator.integers(2, size=rows)
        negatives = generator.integers(len(axis), size=(rows, k))
        same = axis[negatives] == axis[anchor][:, None]
        inner = length[anchor][:, None] * length[negatives] * same  # f(x).f(x_i), (rows, k)
        losses.append(np.maximum(0, 1 + inner.max(axis=1) - length[anchor] * length[positive]))
    loss = np.concatenate(losses)
    return float(loss.mean()), float(loss.std(ddof=1) / math.sqrt(draws))
