"""The frequencies of the latent classes, on which the theory of the number of negatives depends."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from tammes.checks import check_integer, check_number, check_shape

TOLERANCE = 1e-9
"""Largest difference of the sum of probabilities from 1."""


@dataclass(frozen=True, kw_only=True)
class ClassDistribution:
    """Class distribution rho over N classes, with classes of equal probability stored as one group.

        sum over c of rho(c) = 1,        rho(c) > 0.

    Usually made by `uniform`, `of_counts` or `of_labels`. Memory is proportional to the number of distinct
    probabilities: a million equally likely classes take as much as one.

    Raises:
        ValueError: a probability outside (0, 1], repeats of another length, or a sum other than 1.

    Source: Ash et al. (2022), section 2.

    Example:
        >>> rho = ClassDistribution(probabilities=(0.5, 0.3, 0.2))
        >>> rho.number, rho.smallest, rho.largest
        (3, 0.2, 0.5)
        >>> ClassDistribution.uniform(4)
        ClassDistribution(probabilities=(0.25,), repeats=(4,))
    """

    probabilities: tuple[float, ...]
    """Probability of each class, or of one class of each group."""

    repeats: tuple[int, ...] | None = None
    """Number of classes with each of these probabilities; left out, one each."""

    def __post_init__(self) -> None:
        if not self.probabilities:
            raise ValueError("a class distribution needs at least one class, got none")
        for probability in self.probabilities:
            check_number(
                "a probability", probability, above=0, maximum=1, reason="leave out classes that never occur"
            )
        for repeat in self.repeats or ():
            check_integer("a repeat", repeat)
        check_shape("repeats, one for each probability,", (len(self._repeats),), (len(self.probabilities),))
        total = math.fsum(float(m) * p for p, m in zip(self.probabilities, self._repeats, strict=True))
        if abs(total - 1) > TOLERANCE:
            raise ValueError(f"the probabilities of all classes must sum to 1, got {total:.12g}")

    @classmethod
    def uniform(cls, classes: int) -> "ClassDistribution":
        """Return the distribution of N equally likely classes, as in the main part of the paper."""
        check_integer("classes", classes)
        return cls(probabilities=(1 / classes,), repeats=(classes,))

    @classmethod
    def of_counts(cls, counts: Iterable[int]) -> "ClassDistribution":
        """Return the distribution of data with the given number of examples of each class.

        Example:
            >>> ClassDistribution.of_counts([2, 4, 2])
            ClassDistribution(probabilities=(0.5, 0.25), repeats=(1, 2))
        """
        sizes = Counter(_plain(counts))
        for size in sizes:
            check_integer("the number of examples of a class", size)
        total = sum(size * repeat for size, repeat in sizes.items())
        ordered = sorted(sizes.items(), reverse=True)
        return cls(
            probabilities=tuple(size / total for size, _ in ordered),
            repeats=tuple(repeat for _, repeat in ordered),
        )

    @classmethod
    def of_labels(cls, labels: Iterable[Hashable]) -> "ClassDistribution":
        """Return the empirical distribution of labels.

        Example:
            >>> ClassDistribution.of_labels(["cat", "dog", "cat", "cow"]).largest
            0.5
        """
        return cls.of_counts(Counter(_plain(labels)).values())

    @property
    def number(self) -> int:
        """Number N of classes."""
        return sum(self._repeats)

    @property
    def smallest(self) -> float:
        """Probability rho_min of the rarest class."""
        return min(self.probabilities)

    @property
    def largest(self) -> float:
        """Probability rho_max of the most frequent class."""
        return max(self.probabilities)

    @property
    def is_uniform(self) -> bool:
        """Whether all classes are equally likely."""
        return self.smallest == self.largest

    @property
    def class_prior(self) -> float:
        """Probability sum_c rho(c)^2 that a random negative has the anchor's class: the prior of `Debias`."""
        return math.fsum(m * p * p for p, m in zip(self.probabilities, self._repeats, strict=True))

    @property
    def effective_number(self) -> float:
        """Number of equally likely classes with as many false negatives, 1 / sum_c rho(c)^2."""
        return 1 / self.class_prior

    @property
    def rho(self) -> Float[np.ndarray, " groups"]:
        """Probability of each group as an array."""
        return np.array(self.probabilities)

    @property
    def sizes(self) -> Int[np.ndarray, " groups"]:
        """Number of classes with each of the probabilities in `rho`."""
        return np.array(self._repeats, dtype=np.int64)

    @property
    def log_other(self) -> Float[np.ndarray, " groups"]:
        """Log-probability log(1 - rho(c)) of a draw of another class; minus infinity for a single class."""
        with np.errstate(divide="ignore"):
            return np.log1p(-self.rho)

    @property
    def _repeats(self) -> tuple[int, ...]:
        return self.repeats if self.repeats is not None else (1,) * len(self.probabilities)


def _plain(values: Iterable[Any]) -> Iterable[Any]:
    """Return the entries of an array or a tensor as numbers; a tensor's are never equal as keys."""
    return values.tolist() if hasattr(values, "tolist") else values
