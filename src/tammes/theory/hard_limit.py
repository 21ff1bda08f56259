"""The limit of ever harder negatives: the worst case, what minimizes it, and what a classifier then does."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tammes.checks import check_integer, check_number
from tammes.theory.population import Population


def hard_loss(population: Population, *, beta: float, weight: float) -> float:
    """Return the loss with hard, true negatives, exactly.

        E over x, x+ of  -log( e^{l+} / (e^{l+} + Q sum_j w_j e^{l_j}) ) ,

    with weights w_j proportional to e^{beta l_j} over the rows j of other classes.

    Args:
        population: the embeddings.
        beta: concentration of the negatives, at least 0; it multiplies the logit.
        weight: factor Q of the negatives, above 0.

    Source: Robinson (2023), eq. 3.11 with q = q_beta^-.

    Example:
        >>> population = Population(embeddings=np.eye(4), labels=np.array([0, 0, 1, 1]), temperature=1.0)
        >>> hard_loss(population, beta=0.0, weight=1.0) == population.asymptotic_loss(1.0)
        True
    """
    check_number("beta", beta, minimum=0)
    check_number("weight", weight, above=0)
    harder, hard = (
        population.log_mean(exponent * population.logits, ~population.same) for exponent in (1 + beta, beta)
    )
    return population.mean_loss(math.log(weight) + harder - hard)


def worst_case_loss(population: Population, *, weight: float) -> float:
    """Return the loss with the worst distribution of negatives: each anchor's hardest one alone, exactly.

    It is the limit of `hard_loss` for beta to infinity (Proposition 1), and above it for every beta.

    Args:
        population: the embeddings.
        weight: factor Q of the negatives, above 0.

    Source: Robinson (2023), eq. 3.13 and Proposition 1.

    Example:
        >>> population = Population(embeddings=np.eye(4), labels=np.array([0, 0, 1, 1]), temperature=1.0)
        >>> worst_case_loss(population, weight=1.0) >= hard_loss(population, beta=9.0, weight=1.0)
        True
    """
    check_number("weight", weight, above=0)
    return population.mean_loss(math.log(weight) + _hardest(population))


def limit_loss(population: Population) -> float:
    """Return the worst case of the limit form of the loss, exactly.

        L  =  E over x, x+ of -l+  +  E over x of the largest l of another class
           =  1/t ( 1/2 E |f(x) - f(x+)|^2  -  1/2 E min over other classes of |f(x) - f(x-)|^2 )

    Its minimum over all embeddings in R^d is -1/(2 t) times the score of a solution of the weighted packing
    problem, `pack(classes, dim, weights=...).mean_squared_distance`, with each class in one point.

    Args:
        population: the embeddings.

    Source: Robinson (2023), eq. 3.14 and Theorem 3.

    Example:
        >>> poles = np.array([[0.0, 1.0], [0.0, -1.0]])
        >>> limit_loss(Population(embeddings=poles, labels=np.array([0, 1]), temperature=0.5))
        -4.0
    """
    return float(_hardest(population).mean() - population.logits[population.same].mean())


@dataclass(frozen=True, kw_only=True)
class NearestMedoid:
    """Classifier that names the class of the nearest medoid.

    Attributes:
        error: share of the embeddings for which another class has a medoid as near or nearer.
        separation: smallest distance xi' of two medoids, on the unit sphere.
    """

    error: float
    separation: float


def nearest_medoid(population: Population) -> NearestMedoid:
    """Return the error of the nearest neighbor among one embedding of each class, its medoid.

        v_c = the embedding of class c with the smallest mean squared distance to the class

    Args:
        population: the embeddings.

    Source: Robinson (2023), Theorem 4 and its proof. Ties count as errors, since the theorem allows any.

    Example:
        >>> poles = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, -1.0], [0.0, -1.0]])
        >>> nearest_medoid(Population(embeddings=poles, labels=np.array([0, 0, 1, 1]), temperature=1.0))
        NearestMedoid(error=0.0, separation=2.0)
    """
    names, own = np.unique(population.labels, return_inverse=True)
    similarity = population.units @ population.units.T
    nearness = (similarity * population.same).sum(axis=1)
    medoids = np.array([np.flatnonzero(own == c)[nearness[own == c].argmax()] for c in range(len(names))])
    scores = similarity[:, medoids]  # (n, C)
    right = scores[np.arange(len(own)), own]
    scores[np.arange(len(own)), own] = -np.inf
    between = similarity[np.ix_(medoids, medoids)]
    np.fill_diagonal(between, -np.inf)
    return NearestMedoid(
        error=float((scores.max(axis=1) >= right - 1e-12).mean()),
        separation=math.sqrt(max(0.0, 2 - 2 * float(between.max()))),
    )


@dataclass(frozen=True, kw_only=True)
class NearestNeighborBound:
    """Bound on the error of `nearest_medoid` by the excess of an encoder's limit loss.

    Embeddings have the length r: 1/t in the text, whose logits are f(x) . f(y); r = 1 / sqrt(t) for unit
    vectors and logits s / t. Classes are equally likely.

    Differs: the theorem is false as printed. By its Lemma 5, where the mean of nearest squared distances is
    within eta of the largest possible, their minimum is within C eta of that of any solution of eq. 3.15.
    But solutions differ: six classes in the plane have the largest mean as a hexagon, and also with four of
    them merged at one corner of a triangle. The second has no excess, so `printed` is 0, and yet nothing
    tells the four classes apart (`tests/theory/test_theory_hard_limit.py`). Besides, the squared bracket is a
    slip (the proof ends with 16 eps over the bracket), and Lemma 6 has sqrt(eps) where sqrt(2 eps) belongs.

    What holds is `by_separation` = 8 eps / xi'^2, with the separation xi' of the medoids themselves: a wrong
    embedding is at least xi' / 2 from its medoid, and the mean squared distance to the medoids is at most
    2 eps. And for up to d + 1 classes, where the simplex is optimal, the lemma holds with (C + 1) / 2 for C
    (docs/geometry.md has the proof), so that `simplex` is

        8 eps / ( 2 C r^2 / (C - 1)  -  (C + 1) (eps + r sqrt(2 eps)) ) .

    Args:
        excess: eps, the limit loss minus its minimum over all encoders, at least 0.
        classes: number C of classes, at least 2.
        radius: length r of the embeddings, above 0.

    Raises:
        ValueError: a number out of its range.

    Source: Robinson (2023), Theorem 4 and Lemmas 5 and 6.

    Example:
        >>> bound = NearestNeighborBound(excess=0.001, classes=4)
        >>> round(bound.printed((8 / 3) ** 0.5), 4), round(bound.simplex, 4), bound.by_separation(1.5)
        (0.0017, 0.0033, 0.0035555555555555557)
    """

    excess: float
    classes: int
    radius: float = 1.0

    def __post_init__(self) -> None:
        check_number("excess", self.excess, minimum=0)
        check_integer("classes", self.classes, minimum=2)
        check_number("radius", self.radius, above=0)

    def printed(self, separation: float) -> float:
        """Return the bound of the theorem; infinite where its bracket is not positive.

        Args:
            separation: smallest distance xi of a solution of eq. 3.15, for embeddings of length r.
        """
        lost = 2 * self.classes * (1 + self.radius) * math.sqrt(self.excess)
        bracket = check_number("separation", separation, minimum=0) ** 2 - lost
        return 8 * self.excess / bracket**2 if bracket > 0 else math.inf

    def by_separation(self, separation: float) -> float:
        """Return the bound by the separation of the medoids themselves; infinite where two coincide.

        Args:
            separation: smallest distance xi' of two medoids, for embeddings of length r.
        """
        squared = check_number("separation", separation, minimum=0) ** 2
        return 8 * self.excess / squared if squared > 0 else math.inf

    @property
    def simplex(self) -> float:
        """Bound for at most d + 1 classes; infinite where its bracket is not positive."""
        c, eps, r = self.classes, self.excess, self.radius
        bracket = 2 * c * r**2 / (c - 1) - (c + 1) * (eps + r * math.sqrt(2 * eps))
        return 8 * eps / bracket if bracket > 0 else math.inf


def _hardest(population: Population) -> Float[np.ndarray, " n"]:
    """Return the largest logit of each row with another class."""
    return np.where(population.same, -np.inf, population.logits).max(axis=1)
