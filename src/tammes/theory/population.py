"""A finite population of embeddings with classes, in which the expectations of the theory are sums."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from tammes.checks import check_integer, check_number, check_shape

Estimated = tuple[float, float]
"""A mean over random draws, and its standard error."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Population:
    """Finite population of unit embeddings with equally large classes.

    An anchor x is a uniform row, its positive x+ a uniform row of its class (perhaps x itself), a negative x-
    a uniform row of another class. A candidate of the data is any row: of the class of x, and so a false
    negative, with the probability tau+ = 1 / C. With logits l = f(x) . f(y) / temperature, losses are

        -log( e^{l+} / (e^{l+} + Q G(x)) ) ,        G(x) = the mean of e^{l} over negatives of x.

    Args:
        embeddings: `(n, d)` vectors of positive length, which are brought to length 1.
        labels: `(n,)` class of each row.
        temperature: divisor of the similarities, above 0.

    Raises:
        ValueError: shapes that do not match, a row without a direction, fewer than two classes, classes of
            different size, or a temperature that is not positive.

    Source: Robinson (2023), section 3.1, with classes of equal probability.

    Example:
        >>> population = Population(embeddings=np.eye(4), labels=np.array([0, 0, 1, 1]), temperature=1.0)
        >>> population.class_prior, round(population.asymptotic_loss(1), 6)
        (0.5, 0.503204)
    """

    embeddings: Float[np.ndarray, "n d"]
    labels: Int[np.ndarray, " n"]
    temperature: float

    def __post_init__(self) -> None:
        check_shape("labels, one for each embedding,", self.labels.shape, (len(self.embeddings),))
        check_number("temperature", self.temperature, above=0)
        _, counts = np.unique(self.labels, return_counts=True)
        if len(counts) < 2:
            raise ValueError("expected at least two classes, since negatives are of another class")
        if counts.min() != counts.max():
            raise ValueError(
                f"expected classes of equal size, got {counts.min()} to {counts.max()} rows: the theory "
                "takes classes to be equally likely"
            )
        lengths = np.linalg.norm(self.embeddings, axis=1)
        if not ((lengths > 0) & (lengths < np.inf)).all():
            raise ValueError(
                "expected embeddings of positive, finite length, got one of length zero, infinity or NaN"
            )

    @property
    def classes(self) -> int:
        """Number C of classes."""
        return len(np.unique(self.labels))

    @property
    def class_prior(self) -> float:
        """Probability tau+ that a candidate has the class of the anchor."""
        return 1 / self.classes

    @cached_property
    def units(self) -> Float[np.ndarray, "n d"]:
        """Embeddings at length 1."""
        return np.asarray(self.embeddings / np.linalg.norm(self.embeddings, axis=1, keepdims=True))

    @cached_property
    def logits(self) -> Float[np.ndarray, "n n"]:
        """Logit of each pair, from -1/temperature to 1/temperature."""
        return self.units @ self.units.T / self.temperature

    @cached_property
    def same(self) -> Bool[np.ndarray, "n n"]:
        """Whether two rows have the same class."""
        return self.labels[:, None] == self.labels[None, :]

    def asymptotic_loss(self, weight: float) -> float:
        """Return the loss for infinitely many true negatives, exactly.

            E over x, x+ of  -log( e^{l+} / (e^{l+} + Q E e^{l-}) )

        By Lemma 2 it is the limit of the unbiased loss, and as E e^{l-} = (E e^{l} - tau+ E e^{l+}) / tau-
        also that of the debiased loss, which sees no true negative.

        Args:
            weight: factor Q of the negatives, above 0.

        Source: Robinson (2023), eq. 3.6 and Lemma 2. Differs: its proof has tau- times the bracket, a slip
        for divided by.
        """
        check_number("weight", weight, above=0)
        return self.mean_loss(math.log(weight) + self.log_mean(self.logits, ~self.same))

    def mean_loss(self, log_negatives: Float[np.ndarray, " n"]) -> float:
        """Return the mean over x and x+ of -log(e^{l+} / (e^{l+} + e^{log_negatives}))."""
        losses = np.logaddexp(0, log_negatives[:, None] - self.logits)
        return float(losses[self.same].mean())

    @staticmethod
    def log_mean(
        logits: Float[np.ndarray, "n n"], counted: Bool[np.ndarray, "n n"]
    ) -> Float[np.ndarray, " n"]:
        """Return the logarithm of the mean exponential of each row."""
        masked = np.where(counted, logits, -np.inf)
        top = masked.max(axis=1)
        return np.asarray(top + np.log(np.exp(masked - top[:, None]).sum(axis=1) / counted.sum(axis=1)))

    def biased_loss(self, negatives: int, *, draws: int, generator: np.random.Generator) -> Estimated:
        """Estimate InfoNCE: N negatives from all of the data, some of them false.

        Args:
            negatives: number N of negatives, at least 1.
            draws: number of independent anchors, at least 2.
            generator: source of the randomness.

        Source: Robinson (2023), below eq. 3.2.
        """
        x, positive = self.pairs(draws, generator)
        others = generator.integers(len(self.labels), size=(draws, check_integer("negatives", negatives)))
        return self._estimate(x, positive, others)

    def unbiased_loss(self, negatives: int, *, draws: int, generator: np.random.Generator) -> Estimated:
        """Estimate the ideal loss: N true negatives.

        Arguments as in `biased_loss`.

        Source: Robinson (2023), eq. 3.2 with Q = N.
        """
        x, positive = self.pairs(draws, generator)
        others = self.drawn(~self.same, x, check_integer("negatives", negatives), generator)
        return self._estimate(x, positive, others)

    def mean_classifier_loss(self, ways: int) -> float:
        """Return the cross entropy of the mean classifier, on average over all tasks of K classes, exactly.

            E over tasks T, over c of T, over x of c  of  -log softmax over T of ( f(x) . mu / temperature )_c

        Args:
            ways: number K of classes in a task, from 2 to C.

        Source: Robinson (2023), eq. 3.16 and 3.17, with mu_c the mean embedding of class c.
        """
        from itertools import combinations

        if not 2 <= check_integer("ways", ways) <= self.classes:
            raise ValueError(f"ways must be from 2 to {self.classes}, the number of classes, got {ways}")
        names, own = np.unique(self.labels, return_inverse=True)
        means = np.stack([self.units[own == c].mean(axis=0) for c in range(len(names))])
        scores = self.units @ means.T / self.temperature  # (n, C)
        losses = []
        for task in combinations(range(len(names)), ways):
            rows = np.isin(own, task)
            chosen = scores[rows][:, task]
            right = scores[rows, own[rows]]
            losses.append(float((np.logaddexp.reduce(chosen, axis=1) - right).mean()))
        return float(np.mean(losses))

    def pairs(
        self, draws: int, generator: np.random.Generator
    ) -> tuple[Int[np.ndarray, " draws"], Int[np.ndarray, " draws"]]:
        """Draw anchors and a positive of each."""
        x = generator.integers(len(self.labels), size=check_integer("draws", draws, minimum=2))
        return x, self.drawn(self.same, x, 1, generator)[:, 0]

    def drawn(
        self,
        allowed: Bool[np.ndarray, "n n"],
        x: Int[np.ndarray, " draws"],
        count: int,
        generator: np.random.Generator,
    ) -> Int[np.ndarray, "draws count"]:
        """Draw rows that are allowed for each anchor; of all anchors equally many are."""
        choices = np.nonzero(allowed)[1].reshape(len(allowed), -1)
        place = generator.integers(choices.shape[1], size=(len(x), count))
        return np.asarray(choices[x[:, None], place])

    def _estimate(
        self,
        x: Int[np.ndarray, " draws"],
        positive: Int[np.ndarray, " draws"],
        negatives: Int[np.ndarray, "draws N"],
    ) -> Estimated:
        others = np.logaddexp.reduce(self.logits[x[:, None], negatives], axis=1)
        return mean_and_error(np.logaddexp(0, others - self.logits[x, positive]))


def mean_and_error(values: Float[np.ndarray, " draws"]) -> Estimated:
    """Return the mean of independent values and its standard error.

    Example:
        >>> mean_and_error(np.array([1.0, 3.0]))
        (2.0, 1.0)
    """
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))
