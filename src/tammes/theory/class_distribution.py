"""How often each latent class occurs: all that the theory of the number of negatives knows of the data."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tammes.checks import check_integer

TOLERANCE = 1e-9
"""How far from 1 the sum of probabilities may be."""


@dataclass(frozen=True, kw_only=True)
class ClassDistribution:
    """The class distribution rho over N classes, classes of equal probability kept together.

        sum over c of rho(c) = 1,        rho(c) > 0.

    Usually made by `uniform`, `of_counts` or `of_labels`. Memory is that of the distinct probabilities, so a
    million equally likely classes cost nothing.

    Raises:
        ValueError: For a probability outside (0, 1], repeats that do not match, or a sum that is not 1.

    Source: Ash et al. (2022), section 2.

    Example:
        >>> rho = ClassDistribution(probabilities=(0.5, 0.3, 0.2))
        >>> rho.number, rho.least, rho.greatest
        (3, 0.2, 0.5)
        >>> ClassDistribution.uniform(4)
        ClassDistribution(probabilities=(0.25,), repeats=(4,))
    """

    probabilities: tuple[float, ...]
    """Of one class each, or of one class out of each group."""

    repeats: tuple[int, ...] | None = None
    """How many classes have each of these probabilities; left out, one each."""

    def __post_init__(self) -> None:
        if not self.probabilities:
            raise ValueError("a class distribution needs at least one class, got none")
        for probability in self.probabilities:
            if not 0 < probability <= 1:
                raise ValueError(
                    f"a class must have a probability above 0 and at most 1, got {probability}: leave out "
                    "classes that never occur"
                )
        for repeat in self.repeats or ():
            check_integer("a repeat", repeat)
        if self.repeats is not None and len(self.repeats) != len(self.probabilities):
            raise ValueError(
                f"expected a repeat for each of {len(self.probabilities)} probabilities, "
                f"got {len(self.repeats)}"
            )
        total = math.fsum(float(m) * p for p, m in zip(self.probabilities, self._repeats, strict=True))
        if abs(total - 1) > TOLERANCE:
            raise ValueError(f"the probabilities of all classes must sum to 1, got {total:.12g}")

    @classmethod
    def uniform(cls, classes: int) -> "ClassDistribution":
        """N equally likely classes, as the main part of the paper has them."""
        check_integer("classes", classes)
        return cls(probabilities=(1 / classes,), repeats=(classes,))

    @classmethod
    def of_counts(cls, counts: Iterable[int]) -> "ClassDistribution":
        """The distribution of data with this many examples of each class.

        Example:
            >>> ClassDistribution.of_counts([2, 4, 2])
            ClassDistribution(probabilities=(0.5, 0.25), repeats=(1, 2))
        """
        sizes = Counter(counts)
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
        """The distribution of these labels, as they were measured.

        Example:
            >>> ClassDistribution.of_labels(["cat", "dog", "cat", "cow"]).greatest
            0.5
        """
        return cls.of_counts(Counter(labels).values())

    @property
    def number(self) -> int:
        """N: how many classes there are."""
        return sum(self._repeats)

    @property
    def least(self) -> float:
        """rho_min: the probability of the rarest class."""
        return min(self.probabilities)

    @property
    def greatest(self) -> float:
        """rho_max: the probability of the most frequent class."""
        return max(self.probabilities)

    @property
    def is_uniform(self) -> bool:
        """Whether all classes are equally likely."""
        return self.least == self.greatest

    @property
    def class_prior(self) -> float:
        """sum_c rho(c)^2: how likely a random negative has the anchor's class. What `Debias` asks for."""
        return math.fsum(m * p * p for p, m in zip(self.probabilities, self._repeats, strict=True))

    @property
    def effective_number(self) -> float:
        """1 / sum_c rho(c)^2: so many equally likely classes would have as many false negatives."""
        return 1 / self.class_prior

    @property
    def rho(self) -> Float[np.ndarray, " groups"]:
        """The probabilities as an array."""
        return np.array(self.probabilities)

    @property
    def sizes(self) -> Int[np.ndarray, " groups"]:
        """How many classes have each of the probabilities in `rho`."""
        return np.array(self._repeats, dtype=np.int64)

    @property
    def log_other(self) -> Float[np.ndarray, " groups"]:
        """log(1 - rho(c)): that one draw has another class; minus infinity where there is no other."""
        with np.errstate(divide="ignore"):
            return np.log1p(-self.rho)

    @property
    def _repeats(self) -> tuple[int, ...]:
        return self.repeats if self.repeats is not None else (1,) * len(self.probabilities)
