"""The refined transfer bound: what remains of the NCE loss without collisions, and what collisions add."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tammes.checks import check_integer, check_number, check_shape
from tammes.theory.class_distribution import ClassDistribution
from tammes.theory.population import Estimated, mean_and_error
from tammes.theory.transfer import transfer_coefficient

Margins = Float[np.ndarray, "*rows k"]
"""Margins v_i = f(x) . (f(x+) - f(x_i)) of the negatives of an anchor; infinity for one that is left out."""

Loss = Callable[[Margins], Float[np.ndarray, "*rows"]]

BLOCK = 2**20
"""Negatives drawn at a time in a simulation."""


def hinge(margins: Margins) -> Float[np.ndarray, "*rows"]:
    """Return max(0, 1 + max_i(-v_i)) of each row of margins.

    Example:
        >>> hinge(np.array([0.5, np.inf])).item()
        0.5
    """
    return np.asarray(np.maximum(0, 1 + (-margins).max(axis=-1)))


def logistic(margins: Margins) -> Float[np.ndarray, "*rows"]:
    """Return log(1 + sum_i e^{-v_i}) of each row of margins.

    Example:
        >>> round(logistic(np.array([0.0, np.inf])).item(), 6)      # log 2
        0.693147
    """
    return np.asarray(np.logaddexp(0, np.logaddexp.reduce(-margins, axis=-1)))


def intra_class_deviation(embeddings: Float[np.ndarray, "n d"], labels: Int[np.ndarray, " n"]) -> float:
    """Return s(f), how far embeddings of one class differ, on average over classes.

        s(f)  =  E over c of  E|f(x)| sqrt( |Sigma(f, c)|_2 ) ,    x of class c with the covariance Sigma

    Args:
        embeddings: `(n, d)` embeddings, of any length; all of the population, since expectations are means.
        labels: `(n,)` class of each row; a class has the probability of its share.

    Raises:
        ValueError: shapes that do not match.

    Source: Ash et al. (2022), Definition 2.

    Example:
        >>> intra_class_deviation(np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 5.0]]), np.array([0, 0, 1]))
        1.3333333333333333
    """
    check_shape("labels, one for each embedding,", labels.shape, (len(embeddings),))
    total = 0.0
    for c in np.unique(labels):
        rows = embeddings[labels == c]
        centered = rows - rows.mean(axis=0)
        variance = np.linalg.norm(centered.T @ centered / len(rows), ord=2)
        total += len(rows) / len(labels) * float(np.linalg.norm(rows, axis=1).mean()) * math.sqrt(variance)
    return total


def mean_classifier_risk(
    embeddings: Float[np.ndarray, "n d"], labels: Int[np.ndarray, " n"], *, loss: Loss
) -> float:
    """Return the supervised loss of the classifier by class means, over all classes, exactly.

        E over x of  loss( f(x) . (mu_c - mu_c') for c' other than the class c of x )

    Args:
        embeddings: `(n, d)` embeddings, all of the population.
        labels: `(n,)` class of each row.
        loss: `hinge` or `logistic`.

    Raises:
        ValueError: shapes that do not match.

    Source: Ash et al. (2022), section 2.

    Example:
        >>> mean_classifier_risk(np.eye(2)[[0, 0, 1, 1]], np.array([0, 0, 1, 1]), loss=hinge)
        0.0
    """
    check_shape("labels, one for each embedding,", labels.shape, (len(embeddings),))
    names, own = np.unique(labels, return_inverse=True)
    means = np.stack([embeddings[own == c].mean(axis=0) for c in range(len(names))])
    scores = embeddings @ means.T
    margins = scores[np.arange(len(own)), own][:, None] - scores
    margins[np.arange(len(own)), own] = np.inf
    return float(loss(margins).mean())


@dataclass(frozen=True, kw_only=True)
class NceLosses:
    """NCE losses with k negatives of a population, estimated from the same draws.

    Attributes:
        all_negatives: L_NCE: a mean and its standard error.
        without_collisions: the loss L_{!=} of the negatives that do not collide with the anchor's class; 0
            where all of them do.
    """

    all_negatives: Estimated
    without_collisions: Estimated


def simulate_nce(
    embeddings: Float[np.ndarray, "n d"],
    labels: Int[np.ndarray, " n"],
    k: int,
    *,
    loss: Loss,
    draws: int,
    generator: np.random.Generator,
) -> NceLosses:
    """Estimate the NCE loss with k negatives, and its part without collisions.

    Args:
        embeddings: `(n, d)` embeddings, all of the population.
        labels: `(n,)` class of each row.
        k: number of negatives of an anchor, at least 1.
        loss: `hinge` or `logistic`.
        draws: number of independent anchors, at least 2.
        generator: source of the randomness.

    Raises:
        ValueError: shapes that do not match, k below 1, or fewer than two draws.

    Source: Ash et al. (2022), Definitions 1 and 3.

    Example:
        >>> rows, labels = np.eye(2)[[0, 0, 1, 1]], np.array([0, 0, 1, 1])
        >>> found = simulate_nce(rows, labels, 3, loss=hinge, draws=500, generator=np.random.default_rng(0))
        >>> found.without_collisions[0], bool(abs(found.all_negatives[0] - 7 / 8) < 0.1)
        (0.0, True)
    """
    check_shape("labels, one for each embedding,", labels.shape, (len(embeddings),))
    check_integer("k", k)
    check_integer("draws", draws, minimum=2)
    order = np.argsort(labels, kind="stable")
    _, start, count = np.unique(labels[order], return_index=True, return_counts=True)
    own = np.searchsorted(start, np.arange(len(labels)), side="right") - 1
    rows = embeddings[order]
    every, without = [], []
    for first in range(0, draws, max(1, BLOCK // k)):
        size = min(max(1, BLOCK // k), draws - first)
        x = generator.integers(len(rows), size=size)
        positive = start[own[x]] + generator.integers(count[own[x]])
        negatives = generator.integers(len(rows), size=(size, k))
        to_negatives = np.einsum("nd,nkd->nk", rows[x], rows[negatives])
        margins = (rows[x] * rows[positive]).sum(axis=1)[:, None] - to_negatives
        every.append(loss(margins))
        without.append(loss(np.where(own[negatives] == own[x][:, None], np.inf, margins)))
    return NceLosses(
        all_negatives=mean_and_error(np.concatenate(every)),
        without_collisions=mean_and_error(np.concatenate(without)),
    )


@dataclass(frozen=True, kw_only=True)
class RefinedBound:
    """Bound on the supervised loss by the two parts of the NCE loss that a rich encoder can make small.

        alpha(k, rho)  ( L_{!=}  +  sqrt(k rho_max) s(f)  +  sqrt(k) Gen_M )

    Without the last term it is Theorem 6, which holds as it is. With it, Theorem 4 for the encoder of least
    empirical loss on M samples; it leaves out constants and logarithms, so read its growth, not its size.
    Theorem 9 has Gen_M = B sqrt(d) max_i R_M(F_i), B the largest l1 length of an embedding.

    Args:
        k: number of negatives of an anchor, at least 1.
        classes: class distribution, at least two classes.
        without_collisions: loss L_{!=}, at least 0.
        deviation: s(f), at least 0.
        generalization: Gen_M, at least 0.

    Raises:
        ValueError: a number out of its range.

    Source: Ash et al. (2022), Theorems 3, 4, 6 and 9.

    Example:
        >>> classes = ClassDistribution.uniform(100)
        >>> bound = RefinedBound(k=54, classes=classes, without_collisions=0.0, deviation=0.01)
        >>> round(bound.value, 3)
        0.48
    """

    k: int
    classes: ClassDistribution
    without_collisions: float
    deviation: float
    generalization: float = 0.0

    def __post_init__(self) -> None:
        check_integer("k", self.k)
        check_number("without_collisions", self.without_collisions, minimum=0)
        check_number("deviation", self.deviation, minimum=0)
        check_number("generalization", self.generalization, minimum=0)

    @property
    def value(self) -> float:
        """The bound; 0 without an excess, even where the transfer coefficient overflows to infinity."""
        excess = self.excess
        return transfer_coefficient(self.k, self.classes) * excess if excess > 0 else 0.0

    @property
    def excess(self) -> float:
        """Bound on the NCE loss above its floor, the bracket."""
        collisions = math.sqrt(self.k * self.classes.largest) * self.deviation
        return self.without_collisions + collisions + math.sqrt(self.k) * self.generalization


def rademacher_complexity(
    values: Float[np.ndarray, "functions m"], *, draws: int, generator: np.random.Generator
) -> Estimated:
    """Estimate the empirical Rademacher complexity of finitely many functions.

        E over signs of  max over h of  1/m sum_i sign_i h(x_i)

    Args:
        values: `(functions, m)` values of each function on the m samples.
        draws: number of draws of the signs, at least 2.
        generator: source of the randomness.

    Raises:
        ValueError: fewer than two draws.

    Source: Ash et al. (2022), Definition 4.

    Example:
        >>> both = np.array([[1.0, 1.0], [-1.0, -1.0]])      # mean of |sign_1 + sign_2| / 2
        >>> mean, _ = rademacher_complexity(both, draws=4000, generator=np.random.default_rng(0))
        >>> bool(abs(mean - 0.5) < 0.05)
        True
    """
    check_integer("draws", draws, minimum=2)
    signs = generator.choice([-1.0, 1.0], size=(draws, values.shape[1]))
    return mean_and_error((signs @ values.T / values.shape[1]).max(axis=1))


def uniform_deviation(complexity: float, *, samples: int, delta: float, largest: float = 1.0) -> float:
    """Return a bound on how far the means of all functions of a class are from their expectations.

        E h - mean of h  <=  2 R  +  3 b sqrt( log(2/delta) / (2 m) )    for all h, with probability 1 - delta

    Differs: Theorem 8 prints R without the factor 2, which the proof of Theorem 9 has. Without it the
    statement fails for all functions with values -1 and 1 of a continuous variable: R = 1, but the one that
    is -1 on the sample and 1 elsewhere is 2 off.

    Args:
        complexity: empirical Rademacher complexity R, at least 0.
        samples: number m of samples, at least 1.
        delta: probability that the bound fails, above 0 and below 1.
        largest: range b of the functions, above 0.

    Raises:
        ValueError: a number out of its range.

    Source: Mohri et al. (2018), Theorem 3.3; Ash et al. (2022), Theorem 8.

    Example:
        >>> round(uniform_deviation(0.01, samples=10_000, delta=0.05), 4)
        0.0607
    """
    check_number("complexity", complexity, minimum=0)
    check_integer("samples", samples)
    check_number("delta", delta, above=0, below=1)
    check_number("largest", largest, above=0)
    return 2 * complexity + 3 * largest * math.sqrt(math.log(2 / delta) / (2 * samples))
